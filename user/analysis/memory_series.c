// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * memory_series.c - see memory_series.h.
 *
 * Between two of its changes a row is constant: all moments in between are added at once, by
 * precomputed sums of the moments' times.
 */
#include "analysis/memory_series.h"

#include <errno.h>
#include <stdlib.h>

#include "base/util.h"

#define US_PER_MINUTE 60e6

typedef unsigned __int128 u128;

struct row {
	u128 held;
	u128 at_bound;		/* the value at the last boundary */
	double sum, sum_by_time;	/* of held at moments; of held times the moment's time */
	size_t moment;		/* the first moment that is not in these sums */
	uint32_t bound;		/* the first boundary that it was not compared at */
	bool stood;		/* it did not grow in at least one interval */
};

struct memory_series {
	const uint64_t *moments_us;
	size_t moment_cnt;
	double *times;		/* sums of the first n moments' times, in minutes since the first */
	double squares;		/* of all these times */
	size_t *bounds;		/* moments at which intervals begin, and the end of the last one */
	uint32_t interval_cnt;
	size_t now;		/* moments that have passed */
	struct buf rows;	/* struct row */
};

static double minutes_at(const struct memory_series *s, size_t moment)
{
	return (double)(s->moments_us[moment] - s->moments_us[0]) / US_PER_MINUTE;
}

static void add_times(struct memory_series *s)
{
	size_t i;

	for (i = 0; i < s->moment_cnt; i++) {
		double t = minutes_at(s, i);

		s->times[i + 1] = s->times[i] + t;
		s->squares += t * t;
	}
}

static void set_bounds(struct memory_series *s, uint32_t intervals)
{
	size_t gaps = s->moment_cnt ? s->moment_cnt - 1 : 0;
	uint32_t i;

	s->interval_cnt = gaps < intervals ? (uint32_t)gaps : intervals;
	if (s->interval_cnt < MEMORY_INTERVALS_MIN)
		s->interval_cnt = 0;
	for (i = 0; s->interval_cnt && i <= s->interval_cnt; i++)
		s->bounds[i] = gaps * i / s->interval_cnt;
}

struct memory_series *memory_series_new(const uint64_t *moments_us, size_t cnt, uint32_t intervals)
{
	struct memory_series *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->moments_us = moments_us;
	s->moment_cnt = cnt;
	s->times = calloc(cnt + 1, sizeof(*s->times));
	s->bounds = calloc((size_t)intervals + 1, sizeof(*s->bounds));
	if (!s->times || !s->bounds) {
		memory_series_free(s);
		return NULL;
	}
	add_times(s);
	set_bounds(s, intervals);
	return s;
}

void memory_series_free(struct memory_series *s)
{
	if (!s)
		return;
	free(s->times);
	free(s->bounds);
	buf_free(&s->rows);
	free(s);
}

static size_t row_cnt(const struct memory_series *s)
{
	return s->rows.len / sizeof(struct row);
}

static struct row *row_at(const struct memory_series *s, uint32_t row)
{
	return (struct row *)(void *)s->rows.data + row;
}

/* Adds the moments that have passed since the row's last change. */
static void settle_row(const struct memory_series *s, struct row *r)
{
	r->sum += (double)r->held * (double)(s->now - r->moment);
	r->sum_by_time += (double)r->held * (s->times[s->now] - s->times[r->moment]);
	r->moment = s->now;
	for (; s->interval_cnt && r->bound <= s->interval_cnt && s->bounds[r->bound] < s->now;
	     r->bound++) {
		if (r->bound && r->held <= r->at_bound)
			r->stood = true;
		r->at_bound = r->held;
	}
}

int memory_series_change(struct memory_series *s, uint32_t row, uint64_t time_us, uint64_t bytes,
			 bool more)
{
	static const struct row none;
	struct row *r;

	while (s->now < s->moment_cnt && s->moments_us[s->now] < time_us)
		s->now++;
	while (row >= row_cnt(s))
		if (buf_add(&s->rows, &none, sizeof(none)))
			return -ENOMEM;
	r = row_at(s, row);
	settle_row(s, r);
	r->held += more ? bytes : -(u128)bytes;
	return 0;
}

void memory_series_end(struct memory_series *s)
{
	size_t i;

	s->now = s->moment_cnt;
	for (i = 0; i < row_cnt(s); i++)
		settle_row(s, row_at(s, (uint32_t)i));
}

uint32_t memory_series_intervals(const struct memory_series *s)
{
	return s->interval_cnt;
}

double memory_series_growth(const struct memory_series *s, uint32_t row)
{
	double n = (double)s->moment_cnt, times = s->times[s->moment_cnt], spread;
	const struct row *r;

	if (row >= row_cnt(s) || s->moment_cnt < 2)
		return 0;
	r = row_at(s, row);
	spread = n * s->squares - times * times;
	return spread > 0 ? (n * r->sum_by_time - times * r->sum) / spread : 0;
}

bool memory_series_grew(const struct memory_series *s, uint32_t row)
{
	return s->interval_cnt && row < row_cnt(s) && !row_at(s, row)->stood;
}
