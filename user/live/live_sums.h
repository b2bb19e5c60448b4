/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* live_sums.h - a process's time by CPU, GIL, garbage collection, waiting: pure. */
#ifndef TACHBPF_LIVE_LIVE_SUMS_H
#define TACHBPF_LIVE_LIVE_SUMS_H

#include <stdint.h>

#include "model/event.h"

/* Sums of time in ns, each that of samples. */
struct live_sums {
	uint64_t cpu_ns;	/* on a CPU */
	uint64_t gil_ns;	/* ... with the GIL */
	uint64_t gc_ns;		/* ... in a garbage collection */
	uint64_t wait_ns;	/* off-CPU: 0 in a mode without waits */
	uint64_t gil_wait_ns;	/* ... waiting for the GIL */
	uint64_t samples;	/* on a CPU */
};

/* Returns the sums that an event adds. t: of its process; ns: the total time that it stands for. */
struct live_sums live_sums_of(const struct profile_tables *t, const struct event *ev, uint64_t ns);
void live_sums_add(struct live_sums *to, const struct live_sums *more);

#endif
