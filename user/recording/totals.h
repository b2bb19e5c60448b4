/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* totals.h - sums over a recording's processes, its losses, and how its CPU time is distributed. */
#ifndef TACHBPF_TOTALS_H
#define TACHBPF_TOTALS_H

#include <stdint.h>

#include "recording/recording_rows.h"
#include "recording/sums.h"

struct totals {
	uint64_t samples, frames, truncated, unreadable, switching, unresolved;
	uint64_t shortened, frames_left_out;	/* as in struct process_stats */
	uint64_t repeated;		/* records of code objects that already had names */
	struct memory_sums memory;	/* all 0 without --mode mem */
	struct wait_stats waits;
	struct async_stats async;	/* all 0 without --async */
	struct native_sums native;	/* all 0 without --native */
	double cpu_s, elapsed_s;	/* the profiler's CPU time; the recording's duration */
	uint64_t lost[LOSS_CNT], lost_total;
	uint64_t lost_samples;		/* of lost, those of whole samples:
					 * loss_names[].is_sample */
	uint64_t named[LOSS_CNT];	/* of lost, those of added processes */
};

/* Adds a process' statistics. no_file: its file could not be created. */
void totals_add(struct totals *t, const struct process_stats *s, bool no_file);
/* Sets lost, lost_total and lost_samples from what was added and what the capture counts. */
void totals_losses(struct totals *t, const struct capture_counts *c);
/* Fills *t with the sums over all rows and the losses in c. */
void totals_sum(const struct recording *r, const struct capture_counts *c, struct totals *t);

/*
 * ---- the ticks of the recorded processes by their outcome: the CPU time to which the summary's
 * shares refer. In modes with ticks (record_mode.h) ----
 */

/* Each tick counts in one member. */
struct tick_sums {
	uint64_t samples;	/* in the files; in modes with waits: sampled */
	uint64_t start;		/* before the interpreter started: exec, dynamic linker */
	uint64_t end;		/* after the last thread's exit: the kernel was freeing resources */
	uint64_t no_stack;	/* without a Python stack, and therefore not in the files */
	uint64_t left_out;	/* by the mode, or by a burst */
	uint64_t lost;
	uint64_t missed;	/* did not occur */
	uint64_t all;		/* the sum of these */
};

/* Fills *out. waits: the mode samples off-CPU time, too. */
void tick_sums(struct tick_sums *out, const struct capture_counts *c, const struct totals *t,
	       bool waits);
/* Returns the ticks of processes that are not Python, as far as known: not in the sums. */
uint64_t tick_sums_other(const struct capture_counts *c, const struct totals *t);
/* Returns missed ticks and those that did not fit in the ring buffer, in percent of all. */
double tick_sums_missed_pct(const struct capture_counts *c);
/* Writes the member "cpu_time" of session.json. */
void tick_sums_json(const struct tick_sums *ticks, struct json *j);

/* ---- the counters of a capture during a recording that began later ---- */

struct counts_since;

/* Remembers the counts so far, which are copied. NULL: no memory. Freed by counts_since_free(). */
struct counts_since *counts_since_new(const struct capture_counts *now);
/* Returns a copy, to be freed likewise. NULL: no memory. */
struct counts_since *counts_since_copy(const struct counts_since *s);
void counts_since_free(struct counts_since *s);

/*
 * Fills *out with the counts since then, and with the current states. CPU time before is not
 * included. The cost of samples is that of the whole capture. Valid until the next call, and as
 * long as now is. Returns the share of missed ticks and lost samples, 0 to 100.
 */
double counts_since(struct counts_since *s, const struct capture_counts *now,
		    struct capture_counts *out);

#endif
