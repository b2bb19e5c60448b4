// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* held_by.c - see held_by.h. */
#include "host/held_by.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "host/cgroups.h"
#include "host/proc.h"

#define STATUS_BYTES 1024	/* TracerPid is one of the first lines */

bool held_by_tracer(pid_t tgid, pid_t tid, char out[HELD_BY_BYTES])
{
	static const char key[] = "\nTracerPid:\t";
	char name[48], text[STATUS_BYTES], comm[4 * PROC_COMM_MAX];
	struct proc_stat tracer;
	const char *at;
	int pid;

	snprintf(name, sizeof(name), "task/%d/status", tid);
	if (proc_read(tgid, name, text, sizeof(text)) <= 0)
		return false;
	at = strstr(text, key);
	pid = at ? atoi(at + strlen(key)) : 0;
	if (pid <= 0)
		return false;
	if (proc_stat(pid, &tracer))
		snprintf(out, HELD_BY_BYTES, "%d", pid);
	else
		snprintf(out, HELD_BY_BYTES, "%d (%s)", pid,
			 escape_text(tracer.comm, strlen(tracer.comm), comm, sizeof(comm)));
	return true;
}

struct search {
	struct cgroups *cgroups;
	char *out;
};

/* Of cgroups_of_process(). */
static int take_if_frozen(void *ctx, uint32_t hierarchy, const char *path, bool own)
{
	const char *name = hierarchy ? "freezer.self_freezing" : "cgroup.freeze";
	struct search *s = ctx;
	char text[16];

	if (!cgroups_read(s->cgroups, hierarchy, path, name, text, sizeof(text)) || *text != '1')
		return 0;
	escape_text(path, strlen(path), s->out, HELD_BY_BYTES);
	return 1;
}

bool held_by_cgroup(pid_t tgid, char out[HELD_BY_BYTES])
{
	static struct cgroups *cgroups;		/* the host's mounts stay as they are */
	struct search s = { .out = out };

	if (!cgroups)
		cgroups = cgroups_new();
	s.cgroups = cgroups;
	return cgroups && cgroups_of_process(tgid, take_if_frozen, &s) == 1;
}

void held_by_words(pid_t tgid, char out[HELD_BY_BYTES])
{
	char by[HELD_BY_BYTES] = "";
	struct proc_stat st;

	*out = '\0';
	if (proc_stat(tgid, &st))
		return;
	if (st.state == 'T')
		snprintf(out, HELD_BY_BYTES, "stopped by a signal");
	else if (st.state == 't' && held_by_tracer(tgid, tgid, by))
		snprintf(out, HELD_BY_BYTES, "traced by %.*s", HELD_BY_BYTES - 16, by);
	else if ((st.state == 'S' || st.state == 'D') && held_by_cgroup(tgid, by))
		snprintf(out, HELD_BY_BYTES, "frozen in cgroup %.*s", HELD_BY_BYTES - 32, by);
}
