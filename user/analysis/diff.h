/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * diff.h - two reports side by side: which functions have more, or less, of the
 * samples in B than in A.
 *
 * Shares are of all samples of their side, so that profiles of different lengths
 * compare. Functions are the same if kind, file and name are.
 */
#ifndef TACHBPF_DIFF_H
#define TACHBPF_DIFF_H

#include "analysis/report.h"

enum diff_sort {
	DIFF_SORT_DELTA, DIFF_SORT_TOTAL_DELTA, DIFF_SORT_A, DIFF_SORT_B, DIFF_SORT_NAME,
	DIFF_SORT_FILE
};

struct diff_row {
	struct string_ref func, file;	/* of a report: valid as long as it */
	enum frame_kind kind;
	int32_t line;			/* the first that was sampled; LINE_NONE */
	uint64_t self[2], total[2];	/* samples in A and in B */
	double self_pct[2], total_pct[2];
	double self_delta, total_delta;	/* percentage points, B less A */
};

/* Both by function. The rows, sorted, to be freed; NULL: out of memory. */
struct diff_row *diff_rows(struct report *a, struct report *b, enum diff_sort sort, size_t *cnt);

#endif
