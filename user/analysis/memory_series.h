/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory_series.h - how the bytes that rows hold change over time: how fast they grow, and whether
 * they grew in each of several intervals.
 *
 * Rows are compared at certain moments. Work and memory grow with changes and rows, not with
 * moments times rows.
 */
#ifndef TACHBPF_MEMORY_SERIES_H
#define TACHBPF_MEMORY_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
