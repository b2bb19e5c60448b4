// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* process_ctx_watch.c - see process_ctx_watch.h. */
#include "telemetry/process_ctx_watch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "memory/reader.h"
#include "memory/remote_mem.h"
#include "target/inspector.h"

_Static_assert(sizeof(struct process_ctx_watch) == 64, "said in process_ctx_watch.h");

static int look_once(struct process_ctx_watch *w, pid_t task, bool hurry, struct process_ctx *out)
{
	const struct target_mem mem = { remote_mem_read, (void *)(intptr_t)task };
	int err = w->mappings.cnt ? 0 : reader_otel_mappings(task, hurry, &w->mappings);

	return err ? err : process_ctx_read_any(&mem, &w->mappings, w->known_ns, out);
}

/* Doubles the last interval. */
static uint32_t next_wait_s(const struct process_ctx_watch *w)
{
	if (!w->wait_s)
		return 1;
	return w->wait_s * 2 < PROCESS_CTX_SEARCH_S_MAX ? w->wait_s * 2 : PROCESS_CTX_SEARCH_S_MAX;
}

int process_ctx_look(struct process_ctx_watch *w, pid_t task, uint64_t now_ns, bool hurry,
		     struct process_ctx *out)
{
	int err = look_once(w, task, hurry, out);

	if (!err)
		w->known_ns = out->published_ns;
	w->wait_s = !err || err == -EALREADY ? PROCESS_CTX_KNOWN_S : next_wait_s(w);
	w->due_ns = now_ns + w->wait_s * 1000000000ull;
	/* The mapping is gone: search again. After other errors it may be enough to read again. */
	if (err && err != -EALREADY && err != -EAGAIN && err != -EBUSY)
		w->mappings.cnt = 0;
	return err;
}

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
