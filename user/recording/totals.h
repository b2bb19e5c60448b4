/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * totals.h - sums over the processes of a recording, and what was lost in it. A new cause of
 * loss is a member of enum loss_cause and a line in totals.c.
 */
#ifndef TACHBPF_TOTALS_H
#define TACHBPF_TOTALS_H

#include <stdint.h>

#include "recording/recording_rows.h"

/* Why a sample that should be in a file is missing. */
enum loss_cause {
	LOSS_RING_FULL,
	LOSS_BUSY,
	LOSS_WAITS_RING_FULL,
	LOSS_WAITS_UNREADABLE,
	LOSS_WAITS_FORGOTTEN,
	LOSS_EXTRAS_RING_FULL,
	LOSS_LATE_DISCOVERY,
	LOSS_THREAD_STATE_UNREADABLE,
	LOSS_THREAD_STATE_UNCERTAIN,
	LOSS_ORPHANS,
	LOSS_WRITE,
	LOSS_NO_FILE,
	LOSS_MEMORY,
	LOSS_LIFECYCLE_EVENTS,
	LOSS_PROCESS_TABLE_FULL,
	LOSS_CNT,
};

struct loss_name {
	const char *key;	/* in session.json */
	const char *text;	/* in the summary */
};
extern const struct loss_name loss_names[LOSS_CNT];

struct totals {
	uint64_t samples, frames, truncated, unreadable, switching, unresolved;
	uint64_t discovered_late, write_lost, no_file, memory_lost;
	uint64_t repeated;		/* records of code objects that had names already */
	struct wait_stats waits;
	double cpu_s, elapsed_s;	/* the profiler's CPU time; the recording's duration */
	uint64_t lost[LOSS_CNT], lost_total;
};

/* Add what happened to a process' samples. no_file: its file could not be created. */
void totals_add(struct totals *t, const struct process_stats *s, bool no_file);
/* Set lost and lost_total of what was added and of what the capture counts. */
void totals_losses(struct totals *t, const struct capture_counts *c);
/* Fill *t with the sums over all rows and the losses in c. */
void totals_sum(const struct recording *r, const struct capture_counts *c, struct totals *t);

#endif
