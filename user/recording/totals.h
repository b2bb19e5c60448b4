/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * totals.h - sums over a recording's processes, what was lost in it, and where its CPU time is.
 */
#ifndef TACHBPF_TOTALS_H
#define TACHBPF_TOTALS_H

#include <stdint.h>

#include "recording/recording_rows.h"
#include "recording/sums.h"

struct totals {
	uint64_t samples, frames, truncated, unreadable, switching, unresolved;
	uint64_t repeated;		/* records of code objects that had names already */
	struct memory_sums memory;	/* all 0 without --mode mem */
	struct wait_stats waits;
	struct async_stats async;	/* all 0 without --async */
	struct native_sums native;	/* all 0 without --native */
	double cpu_s, elapsed_s;	/* the profiler's CPU time; the recording's duration */
	uint64_t lost[LOSS_CNT], lost_total;
	uint64_t lost_samples;		/* of lost, whole samples: loss_names[].is_sample */
	uint64_t named[LOSS_CNT];	/* of lost, those of the processes that were added */
};

/* Add what happened to a process' samples. no_file: its file could not be created. */
void totals_add(struct totals *t, const struct process_stats *s, bool no_file);
/* Set lost, lost_total and lost_samples of what was added and of what the capture counts. */
void totals_losses(struct totals *t, const struct capture_counts *c);
/* Fill *t with the sums over all rows and the losses in c. */
void totals_sum(const struct recording *r, const struct capture_counts *c, struct totals *t);

/*
 * ---- the ticks of the processes that were recorded, by what became of them: the CPU time of
 * which the summary's shares are. Of modes with ticks (record_mode.h) ----
 */

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

/* ---- what a capture counted while a recording was made that began after it did ---- */

struct counts_since;

/* Remember the counts so far, which are copied. NULL: no memory. Freed by counts_since_free(). */
struct counts_since *counts_since_new(const struct capture_counts *now);
/* The same counts, to be freed likewise. NULL: no memory. */
struct counts_since *counts_since_copy(const struct counts_since *s);
void counts_since_free(struct counts_since *s);

/*
 * Fill *out with what was counted since then, and with the states of now. CPU time before is no
 * part of it. The cost of samples is that of the whole capture. Valid until the next call, and as
 * long as now is. Returns the share of missed ticks and lost samples, 0 to 100.
 */
double counts_since(struct counts_since *s, const struct capture_counts *now,
		    struct capture_counts *out);

#endif
