// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mlyze_stats.c - see mlyze_stats.h.
 *
 * The events are read twice: once to add up and to find the peak, and once to find what was live at
 * the peak. If an address is allocated while it is live, its free was not recorded. If one is freed
 * that is not live, it was allocated before the trace began. Both cases are counted, and neither is
 * an error.
 */
#include "formats/mlyze/mlyze_stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* Large enough for 2^64 sizes of 2^64 bytes. */
typedef unsigned __int128 u128;

/* A row while it is being added up. */
struct wide_row {
	u128 allocated, before, live, peak;
	uint64_t count, live_count, peak_count;
};

struct collector {
	const struct mlyze_file *file;
	struct mlyze_stats_args args;
	struct mlyze_stats *stats;
	struct mlyze_live *live;	/* a block's stack is its row */
	struct buf rows;		/* struct wide_row */
	struct wide_row total;
	bool begun;			/* the range */
	u128 freed, gc_objects, gc_bytes;
};

static uint64_t clamp_u64(u128 v)
{
	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

static struct wide_row *row_at(const struct collector *c, uint32_t row)
{
	return (struct wide_row *)(void *)c->rows.data + row;
}

static int add_row(struct collector *c)
{
	static const struct wide_row none;

	return buf_add(&c->rows, &none, sizeof(none));
}

/* The row of an ALLOC. Returns 0 or -errno. */
static int row_of(struct collector *c, const struct mlyze_event *ev, uint32_t *row)
{
	int err = 0;

	*row = ev->stack;
	if (c->args.row_of)
		err = c->args.row_of(c->args.ctx, ev, row);
	while (!err && *row >= c->rows.len / sizeof(struct wide_row))
		err = add_row(c);
	return err;
}

static int report_change(const struct collector *c, uint32_t row, uint64_t time_us, uint64_t bytes,
			 bool more)
{
	return c->args.changed ? c->args.changed(c->args.ctx, row, time_us, bytes, more) : 0;
}

/* The block is not live any more. */
static int take_out(struct collector *c, const struct mlyze_block *b, uint64_t time_us)
{
	struct wide_row *row = row_at(c, b->stack);

	c->total.live -= b->size;
	c->total.live_count--;
	row->live -= b->size;
	row->live_count--;
	if (c->begun)
		c->freed += b->size;
	return report_change(c, b->stack, time_us, b->size, false);
}

static void note_peak(struct collector *c, uint64_t time_us, uint64_t events)
{
	if (!c->begun || c->total.live <= c->total.peak)
		return;
	c->total.peak = c->total.live;
	c->stats->peak_us = time_us;
	c->stats->peak_events = events;
}

static void count_alloc(struct wide_row *row, uint64_t bytes, bool begun)
{
	row->live += bytes;
	row->live_count++;
	if (!begun)
		return;
	row->allocated += bytes;
	row->count++;
}

static int on_alloc(struct collector *c, const struct mlyze_event *ev, uint64_t index)
{
	struct mlyze_block block = { .addr = ev->addr, .size = ev->size, .index = index }, old;
	int err = row_of(c, ev, &block.stack), got;

	if (err)
		return err;
	got = mlyze_live_add(c->live, &block, &old);
	if (got < 0)
		return got;
	if (got) {
		c->stats->lost_frees += c->begun;
		err = take_out(c, &old, ev->time_us);
	}
	count_alloc(&c->total, ev->size, c->begun);
	count_alloc(row_at(c, block.stack), ev->size, c->begun);
	note_peak(c, ev->time_us, index + 1);
	return err ? err : report_change(c, block.stack, ev->time_us, ev->size, true);
}

static int on_free(struct collector *c, const struct mlyze_event *ev)
{
	struct mlyze_block old;

	c->stats->free_cnt += c->begun;
	if (mlyze_live_remove(c->live, ev->addr, &old))
		return take_out(c, &old, ev->time_us);
	c->stats->unmatched_frees += c->begun;
	return 0;
}

/* The first event of the range follows. */
static void begin_range(struct collector *c, uint64_t index)
{
	struct wide_row *rows = row_at(c, 0);
	size_t i;

	c->begun = true;
	c->total.before = c->total.live;
	for (i = 0; i < c->rows.len / sizeof(*rows); i++)
		rows[i].before = rows[i].live;
	note_peak(c, c->stats->start_us, index);
}

static int on_event(struct collector *c, const struct mlyze_event *ev, uint64_t index)
{
	struct mlyze_stats *st = c->stats;

	if (!c->begun && ev->time_us >= c->args.from_us)
		begin_range(c, index);
	if (c->begun) {
		st->event_cnt++;
		st->end_us = ev->time_us;
	}
	switch (ev->type) {
	case MLYZE_ALLOC:
		return on_alloc(c, ev, index);
	case MLYZE_FREE:
		return on_free(c, ev);
	case MLYZE_GC:
		st->gc_cnt += c->begun;
		c->gc_objects += c->begun ? ev->objects : 0;
		c->gc_bytes += c->begun ? ev->bytes : 0;
		return 0;
	case MLYZE_MARKER:
		st->marker_cnt += c->begun;
		return 0;
	}
	return 0;
}

static int add_events(struct collector *c)
{
	struct mlyze_cursor at;
	struct mlyze_event ev;
	int got = 0, err = 0;

	mlyze_rewind(&at, c->file);
	while (!err && (got = mlyze_next(&at, &ev, &c->stats->error)) > 0) {
		if (c->args.to_us && ev.time_us >= c->args.to_us)
			break;
		err = on_event(c, &ev, at.index - 1);
	}
	if (!err && got < 0)
		c->stats->damaged = true;
	if (!err && !c->begun)
		begin_range(c, at.index);
	return err;
}

/* The block was live at the peak, unless something takes it back. */
static void count_peak(struct collector *c, const struct mlyze_block *b, int sign)
{
	struct wide_row *row = row_at(c, b->stack);

	row->peak += sign > 0 ? b->size : -(u128)b->size;
	row->peak_count += (uint64_t)sign;
	c->total.peak_count += (uint64_t)sign;
}

/* Replays one event before the peak. Returns 0 or -errno. */
static int replay_event(struct collector *c, const struct mlyze_event *ev)
{
	struct mlyze_block b = { .addr = ev->addr, .size = ev->size }, old;
	int got = 0;

	if (ev->type == MLYZE_ALLOC) {
		got = row_of(c, ev, &b.stack);
		if (got)
			return got;
		got = mlyze_live_add(c->live, &b, &old);
		if (got < 0)
			return got;
		count_peak(c, &b, 1);
	} else if (ev->type == MLYZE_FREE) {
		got = mlyze_live_remove(c->live, ev->addr, &old);
	}
	if (got)
		count_peak(c, &old, -1);
	return 0;
}

/* Adds what was live at the peak to its rows. Empties live. */
static int add_peak(struct collector *c)
{
	struct mlyze_cursor at;
	struct mlyze_error error;
	struct mlyze_event ev;
	int err = 0;

	mlyze_live_free(c->live);
	c->live = mlyze_live_new();
	if (!c->live)
		return -ENOMEM;
	mlyze_rewind(&at, c->file);
	while (!err && at.index < c->stats->peak_events && mlyze_next(&at, &ev, &error) > 0)
		err = replay_event(c, &ev);
	return err;
}

static struct mlyze_sums narrow_sums(const struct wide_row *w)
{
	return (struct mlyze_sums){
		.count = w->count, .allocated = clamp_u64(w->allocated),
		.before = clamp_u64(w->before),
		.live_count = w->live_count, .live = clamp_u64(w->live),
		.peak_count = w->peak_count, .peak = clamp_u64(w->peak),
	};
}

static int finish_sums(struct collector *c)
{
	struct mlyze_stats *st = c->stats;
	size_t i, cnt = c->rows.len / sizeof(struct wide_row);

	st->rows = calloc(cnt + 1, sizeof(*st->rows));
	if (!st->rows)
		return -ENOMEM;
	st->row_cnt = cnt;
	for (i = 0; i < cnt; i++)
		st->rows[i] = narrow_sums(row_at(c, (uint32_t)i));
	st->total = narrow_sums(&c->total);
	st->freed = clamp_u64(c->freed);
	st->gc_objects = clamp_u64(c->gc_objects);
	st->gc_bytes = clamp_u64(c->gc_bytes);
	return 0;
}

int mlyze_stats_collect(const struct mlyze_file *f, const struct mlyze_stats_args *args,
			struct mlyze_stats *stats)
{
	struct collector c = { .file = f, .stats = stats, .live = mlyze_live_new() };
	size_t i, cnt;
	int err = c.live ? 0 : -ENOMEM;

	if (args)
		c.args = *args;
	cnt = c.args.row_of ? 0 : mlyze_stack_cnt(f);
	memset(stats, 0, sizeof(*stats));
	stats->start_us = c.args.from_us > mlyze_start_us(f) ? c.args.from_us : mlyze_start_us(f);
	stats->end_us = stats->peak_us = stats->start_us;
	for (i = 0; !err && i < cnt; i++)
		err = add_row(&c);
	if (!err)
		err = add_events(&c);
	if (!err)
		err = add_peak(&c);
	if (!err)
		err = finish_sums(&c);
	mlyze_live_free(c.live);
	buf_free(&c.rows);
	if (err)
		mlyze_stats_free(stats);
	return err;
}

void mlyze_stats_free(struct mlyze_stats *stats)
{
	free(stats->rows);
	memset(stats, 0, sizeof(*stats));
}
