/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * top_table.h - the table of processes of `tachbpf top` at any width: which columns there is room
 * for, and how wide they are. Pure.
 */
#ifndef TACHBPF_TOP_TABLE_H
#define TACHBPF_TOP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The columns from left to right: numbers first, so they do not move when a text changes. */
enum top_cell {
	TOP_PID, TOP_CPU, TOP_GIL, TOP_GC, TOP_LAG, TOP_RSS, TOP_GROWTH, TOP_THREADS, TOP_LOST,
	TOP_PYTHON, TOP_PROGRAM, TOP_WHERE, TOP_HOTTEST, TOP_CELLS,
};

/* What rows are sorted by, in the order of the key s. The smallest pid comes first. */
enum top_sort {
	TOP_SORT_CPU, TOP_SORT_GIL, TOP_SORT_GC, TOP_SORT_RSS, TOP_SORT_GROWTH, TOP_SORT_THREADS,
	TOP_SORT_LOST, TOP_SORT_PID, TOP_SORTS,
};

/* Printable texts of one row; each is owned by the row. */
struct top_cells {
	char *text[TOP_CELLS];
	bool placed;		/* TOP_WHERE is a container or a unit, not a user */
};

void top_cells_free(struct top_cells *cells);

/* The widths of columns in characters; 0: not shown. The last column of a pipe has no limit. */
struct top_layout {
	size_t width[TOP_CELLS];
};

/*
 * Fits the rows to a terminal. Program and CPU are always shown, and the container or unit if any
 * row has one; other columns are left out until there is room, that of the sort order last.
 * columns 0: no terminal, so all columns are shown in full. TOP_LAG is only shown if it has a text
 * other than "" in some row.
 */
void top_layout_make(struct top_layout *out, const struct top_cells *rows, size_t cnt,
		     size_t columns, enum top_sort sort);

/*
 * Returns a row, or with cells NULL the headings, to be freed; NULL: no memory. Where a text is
 * cut it ends with "…". Without the column TOP_GROWTH, memory that grows has a "↑".
 */
char *top_layout_line(const struct top_layout *l, const struct top_cells *cells);

/*
 * Returns a CPU time as % of one CPU. Samples are counted in batches, so a busy thread may seem to
 * have had a little more than all of the time; that is 100 %.
 */
double top_percent(uint64_t ns, uint64_t span_ns, uint32_t rate_hz);

/* Writes bytes as "980K", "9.5M" or "12G", at most 4 columns below 1,000 TiB. Returns out. */
char *top_bytes(double bytes, char out[16]);

/* A part of a line that has to fit. */
struct top_part {
	const char *gap;	/* before it, if it is not the first one */
	const char *text;
	unsigned int rank;	/* the parts with the highest are left out first; 0: never */
};

/* Joins the parts that fit into a line of this many columns; 0: all of them. */
void top_fit(char *out, size_t size, size_t columns, const struct top_part *parts, size_t cnt);

#endif
