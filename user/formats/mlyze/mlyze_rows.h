/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mlyze_rows.h - the sums of a trace by stack, file or function, sorted.
 *
 * By file and function, bytes belong to the innermost function, which allocated them
 * (model/self_frame.h).
 */
#ifndef TACHBPF_MLYZE_ROWS_H
#define TACHBPF_MLYZE_ROWS_H

#include "formats/mlyze/mlyze_stats.h"

enum mem_by { MEM_BY_STACK, MEM_BY_FILE, MEM_BY_FUNCTION };
enum mem_sort { MEM_SORT_LIVE, MEM_SORT_ALLOCATED, MEM_SORT_PEAK, MEM_SORT_COUNT };

struct mlyze_row {
	struct mlyze_sums sums;
	uint32_t stack;		/* by stack: its index; else the index of one of the stacks */
	uint64_t id;		/* by stack: its id in the file */
};

/* The rows with at least one allocation, for the caller to free; NULL: out of memory. */
struct mlyze_row *mlyze_rows(const struct mlyze_file *f, const struct mlyze_stats *stats,
			     enum mem_by by, enum mem_sort sort, size_t *cnt);

/* By file and function: the frame that a row is of. NULL: of stacks without frames. */
const struct frame *mlyze_row_frame(const struct mlyze_file *f, const struct mlyze_row *row);

#endif
