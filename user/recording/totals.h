/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * totals.h - sums over the processes of a recording, and what was lost in it.
 */
#ifndef TACHBPF_TOTALS_H
#define TACHBPF_TOTALS_H

#include <stdint.h>

#include "recording/native_sums.h"
#include "recording/recording_rows.h"

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

#endif
