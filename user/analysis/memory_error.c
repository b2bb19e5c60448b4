// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * memory_error.c - see memory_error.h. Bursts are clusters of which one in `weight` is taken at
 * random; so the variance of a sum is n times that of a burst. A held block is of the burst that
 * saw its allocation.
 */
#include "analysis/memory_error.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash_secret.h"
#include "base/hash_slots.h"
#include "base/util.h"

/* Bytes of a row, or of all, that are of one burst. */
struct part {
	uint32_t row, burst;
	double touched, held;
};

struct live_block {
	uint64_t addr, bytes;
	uint32_t row, burst;
	bool used;
};

struct row_sums {
	double touched, touched_squares, held, held_squares;
};

struct memory_errors {
	double bursts, all_bursts;	/* in the range; up to its end: what is held may be older */
	double again_share;		/* the error of "used again", of what is held */
	struct buf parts;		/* struct part, by burst, then by row as they come */
	struct buf last;		/* by row: uint32_t, its last part + 1 */
	struct buf rows;		/* struct row_sums */
	struct row_sums total;
	struct hash_slots live;		/* struct live_block */
};

void memory_errors_free(struct memory_errors *e)
{
	if (!e)
		return;
	buf_free(&e->parts);
	buf_free(&e->last);
	buf_free(&e->rows);
	hash_slots_free(&e->live);
	free(e);
}

/* ---- live blocks ---- */

static bool is_used(const void *slot)
{
	return ((const struct live_block *)slot)->used;
}

static uint64_t hash_of(const void *record, const void *ctx)
{
	return hash_secret_mix(((const struct live_block *)record)->addr, HASH_SECRET_A);
}

static bool is_same(const void *slot, const void *key, const void *ctx)
{
	return ((const struct live_block *)slot)->addr == ((const struct live_block *)key)->addr;
}

static const struct hash_kind kind = {
	.bytes = sizeof(struct live_block), .cap_min = 1024,
	.used = is_used, .hash = hash_of, .same = is_same,
};

static int add_live(struct memory_errors *e, const struct live_block *block)
{
	struct live_block *slot;
	int err = hash_slots_reserve(&e->live, &kind, NULL);

	if (err)
		return err;
	slot = hash_slots_find(&e->live, &kind, block, NULL);
	e->live.cnt += !slot->used;
	*slot = *block;
	return 0;
}

static void remove_live(struct memory_errors *e, uint64_t addr)
{
	const struct live_block key = { .addr = addr };
	struct live_block *slot;

	if (!e->live.cap)
		return;
	slot = hash_slots_find(&e->live, &kind, &key, NULL);
	if (slot->used)
		hash_slots_remove(&e->live, &kind, slot, NULL);
}

/* ---- parts ---- */

/* The part of this row in the burst, which is the last one so far. *at: its index. */
static int find_part(struct memory_errors *e, uint32_t row, uint32_t burst, uint32_t *at)
{
	const struct part fresh = { .row = row, .burst = burst };
	const struct part *parts = (const void *)e->parts.data;
	const uint32_t none = 0;
	uint32_t *last;

	while (e->last.len / sizeof(none) <= row)
		if (buf_add(&e->last, &none, sizeof(none)))
			return -ENOMEM;
	last = (uint32_t *)(void *)e->last.data + row;
	if (*last && parts[*last - 1].burst == burst) {
		*at = *last - 1;
		return 0;
	}
	*at = (uint32_t)(e->parts.len / sizeof(fresh));
	*last = *at + 1;
	return *at == UINT32_MAX ? -ENOMEM : buf_add(&e->parts, &fresh, sizeof(fresh));
}

static struct part *part_at(const struct memory_errors *e, uint32_t at)
{
	return (struct part *)(void *)e->parts.data + at;
}

/* A live block remembers its part. */
static int take_alloc(struct memory_errors *e, const struct mlyze_event *ev, uint32_t row,
		      uint32_t burst, bool in_range)
{
	struct live_block block = { .addr = ev->addr, .bytes = ev->size, .row = row, .used = true };
	int err = find_part(e, row, burst, &block.burst);

	if (err)
		return err;
	if (in_range)
		part_at(e, block.burst)->touched += (double)ev->size;
	return add_live(e, &block);
}

/* ---- sums ---- */

static void add_held(struct memory_errors *e)
{
	const struct live_block *block;
	size_t i;

	for (i = 0; i < e->live.cap; i++) {
		block = hash_slots_at(&e->live, &kind, i);
		if (block->used)
			part_at(e, block->burst)->held += (double)block->bytes;
	}
	hash_slots_free(&e->live);
}

static void add_part(struct row_sums *r, double touched, double held)
{
	r->touched += touched;
	r->touched_squares += touched * touched;
	r->held += held;
	r->held_squares += held * held;
}

static int add_parts(struct memory_errors *e)
{
	size_t i, cnt = e->parts.len / sizeof(struct part);
	const struct row_sums none = { 0 };
	double touched = 0, held = 0;
	const struct part *p;

	for (i = 0; i < cnt; i++) {
		p = part_at(e, (uint32_t)i);
		while (e->rows.len / sizeof(none) <= p->row)
			if (buf_add(&e->rows, &none, sizeof(none)))
				return -ENOMEM;
		add_part((struct row_sums *)(void *)e->rows.data + p->row, p->touched, p->held);
		touched += p->touched;
		held += p->held;
		if (i + 1 < cnt && p[1].burst == p->burst)
			continue;
		add_part(&e->total, touched, held);
		touched = held = 0;
	}
	return 0;
}

static int read_events(struct memory_errors *e, const struct mlyze_file *file,
		       const struct mlyze_notes *notes, uint64_t from_us, uint64_t to_us,
		       memory_row_fn row_of, void *ctx)
{
	size_t cnt, burst = 0;
	const uint64_t *bursts = mlyze_notes_bursts(notes, &cnt);
	struct mlyze_error error;
	struct mlyze_cursor at;
	struct mlyze_event ev;
	uint32_t row;
	int err = 0;

	mlyze_rewind(&at, file);
	while (!err && mlyze_next(&at, &ev, &error) > 0 && ev.time_us <= to_us) {
		for (; burst < cnt && bursts[burst] <= ev.time_us; burst++) {
			e->bursts += bursts[burst] >= from_us;
			e->all_bursts++;
		}
		if (ev.type == MLYZE_FREE)
			remove_live(e, ev.addr);
		if (ev.type != MLYZE_ALLOC)
			continue;
		err = row_of(ctx, &ev, &row);
		if (!err)
			err = take_alloc(e, &ev, row, (uint32_t)burst, ev.time_us >= from_us);
	}
	return err;
}

int memory_errors_read(const struct mlyze_file *file, const struct mlyze_notes *notes,
		       uint64_t from_us, uint64_t to_us, memory_row_fn row_of, void *ctx,
		       struct memory_errors **out)
{
	const struct mlyze_sampled *s = &notes->sampled;
	struct memory_errors *e;
	int err;

	*out = NULL;
	if (!s->bursts)
		return 0;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	if (s->used > s->again)
		e->again_share = (double)s->again_error / (double)(s->used - s->again);
	err = read_events(e, file, notes, from_us, to_us, row_of, ctx);
	if (!err) {
		add_held(e);
		err = add_parts(e);
	}
	*out = e;
	return err;
}

/* ---- errors ---- */

/* One standard deviation of a sum, as a share of it. n: parts, of which most may be 0. */
static double share_of(double sum, double squares, double n)
{
	double variance;

	if (sum <= 0)
		return 0;
	if (n < 2)
		return 1;
	variance = (squares - sum * sum / n) * n / (n - 1);
	return variance > 0 ? sqrt(variance) / sum : 0;
}

static struct row_sums sums_of(const struct memory_errors *e, uint32_t row)
{
	const struct row_sums *rows = (const void *)e->rows.data;

	if (row == MEMORY_ERRORS_TOTAL)
		return e->total;
	return row < e->rows.len / sizeof(*rows) ? rows[row] : (struct row_sums){ 0 };
}

double memory_errors_touched(const struct memory_errors *e, uint32_t row)
{
	const struct row_sums r = sums_of(e, row);

	return share_of(r.touched, r.touched_squares, e->bursts);
}

double memory_errors_held(const struct memory_errors *e, uint32_t row)
{
	const struct row_sums r = sums_of(e, row);
	double share = share_of(r.held, r.held_squares, e->all_bursts);

	return r.held > 0 ? sqrt(share * share + e->again_share * e->again_share) : 0;
}
