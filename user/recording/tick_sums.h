/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tick_sums.h - the ticks of the processes that were recorded, by what became of them: the CPU time
 * of which the summary's shares are. Of modes with ticks (record_mode.h).
 */
#ifndef TACHBPF_TICK_SUMS_H
#define TACHBPF_TICK_SUMS_H

#include <stdbool.h>
#include <stdint.h>

struct capture_counts;
struct json;
struct totals;

/* Each tick counts in one member. */
struct tick_sums {
	uint64_t samples;	/* in the files; with waits: sampled */
	uint64_t start;		/* before there was an interpreter: exec, dynamic linker */
	uint64_t end;		/* after the last thread's exit: the kernel freed what it had */
	uint64_t no_stack;	/* without a Python stack, and not in the files for that reason */
	uint64_t left_out;	/* by the mode, or by a burst */
	uint64_t lost;
	uint64_t missed;	/* did not come */
	uint64_t all;		/* of these */
};

/* Fill *out. waits: the mode samples off-CPU time, too. */
void tick_sums(struct tick_sums *out, const struct capture_counts *c, const struct totals *t,
	       bool waits);
/* Returns the ticks of processes that are not Python, as far as is known: not in the sums. */
uint64_t tick_sums_other(const struct capture_counts *c, const struct totals *t);
/* Returns missed ticks and those that found no room in the ring buffer, in percent of all. */
double tick_sums_missed_pct(const struct capture_counts *c);
/* The member "cpu_time" of session.json. */
void tick_sums_json(const struct tick_sums *ticks, struct json *j);

#endif
