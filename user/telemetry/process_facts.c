// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* process_facts.c - see process_facts.h. */
#include "telemetry/process_facts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "target/inspector.h"

int process_facts_read(const struct proc_info *who, struct process_facts *out)
{
	ssize_t n = proc_read(who->task, "cmdline", out->cmdline, sizeof(out->cmdline));
	int exe_err = proc_exe(who->task, out->exe, sizeof(out->exe)), env_err;

	out->cmdline_len = n > 0 ? (size_t)n : 0;
	if (exe_err)
		out->exe[0] = '\0';
	snprintf(out->comm, sizeof(out->comm), "%s", who->stat.comm);
	env_err = inspector_environ(who->task, &out->env);
	return n == -EBUSY || exe_err == -EBUSY || env_err == -EBUSY || env_err == -ETIMEDOUT ||
	       env_err == -EUSERS ? -EBUSY : 0;
}

void process_facts_fill(const struct process_facts *p, struct service_facts *facts)
{
	facts->exe = p->exe;
	facts->comm = p->comm;
	facts->cmdline = p->cmdline;
	facts->cmdline_len = p->cmdline_len;
	facts->env = &p->env;
}
