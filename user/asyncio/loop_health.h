/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * loop_health.h - how the event loops of a process fared lately, from looks at them (loop.h) about
 * ten times a second. Pure; some 4 KiB a process.
 *
 * A look sees what is at that moment: a callback that runs for 50 ms may be seen not at all, and
 * one of 800 ms is seen up to 100 ms before its end. So times are "at least". A time that an
 * earlier look contradicts is left out and counted.
 */
#ifndef TACHBPF_ASYNCIO_LOOP_HEALTH_H
#define TACHBPF_ASYNCIO_LOOP_HEALTH_H

#include "asyncio/loop.h"

/* The longest time that figures can be about, and loops of a process that are followed. */
#define LOOP_HEALTH_SECONDS 60
#define LOOP_HEALTH_LOOPS 16

/* What was seen within one second. */
struct loop_second {
	uint64_t second;	/* of the clock, plus 1; 0: none */
	uint32_t looks;
	uint32_t ready_looks;	/* ... in which the ready queue was readable */
	uint32_t timed_looks;	/* ... in which a loop's time was */
	uint64_t ready_sum, ready_max;
	uint64_t longest_ns, lag_ns;
};

/* A loop as it was last seen. */
struct loop_seen {
	uint64_t addr, turn_ns, nth;
	uint64_t at_ns;		/* when it was seen; 0: no loop */
	uint64_t first_ns;	/* when this callback was first seen, or began */
	uint32_t tid;
	bool timed;
};

/* Zero-initialise. */
struct loop_health {
	struct loop_second seconds[LOOP_HEALTH_SECONDS + 1];
	struct loop_seen seen[LOOP_HEALTH_LOOPS];
	uint32_t loops;		/* in the last look */
	uint64_t contradicted;	/* times that were left out */
};

struct loop_figures {
	uint32_t loops;		/* in the last look */
	uint32_t looks;		/* 0: the members below are LOOP_UNKNOWN */
	/* Of all loops together; LOOP_UNKNOWN: no loop told. */
	uint64_t ready_max;	/* callbacks that were ready to run */
	double ready_mean;	/* valid if ready_max is */
	uint64_t longest_ns;	/* how long one callback has run, at least */
	uint64_t lag_ns;	/* by how much what was due was late, at least */
};

/* Adds a look of now_ns, of any clock that does not go backwards. */
void loop_health_add(struct loop_health *h, uint64_t now_ns, const struct loop_states *s);

/* Sets the figures of the last seconds, at most LOOP_HEALTH_SECONDS, and of the current one. */
void loop_health_figures(const struct loop_health *h, uint64_t now_ns, uint32_t seconds,
			 struct loop_figures *out);

#endif
