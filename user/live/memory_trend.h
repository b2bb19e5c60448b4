/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory_trend.h - the resident memory of a process over time: whether it grows, and how quickly.
 * Pure; some 2 KiB a process.
 *
 * Memory also moves without growing: buffers come and go, a cache is loaded once, the kernel's own
 * counts are off by some pages. So growth is told only if it is steady. Of the readings, divided by
 * time into thirds, all of the last third are above all of the first, and the middle lies between
 * them: a single jump is no growth per minute. The same holds for memory that shrinks.
 */
#ifndef TACHBPF_LIVE_MEMORY_TREND_H
#define TACHBPF_LIVE_MEMORY_TREND_H

#include <stdbool.h>
#include <stdint.h>

/* The fewest readings to judge by, and those that are kept, at least a second apart. */
#define MEMORY_TREND_LEAST 15
#define MEMORY_TREND_READINGS 60
/* Less than this, between the first and the last third, is noise. */
#define MEMORY_TREND_NOISE (1u << 20)

struct memory_reading {
	uint64_t ns;		/* CLOCK_MONOTONIC */
	uint64_t bytes;
};

/* Zero-initialise. */
struct memory_trend {
	struct memory_reading recent[MEMORY_TREND_READINGS];	/* a ring: recent_cnt modulo this */
	struct memory_reading all[MEMORY_TREND_READINGS];	/* all_cnt, all_step_ns apart */
	uint64_t recent_cnt, all_step_ns;
	uint32_t all_cnt;
};

/* Adds a reading; one less than a second after the previous one is ignored. */
void memory_trend_add(struct memory_trend *t, uint64_t now_ns, uint64_t bytes);

struct memory_growth {
	bool steady;		/* else it cannot be told from noise: the members below are 0 */
	double bytes_per_min;	/* negative: it shrinks */
	uint64_t span_ns;	/* from the first reading to the last one */
};

/* Returns the growth over the last minute, or with since_start since the first reading. */
struct memory_growth memory_trend_growth(const struct memory_trend *t, bool since_start);

#endif
