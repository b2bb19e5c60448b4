/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * burst.h - a closer look at some processes for some time: which ones, at which rate, until when.
 *
 * There is one burst at a time; a new one replaces the old one. Runs in the agent's main process.
 * Of a process it reads what the conditions need, as the capture's own selection does
 * (proc_filter_eval.h). Knows no capture: agent_rate.h carries the burst out.
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
 * Begins a burst. Takes what r owns and leaves it empty. Returns 0, or -errno: there is no burst
 * then. Conditions that nothing matches now are logged, and wait for a process that matches.
 */
int burst_begin(struct burst *b, struct ctl_request *r, uint64_t now_ns);
/* Ends the burst, if there is one. */
void burst_end(struct burst *b);
/* Returns true if the burst has expired; it has been ended then. False if there is none. */
bool burst_expired(struct burst *b, uint64_t now_ns);

/* Returns true if the process is in the burst. Without conditions and pids, all processes are. */
bool burst_chooses(struct burst *b, pid_t tgid);
/* Returns true if the burst has neither conditions nor pids: then no process need be thinned. */
bool burst_is_of_all(const struct burst *b);

/* The conditions as command-line words, for people; "all processes". Returns 0 or -ENOMEM. */
int burst_text(const struct burst *b, struct buf *out);

#endif
