/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * loop_poll.h - how the asyncio event loops of many processes fare (asyncio/loop_health.h): looks
 * at each process that has one about ten times a second, and counts its tasks once a second.
 *
 * All looks together take at most 1 % of a CPU, by their number of reads; with more processes each
 * is looked at less often, those that waited longest first. A worker does the reading
 * (memory/remote_mem.h). To be called from one thread; waits for the worker only.
 */
#ifndef TACHBPF_LOOK_LOOP_POLL_H
#define TACHBPF_LOOK_LOOP_POLL_H

#include <stdbool.h>
#include <stdint.h>

#include "asyncio/loop_health.h"

struct loop_poll;
struct process;

/* NULL: no memory. */
struct loop_poll *loop_poll_new(void);
void loop_poll_free(struct loop_poll *l);

/*
 * Says that the process is there: to be called for each about once a second, and then
 * loop_poll_seen(), which forgets the others. A process for which there is no memory has no
 * figures.
 */
void loop_poll_see(struct loop_poll *l, const struct process *p);
void loop_poll_seen(struct loop_poll *l);

/* Makes the looks that are due: up to some ms. */
void loop_poll_tick(struct loop_poll *l);
/* When the next one is due (now_ns()); UINT64_MAX: none. */
uint64_t loop_poll_next_ns(const struct loop_poll *l);

struct loop_poll_figures {
	struct loop_figures loops;
	uint64_t tasks;		/* when they were last counted; LOOP_UNKNOWN */
};

/*
 * Sets the figures of a process over the last seconds (LOOP_HEALTH_SECONDS at most). Returns false
 * if no event loop was seen in it.
 */
bool loop_poll_of(const struct loop_poll *l, const struct process *p, uint32_t seconds,
		  struct loop_poll_figures *out);

struct loop_poll_counts {
	uint64_t looks;			/* at loops */
	uint64_t failed;		/* the process could not be read */
	uint64_t cost_ns;		/* of all reads, about */
	uint64_t late_ns;		/* by how much the last looks were later than wanted */
};
const struct loop_poll_counts *loop_poll_counts(const struct loop_poll *l);

#endif
