/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory_series.h - how the bytes that rows hold change with time: how fast they grow, and whether
 * they grew in each of several intervals.
 *
 * Rows are looked at at certain moments. Work and memory grow with changes and rows, not with
 * moments times rows.
 */
#ifndef TACHBPF_MEMORY_SERIES_H
#define TACHBPF_MEMORY_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* With fewer intervals than this, to grow in each of them says nothing. */
#define MEMORY_INTERVALS_MIN 3

struct memory_series;

/*
 * moments_us: when rows are looked at, ascending, cnt of them. The time from the first to the last
 * is cut at moments into so many intervals of about equal length, fewer if there are not enough
 * moments. NULL: out of memory. Freed by memory_series_free().
 */
struct memory_series *memory_series_new(const uint64_t *moments_us, size_t cnt,
					uint32_t intervals);
void memory_series_free(struct memory_series *s);

/*
 * From this time on the row holds so many bytes more, or less. Times never go back. What happens
 * at a moment counts in it. 0 or -ENOMEM.
 */
int memory_series_change(struct memory_series *s, uint32_t row, uint64_t time_us, uint64_t bytes,
			 bool more);
/* There are no more changes. */
void memory_series_end(struct memory_series *s);

/* Into how many intervals the time was cut; 0: fewer than MEMORY_INTERVALS_MIN. */
uint32_t memory_series_intervals(const struct memory_series *s);

/*
 * After memory_series_end(): bytes per minute, the slope of the straight line that has the least
 * squares of distances to the row at all moments. 0 if there are fewer than two.
 */
double memory_series_growth(const struct memory_series *s, uint32_t row);
/* Did the row hold more at the end of each interval than at its beginning? */
bool memory_series_grew(const struct memory_series *s, uint32_t row);

#endif
