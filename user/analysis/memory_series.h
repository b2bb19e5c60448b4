/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory_series.h - how the bytes that rows hold change over time: how fast they grow, and whether
 * they grew in each of several intervals; the moments at which they are compared.
 *
 * Rows are compared at certain moments. Work and memory grow with changes and rows, not with
 * moments times rows.
 */
#ifndef TACHBPF_MEMORY_SERIES_H
#define TACHBPF_MEMORY_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/mlyze/mlyze_notes.h"

/* With fewer intervals, growth in each of them is not significant. */
#define MEMORY_INTERVALS_MIN 3

struct memory_series;

/*
 * moments_us: when rows are compared, ascending, cnt of them. The time from the first to the last
 * is divided at moments into this many intervals of about equal length, or fewer if there are not
 * enough moments. Returns NULL if out of memory. Freed by memory_series_free().
 */
struct memory_series *memory_series_new(const uint64_t *moments_us, size_t cnt,
					uint32_t intervals);
void memory_series_free(struct memory_series *s);

/*
 * From this time on the row holds `bytes` more, or less. Times never decrease. A change at a moment
 * counts in it. Returns 0 or -ENOMEM.
 */
int memory_series_change(struct memory_series *s, uint32_t row, uint64_t time_us, uint64_t bytes,
			 bool more);
/* There are no more changes. */
void memory_series_end(struct memory_series *s);

/* Returns the number of intervals; 0: fewer than MEMORY_INTERVALS_MIN. */
uint32_t memory_series_intervals(const struct memory_series *s);

/*
 * After memory_series_end(): returns bytes per minute, the slope of the least-squares line through
 * the row's values at all moments. 0 if there are fewer than two.
 */
double memory_series_growth(const struct memory_series *s, uint32_t row);
/* Returns true if the row held more at the end of each interval than at its beginning. */
bool memory_series_grew(const struct memory_series *s, uint32_t row);

/*
 * The moments of a .mlyze file at which rows are compared: the times when tachbpf checked which
 * pages still existed or, in files without such checks, regular times.
 */

/* The number of moments without checks. */
#define MEMORY_MOMENTS 61

/* Returns those from start_us to end_us, ascending, which the caller frees; NULL: out of memory. */
uint64_t *memory_moments(const struct mlyze_notes *notes, uint64_t start_us, uint64_t end_us,
			 size_t *cnt);

/*
 * Growth between the checks from start_us to end_us: the kernel's count of the process's memory,
 * resident and swapped, and the memory that its stacks hold.
 */
struct memory_grown {
	bool known;		/* there are at least two checks */
	double seconds;		/* from the first check to the last */
	int64_t resident;	/* bytes more at the last than at the first */
	int64_t held;
	uint64_t unchecked;	/* at the last */
};
struct memory_grown memory_grown(const struct mlyze_notes *notes, uint64_t start_us,
				 uint64_t end_us);

/*
 * Returns the percentage of the growth that stacks explain; < 0: the process has grown too little
 * for a meaningful answer (64 KiB).
 */
double memory_explained(const struct memory_grown *g);

#endif
