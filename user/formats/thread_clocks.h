/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * thread_clocks.h - times for the samples of files that have none: each thread has a clock, which
 * its samples advance.
 */
#ifndef TACHBPF_THREAD_CLOCKS_H
#define TACHBPF_THREAD_CLOCKS_H

#include "base/util.h"

struct thread_map;

/* The interval of files that have none: sinks need one. */
#define NOMINAL_INTERVAL_US 1000

/* For each thread, the time of its next sample. Zero-initialise. */
struct clocks {
	struct thread_map *map;
	struct buf times;	/* uint64_t, µs */
};

/* Sets *now to the thread's clock, then advances it by weight × step_us. Returns 0 or -ENOMEM. */
int clocks_tick(struct clocks *c, uint64_t thread_id, uint64_t weight, uint64_t step_us,
		uint64_t *now);
void clocks_free(struct clocks *c);

#endif
