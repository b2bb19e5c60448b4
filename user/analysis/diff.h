/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * diff.h - compares two reports: which functions have a larger or smaller share of the samples in B
 * than in A.
 *
 * Shares are relative to all samples of their side, so profiles of different lengths can be
 * compared. Functions are the same if kind, file and name are equal.
 *
 * Noise is how far chance alone moves the difference of two shares, computed as if events were
 * drawn independently: then in 99 of 100 comparisons of two recordings of the same program, no
 * function's share grows by more than its noise. An event of several samples, a wait, is one draw.
 * Events of one thread do depend on each other where a function runs for longer than an interval:
 * then the actual noise is larger than the computed one.
 */
#ifndef TACHBPF_DIFF_H
#define TACHBPF_DIFF_H

#include "analysis/report.h"

enum diff_sort {
	DIFF_SORT_DELTA, DIFF_SORT_TOTAL_DELTA, DIFF_SORT_A, DIFF_SORT_B, DIFF_SORT_NAME,
	DIFF_SORT_FILE
};

struct diff_row {
	struct string_ref func, file;	/* owned by one of the reports */
	enum frame_kind kind;
	int32_t line;			/* the lowest sampled line; LINE_NONE: none */
	uint64_t self[2], total[2];	/* samples in A and in B */
	double self_squares[2];		/* as in struct report_row */
	double self_pct[2], total_pct[2];
	double self_delta, total_delta;	/* percentage points, B minus A */
	double self_noise;		/* of self_delta, in percentage points */
	double self_more, total_more;	/* B minus A, in the profiles' unit */
};

/* What rows are sorted by: shares of all samples, or counts. */
enum diff_of { DIFF_OF_SHARES, DIFF_OF_COUNTS };

/*
 * Compares two reports by function. Returns *cnt sorted rows, which the caller frees and which are
 * valid until report_free() of either report; NULL: out of memory.
 */
struct diff_row *diff_rows(struct report *a, struct report *b, enum diff_sort sort,
			   enum diff_of of, size_t *cnt);

/* Returns true if its self has grown by more than its noise plus this many percentage points. */
static inline bool diff_has_grown(const struct diff_row *row, double points)
{
	return row->self_delta - row->self_noise > points;
}

/* What the rows say in a sentence, by self. */
struct diff_summary {
	size_t grown, shrunk;		/* rows that have changed beyond their noise */
	const struct diff_row *most_grown, *most_shrunk;	/* of these; NULL: there is none */
	const struct diff_row *largest;	/* change of all rows; NULL: nothing has changed */
};

/* Returns by how much a row's self has changed: percentage points, or the profiles' unit. */
static inline double diff_change(const struct diff_row *row, enum diff_of of)
{
	return of == DIFF_OF_COUNTS ? row->self_more : row->self_delta;
}

/* Summarises rows; noise: only changes beyond it count as grown or shrunk. */
struct diff_summary diff_summarise(const struct diff_row *rows, size_t cnt, enum diff_of of,
				   bool noise);

#endif
