// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mlyze_stats.c - see mlyze_stats.h.
 *
 * The events are read twice: once to add up and to find the peak, and once to find what was
 * live at the peak. If an address is allocated while it is live, its free was not recorded.
 * If one is freed that is not live, it was allocated before the trace began. Both cases are
 * counted, and none is an error.
 */
#include "formats/mlyze/mlyze_stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Large enough for 2^64 sizes of 2^64 bytes. */
typedef unsigned __int128 u128;

struct wide_sums {
	u128 allocated, live;
};

struct collector {
	const struct mlyze_file *file;
	struct mlyze_stats *stats;
	struct mlyze_live *live;
	struct wide_sums total, *stacks;
	u128 freed, peak, gc_objects, gc_bytes;
};

static uint64_t clamp(u128 v)
{
	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

/* The block is not live any more. */
static void take_out(struct collector *c, const struct mlyze_block *b)
{
	c->total.live -= b->size;
	c->stacks[b->stack].live -= b->size;
	c->stats->total.live_count--;
	c->stats->stacks[b->stack].live_count--;
	c->freed += b->size;
}

static int on_alloc(struct collector *c, const struct mlyze_event *ev, uint64_t index)
{
	struct mlyze_block block = { .addr = ev->addr, .size = ev->size, .index = index,
				     .stack = ev->stack }, old;
	struct mlyze_stats *st = c->stats;
	int got = mlyze_live_add(c->live, &block, &old);

	if (got < 0)
		return got;
	if (got) {
		st->lost_frees++;
		take_out(c, &old);
	}
	c->total.allocated += ev->size;
	c->total.live += ev->size;
	c->stacks[ev->stack].allocated += ev->size;
	c->stacks[ev->stack].live += ev->size;
	st->total.count++;
	st->total.live_count++;
	st->stacks[ev->stack].count++;
	st->stacks[ev->stack].live_count++;
	if (c->total.live > c->peak) {
		c->peak = c->total.live;
		st->peak_us = ev->time_us;
		st->peak_events = index + 1;
	}
	return 0;
}

static int on_event(struct collector *c, const struct mlyze_event *ev, uint64_t index)
{
	struct mlyze_stats *st = c->stats;
	struct mlyze_block old;

	st->event_cnt++;
	st->end_us = ev->time_us;
	switch (ev->type) {
	case MLYZE_ALLOC:
		return on_alloc(c, ev, index);
	case MLYZE_FREE:
		st->free_cnt++;
		if (mlyze_live_remove(c->live, ev->addr, &old))
			take_out(c, &old);
		else
			st->unmatched_frees++;
		return 0;
	case MLYZE_GC:
		st->gc_cnt++;
		c->gc_objects += ev->objects;
		c->gc_bytes += ev->bytes;
		return 0;
	case MLYZE_MARKER:
		st->marker_cnt++;
		return 0;
	}
	return 0;
}

static int add_events(struct collector *c)
{
	struct mlyze_cursor at;
	struct mlyze_event ev;
	int got, err = 0;

	mlyze_rewind(&at, c->file);
	while (!err && (got = mlyze_next(&at, &ev, &c->stats->error)) > 0)
		err = on_event(c, &ev, at.index - 1);
	if (!err && got < 0)
		c->stats->damaged = true;
	return err;
}

/* Add what was live at the peak to its stacks. Empties live. */
static int add_peak(struct collector *c)
{
	struct mlyze_stats *st = c->stats;
	struct mlyze_block old;
	struct mlyze_cursor at;
	struct mlyze_error error;
	struct mlyze_event ev;
	size_t i, cnt = mlyze_stack_cnt(c->file);
	u128 *peaks = calloc(cnt + 1, sizeof(*peaks));
	int got = 0;

	mlyze_live_free(c->live);
	c->live = peaks ? mlyze_live_new() : NULL;
	if (!c->live) {
		free(peaks);
		return -ENOMEM;
	}
	mlyze_rewind(&at, c->file);
	while (at.index < st->peak_events && mlyze_next(&at, &ev, &error) > 0) {
		struct mlyze_block b = { .addr = ev.addr, .size = ev.size, .stack = ev.stack };

		if (ev.type == MLYZE_ALLOC)
			got = mlyze_live_add(c->live, &b, &old);
		else
			got = ev.type == MLYZE_FREE && mlyze_live_remove(c->live, ev.addr, &old);
		if (got < 0)
			break;
		if (got) {
			peaks[old.stack] -= old.size;
			st->stacks[old.stack].peak_count--;
			st->total.peak_count--;
		}
		if (ev.type == MLYZE_ALLOC) {
			peaks[b.stack] += b.size;
			st->stacks[b.stack].peak_count++;
			st->total.peak_count++;
		}
	}
	for (i = 0; i < cnt; i++)
		st->stacks[i].peak = clamp(peaks[i]);
	free(peaks);
	return got < 0 ? got : 0;
}

static void finish(struct collector *c)
{
	struct mlyze_stats *st = c->stats;
	size_t i;

	for (i = 0; i < mlyze_stack_cnt(c->file); i++) {
		st->stacks[i].allocated = clamp(c->stacks[i].allocated);
		st->stacks[i].live = clamp(c->stacks[i].live);
	}
	st->total.allocated = clamp(c->total.allocated);
	st->total.live = clamp(c->total.live);
	st->total.peak = clamp(c->peak);
	st->freed = clamp(c->freed);
	st->gc_objects = clamp(c->gc_objects);
	st->gc_bytes = clamp(c->gc_bytes);
}

int mlyze_stats_collect(const struct mlyze_file *f, struct mlyze_stats *stats)
{
	struct collector c = { .file = f, .stats = stats };
	size_t cnt = mlyze_stack_cnt(f) + 1;
	int err = -ENOMEM;

	memset(stats, 0, sizeof(*stats));
	stats->end_us = mlyze_start_us(f);
	stats->peak_us = mlyze_start_us(f);
	stats->stacks = calloc(cnt, sizeof(*stats->stacks));
	c.stacks = calloc(cnt, sizeof(*c.stacks));
	c.live = mlyze_live_new();
	if (stats->stacks && c.stacks && c.live)
		err = add_events(&c);
	if (!err)
		err = add_peak(&c);
	if (!err)
		finish(&c);
	mlyze_live_free(c.live);
	free(c.stacks);
	if (err)
		mlyze_stats_free(stats);
	return err;
}

void mlyze_stats_free(struct mlyze_stats *stats)
{
	free(stats->stacks);
	memset(stats, 0, sizeof(*stats));
}
