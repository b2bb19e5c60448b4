// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * memory_error.c - see memory_error.h. Bursts are clusters of which one in `weight` is taken at
 * random; so the variance of a sum is n times that of a burst, less the share that was seen.
 */
#include "analysis/memory_error.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/util.h"

struct row_sums {
	uint64_t burst;		/* the last one that has it; 0: none yet */
	double now, sum, squares;	/* bytes: of that one; of all; ... */
};

struct memory_errors {
	const uint64_t *bursts;		/* the notes' */
	size_t cnt, at;			/* bursts up to the current time */
	uint64_t from_us, to_us;
	size_t in_range;
	double again_share;		/* the error of "used again", of what is held */
	struct row_sums total;
	struct buf rows;		/* struct row_sums */
};

struct memory_errors *memory_errors_new(const struct mlyze_notes *notes, uint64_t from_us,
					uint64_t to_us)
{
	const struct mlyze_sampled *s = &notes->sampled;
	struct memory_errors *e;
	size_t i;

	if (!s->bursts)
		return NULL;
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->bursts = mlyze_notes_bursts(notes, &e->cnt);
	e->from_us = from_us;
	e->to_us = to_us;
	for (i = 0; i < e->cnt; i++)
		e->in_range += e->bursts[i] >= from_us && e->bursts[i] <= to_us;
	if (s->used > s->again)
		e->again_share = (double)s->again_error / (double)(s->used - s->again);
	return e;
}

void memory_errors_free(struct memory_errors *e)
{
	if (!e)
		return;
	buf_free(&e->rows);
	free(e);
}

static void end_burst(struct row_sums *r)
{
	r->sum += r->now;
	r->squares += r->now * r->now;
	r->now = 0;
}

static void take_bytes(struct row_sums *r, uint64_t burst, uint64_t bytes)
{
	if (r->burst != burst)
		end_burst(r);
	r->burst = burst;
	r->now += (double)bytes;
}

int memory_errors_take(struct memory_errors *e, uint32_t row, uint64_t time_us, uint64_t bytes)
{
	const struct row_sums none = { 0 };

	while (e->at < e->cnt && e->bursts[e->at] <= time_us)
		e->at++;
	if (time_us < e->from_us || time_us > e->to_us)
		return 0;
	while (e->rows.len / sizeof(none) <= row)
		if (buf_add(&e->rows, &none, sizeof(none)))
			return -ENOMEM;
	take_bytes(&e->total, e->at, bytes);
	take_bytes((struct row_sums *)(void *)e->rows.data + row, e->at, bytes);
	return 0;
}

static struct row_sums sums_of(const struct memory_errors *e, uint32_t row)
{
	const struct row_sums *rows = (const void *)e->rows.data;
	struct row_sums r = { 0 };

	if (row == MEMORY_ERRORS_TOTAL)
		r = e->total;
	else if (row < e->rows.len / sizeof(r))
		r = rows[row];
	end_burst(&r);
	return r;
}

double memory_errors_touched(const struct memory_errors *e, uint32_t row)
{
	struct row_sums r = sums_of(e, row);
	double n = (double)e->in_range, variance;

	if (r.sum <= 0)
		return 0;
	if (e->in_range < 2)
		return 1;
	variance = (r.squares - r.sum * r.sum / n) * n / (n - 1);
	return variance > 0 ? sqrt(variance) / r.sum : 0;
}

double memory_errors_held(const struct memory_errors *e, uint32_t row, uint64_t live_blocks)
{
	double touched = memory_errors_touched(e, row);

	if (!live_blocks)
		return 0;
	return sqrt(touched * touched + 1 / (double)live_blocks +
		    e->again_share * e->again_share);
}
