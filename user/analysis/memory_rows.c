// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * memory_rows.c - see memory_rows.h.
 *
 * A file's rows have their own numbers while it is read, so that its work and memory do not grow
 * with the files before it.
 */
#include "analysis/memory_rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/memory_error.h"
#include "analysis/memory_keys.h"
#include "analysis/memory_series.h"
#include "base/arith.h"
#include "model/id_map.h"

struct memory_rows {
	enum mem_by by;
	struct memory_keys *keys;
	struct buf rows;		/* struct memory_row of all files, by key */
	/* The current file. */
	struct id_map local;		/* its rows, by key */
	struct id_map of_stack;		/* ... by stack, unless they are threads */
	struct buf list;		/* struct memory_row, by its own numbers */
	const struct mlyze_file *file;
	struct memory_series *series;
	struct memory_errors *errors;	/* NULL: it is not sampled in bursts */
};

/* In a series, the sum of all rows comes first. */
#define SERIES_TOTAL 0
#define SERIES_ROW 1

struct memory_rows *memory_rows_new(enum mem_by by)
{
	struct memory_rows *all = calloc(1, sizeof(*all));

	if (!all)
		return NULL;
	all->by = by;
	all->keys = memory_keys_new(by);
	if (all->keys)
		return all;
	free(all);
	return NULL;
}

void memory_rows_free(struct memory_rows *all)
{
	if (!all)
		return;
	memory_keys_free(all->keys);
	buf_free(&all->rows);
	buf_free(&all->list);
	id_map_free(&all->local);
	id_map_free(&all->of_stack);
	free(all);
}

static size_t cnt_of(const struct buf *rows)
{
	return rows->len / sizeof(struct memory_row);
}

static struct memory_row *row_at(const struct buf *rows, size_t i)
{
	return (struct memory_row *)(void *)rows->data + i;
}

/* The number of a new ALLOC's row in the file. */
static int find_row(void *ctx, const struct mlyze_event *alloc, uint32_t *row)
{
	struct memory_rows *all = ctx;
	struct memory_row fresh = { .id = mlyze_stack(all->file, alloc->stack).id };
	int err = memory_keys_of(all->keys, alloc, &fresh.key);

	if (err || id_map_get(&all->local, fresh.key, row))
		return err;
	*row = (uint32_t)cnt_of(&all->list);
	err = buf_add(&all->list, &fresh, sizeof(fresh));
	return err ? err : id_map_set(&all->local, fresh.key, *row);
}

/* For mlyze_stats: the file's own number of an ALLOC's row. */
static int row_of(void *ctx, const struct mlyze_event *alloc, uint32_t *row)
{
	struct memory_rows *all = ctx;
	int err = find_row(ctx, alloc, row);

	return err || all->by == MEM_BY_THREAD ? err :
	       id_map_set(&all->of_stack, alloc->stack, *row);
}

static void add_contents(struct memory_contents *to, const struct memory_contents *c)
{
	to->pages = add_capped(to->pages, c->pages);
	to->own = add_capped(to->own, c->own);
	to->reused = add_capped(to->reused, c->reused);
	to->unused = add_capped(to->unused, c->unused);
}

/* In files of tachbpf, a stack's id is its index. */
static void take_fates(struct memory_rows *all, const struct mlyze_notes *notes,
		       struct memory_list *list)
{
	const struct mlyze_fate *fates;
	size_t i, cnt;
	uint32_t row;

	fates = mlyze_notes_fates(notes, &cnt);
	for (i = 0; i < cnt; i++) {
		const struct memory_contents c = { fates[i].pages, fates[i].own, fates[i].reused,
						   fates[i].unused };

		if (fates[i].stack >= mlyze_stack_cnt(all->file) ||
		    mlyze_stack(all->file, (uint32_t)fates[i].stack).id != fates[i].stack)
			continue;
		add_contents(&list->total.contents, &c);
		if (id_map_get(&all->of_stack, (uint32_t)fates[i].stack, &row))
			add_contents(&row_at(&all->list, row)->contents, &c);
	}
}

static int on_change(void *ctx, uint32_t row, uint64_t time_us, uint64_t bytes, bool more)
{
	struct memory_rows *all = ctx;
	int err = memory_series_change(all->series, SERIES_TOTAL, time_us, bytes, more);

	return err ? err : memory_series_change(all->series, row + SERIES_ROW, time_us, bytes,
						more);
}

static int64_t held_of(const struct mlyze_sums *s, bool since_start)
{
	__int128 held = (__int128)s->live - (since_start ? 0 : s->before);

	return held > INT64_MAX ? INT64_MAX : held < INT64_MIN ? INT64_MIN : (int64_t)held;
}

/* Completes a row with its sums and its series. */
static void complete_row(struct memory_row *row, const struct mlyze_sums *sums,
			 const struct memory_series *series, uint32_t number, bool since_start)
{
	row->sums = *sums;
	row->held = held_of(sums, since_start);
	row->growth = memory_series_growth(series, number);
	row->leaks = memory_series_grew(series, number);
}

static void add_errors(struct memory_row *row, const struct memory_errors *e, uint32_t number)
{
	if (!e)
		return;
	row->touched_error = memory_errors_touched(e, number) * (double)row->sums.allocated;
	row->held_error = memory_errors_held(e, number) * (double)row->sums.live;
}

/* Makes the file's list from the results. Returns 0 or -ENOMEM. */
static int make_list(const struct memory_rows *all, const struct mlyze_stats *stats,
		     bool since_start, struct memory_list *out)
{
	size_t i, cnt = cnt_of(&all->list);

	out->rows = calloc(cnt + 1, sizeof(*out->rows));
	if (!out->rows)
		return -ENOMEM;
	out->intervals = memory_series_intervals(all->series);
	complete_row(&out->total, &stats->total, all->series, SERIES_TOTAL, since_start);
	add_errors(&out->total, all->errors, MEMORY_ERRORS_TOTAL);
	for (i = 0; i < cnt; i++) {
		const struct mlyze_sums *sums = &stats->rows[i];
		struct memory_row *row = &out->rows[out->cnt];

		if (!sums->count && !sums->live_count && !sums->before)
			continue;
		*row = *row_at(&all->list, i);
		complete_row(row, sums, all->series, (uint32_t)i + SERIES_ROW, since_start);
		add_errors(row, all->errors, (uint32_t)i);
		out->cnt++;
	}
	return 0;
}

static int64_t add_held(int64_t a, int64_t b)
{
	int64_t sum;

	if (!__builtin_add_overflow(a, b, &sum))
		return sum;
	return b > 0 ? INT64_MAX : INT64_MIN;
}

static void join_rows(struct memory_row *to, const struct memory_row *row)
{
	struct mlyze_sums *t = &to->sums;
	const struct mlyze_sums *s = &row->sums;

	t->count = add_capped(t->count, s->count);
	t->allocated = add_capped(t->allocated, s->allocated);
	t->before = add_capped(t->before, s->before);
	t->live_count = add_capped(t->live_count, s->live_count);
	t->live = add_capped(t->live, s->live);
	t->peak_count = add_capped(t->peak_count, s->peak_count);
	t->peak = add_capped(t->peak, s->peak);
	to->held = add_held(to->held, row->held);
	add_contents(&to->contents, &row->contents);
	to->growth += row->growth;
	to->touched_error = sqrt(to->touched_error * to->touched_error +
				 row->touched_error * row->touched_error);
	to->held_error = sqrt(to->held_error * to->held_error + row->held_error * row->held_error);
	to->leaks |= row->leaks;
}

/* Adds the file's rows to those of all. Returns 0 or -ENOMEM. */
static int join_list(struct memory_rows *all, const struct memory_list *list)
{
	struct memory_row none = { 0 };
	size_t i;

	for (i = 0; i < list->cnt; i++) {
		while (cnt_of(&all->rows) <= list->rows[i].key) {
			none.key = (uint32_t)cnt_of(&all->rows);
			if (buf_add(&all->rows, &none, sizeof(none)))
				return -ENOMEM;
		}
		join_rows(row_at(&all->rows, list->rows[i].key), &list->rows[i]);
	}
	return 0;
}

int memory_rows_add(struct memory_rows *all, const struct memory_source *source,
		    const struct memory_scope *scope, struct mlyze_stats *stats,
		    struct memory_list *list)
{
	uint64_t start = mlyze_start_us(source->file), from, to = scope->to_us;
	struct mlyze_stats_args args = { .from_us = scope->from_us, .to_us = to,
					 .row_of = row_of, .changed = on_change, .ctx = all };
	uint64_t *moments;
	size_t cnt;
	int err;

	memset(stats, 0, sizeof(*stats));
	memset(list, 0, sizeof(*list));
	from = scope->from_us > start ? scope->from_us : start;
	to = to && to <= source->notes->end_us ? to - 1 : source->notes->end_us;
	moments = memory_moments(source->notes, from, to, &cnt);
	all->series = moments ? memory_series_new(moments, cnt, scope->intervals) : NULL;
	all->file = source->file;
	all->errors = NULL;
	all->list.len = 0;
	id_map_clear(&all->local);
	id_map_clear(&all->of_stack);
	memory_keys_begin(all->keys, source);
	err = all->series ? mlyze_stats_collect(source->file, &args, stats) : -ENOMEM;
	if (!err)
		err = memory_errors_read(source->file, source->notes, from, to, row_of, all,
					 &all->errors);
	if (!err) {
		memory_series_end(all->series);
		if (!scope->to_us)
			take_fates(all, source->notes, list);
		err = make_list(all, stats, scope->from_us <= start, list);
	}
	if (!err)
		err = join_list(all, list);
	memory_series_free(all->series);
	memory_errors_free(all->errors);
	free(moments);
	return err;
}

void memory_list_free(struct memory_list *list)
{
	free(list->rows);
	memset(list, 0, sizeof(*list));
}

struct memory_row *memory_rows_list(const struct memory_rows *all, size_t *cnt)
{
	size_t i;
	struct memory_row *rows = calloc(cnt_of(&all->rows) + 1, sizeof(*rows));

	*cnt = 0;
	for (i = 0; rows && i < cnt_of(&all->rows); i++) {
		const struct memory_row *row = row_at(&all->rows, i);

		/* A key whose allocations were all before the range has none. */
		if (row->sums.count || row->sums.live_count || row->sums.before)
			rows[(*cnt)++] = *row;
	}
	return rows;
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int by_sort(const struct memory_row *x, const struct memory_row *y, enum mem_sort sort)
{
	switch (sort) {
	case MEM_SORT_LIVE:
		return COMPARE(y->held, x->held);
	case MEM_SORT_ALLOCATED:
		return COMPARE(y->sums.allocated, x->sums.allocated);
	case MEM_SORT_GROWING:
		return COMPARE(y->growth, x->growth);
	case MEM_SORT_PEAK:
		return COMPARE(y->sums.peak, x->sums.peak);
	case MEM_SORT_COUNT:
		return COMPARE(y->sums.count, x->sums.count);
	}
	return 0;
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct memory_row *x = a, *y = b;
	int diff = by_sort(x, y, *(enum mem_sort *)ctx);

	if (diff)
		return diff;
	if (x->sums.allocated != y->sums.allocated)
		return COMPARE(y->sums.allocated, x->sums.allocated);
	return COMPARE(x->key, y->key);
}

size_t memory_rows_sort(struct memory_row *rows, size_t cnt, enum mem_sort sort, bool leaks)
{
	size_t i, left = 0;

	for (i = 0; i < cnt; i++)
		if (!leaks || rows[i].leaks)
			rows[left++] = rows[i];
	qsort_r(rows, left, sizeof(*rows), compare_rows, &sort);
	return left;
}

/* Fewer pages say too little. */
#define PAGES_LEAST 4
#define LARGE_REUSE 0.3

double memory_reused_share(const struct memory_contents *c)
{
	double all = (double)c->own + (double)c->reused + (double)c->unused;

	return c->pages >= PAGES_LEAST && all > 0 ? 1 - (double)c->own / all : -1;
}

bool memory_reuse_is_large(const struct memory_contents *total)
{
	return memory_reused_share(total) > LARGE_REUSE;
}

struct memory_key memory_rows_key(const struct memory_rows *all, uint32_t key)
{
	return memory_keys_get(all->keys, key);
}

const struct profile_tables *memory_rows_tables(const struct memory_rows *all)
{
	return memory_keys_tables(all->keys);
}
