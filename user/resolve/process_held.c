// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* process_held.c - who traces a process, which of its cgroups is frozen. See process_parts.h. */
#include "base/util.h"
#include "resolve/process_parts.h"

/* A tracer may stop a process thousands of times a second. */
#define ASK_AGAIN_NS 1000000000ull

const char *process_held_by(struct process *p, const struct raw_head *head)
{
	bool traced = head->h.sysno == RAW_WAIT_TRACED;
	struct held *h = &p->held[traced];

	if (!traced && head->h.sysno != RAW_WAIT_FROZEN)
		return "";
	if (h->asked_ns && head->h.time_ns < h->asked_ns + ASK_AGAIN_NS)
		return h->by;
	h->asked_ns = now_ns();
	h->by[0] = '\0';		/* it may be another one now, that is not seen any more */
	if (traced)
		held_by_tracer(p->args.tgid, (pid_t)head->tid, h->by);
	else
		held_by_cgroup(p->args.tgid, h->by);
	return h->by;
}
