/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * burst.h - a closer look at some processes for some time: which ones, at which rate, until when.
 *
 * There is one burst at a time; a new one takes the place of the old one. Runs in the agent's main
 * process; of a process it reads what the conditions ask for, as the capture's own selection does
 * (proc_filter_eval.h). Knows no capture: agent_rate.h makes it happen.
 */
#ifndef TACHBPF_AGENT_BURST_H
#define TACHBPF_AGENT_BURST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/ctl_request.h"

struct proc_filter_eval;

struct burst {
	bool active;
	uint64_t until_ns;		/* CLOCK_MONOTONIC */
	struct ctl_request asked;	/* rate, conditions, pids */
	struct proc_filter_eval *eval;	/* NULL: no conditions */
	uint64_t begun;			/* bursts so far */
};

/*
 * Begin. Takes what r owns, and leaves it empty. 0 or -errno: then there is no burst. Conditions
 * that nothing meets now are logged, and wait for what will.
 */
int burst_begin(struct burst *b, struct ctl_request *r, uint64_t now_ns);
/* End it, if there is one. */
void burst_end(struct burst *b);
/* Is it over by now? Then burst_end() was called. False if there is none. */
bool burst_expired(struct burst *b, uint64_t now_ns);

/* Is the process in the burst? All processes are in one without conditions and pids. */
bool burst_chooses(struct burst *b, pid_t tgid);
/* Has it neither? Then nothing need be thinned. */
bool burst_is_of_all(const struct burst *b);

/* The conditions as words of the command line, for people; "all processes". 0 or -ENOMEM. */
int burst_text(const struct burst *b, struct buf *out);

#endif
