// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * parquet_rows.c - see parquet_rows.h. The strings of the stacks come first, then the texts; the
 * series of rows with STATUS_HELD come after all others.
 */
#include "formats/parquet/parquet_rows.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/util.h"
#include "model/stack_frame.h"

#define BATCH_ROWS 65536
#define ESCAPED_MAX 4		/* bytes of a byte in escape_text() */
#define DAY_NS 86400000000000ull

struct row {
	uint32_t series;	/* with the held ones */
	uint32_t rank;		/* of its service and day */
	uint32_t stack;
};

struct output {
	const struct parquet_rows *r;
	struct writer *w;
	uint32_t series_cnt, string_cnt;	/* of the stacks */
	struct row *rows;
};

static void put(struct output *o, const void *data, size_t len)
{
	writer_put(o->w, data, len);
}

static void put32(struct output *o, int32_t v)
{
	put(o, &v, sizeof(v));
}

static void put64(struct output *o, uint64_t v)
{
	int64_t capped = v < INT64_MAX ? (int64_t)v : INT64_MAX;

	put(o, &capped, sizeof(capped));
}

static void put_unknown64(struct output *o)
{
	const int64_t unknown = -1;

	put(o, &unknown, sizeof(unknown));
}

/* ---- tables ---- */

/* Appends the strings of a table as printable UTF-8, and the end of each. */
static int add_strings(const struct profile_tables *t, struct buf *bytes, struct buf *ends)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < t->string_cnt; i++) {
		const struct string_ref *s = &t->strings[i];
		size_t room = (size_t)s->len * ESCAPED_MAX + 1;
		int32_t end;

		err = buf_reserve(bytes, room);
		if (err)
			break;
		escape_text(s->data, s->len, (char *)bytes->data + bytes->len, room);
		bytes->len += strlen((char *)bytes->data + bytes->len);
		end = (int32_t)bytes->len;
		err = bytes->len > INT32_MAX ? -EOVERFLOW : buf_add(ends, &end, sizeof(end));
	}
	return err;
}

static int put_strings(struct output *o)
{
	const struct profile_tables *texts = intern_tables(o->r->texts);
	struct buf bytes = { 0 }, ends = { 0 };
	int err = add_strings(stacks_tables(o->r->stacks), &bytes, &ends);

	if (!err)
		err = add_strings(texts, &bytes, &ends);
	if (!err) {
		put64(o, o->string_cnt + (uint64_t)texts->string_cnt);
		put32(o, 0);
		put(o, ends.data, ends.len);
		put(o, bytes.data, bytes.len);
	}
	buf_free(&bytes);
	buf_free(&ends);
	return err;
}

static void put_frames(struct output *o)
{
	const struct profile_tables *t = stacks_tables(o->r->stacks);
	uint32_t i;

	put64(o, t->frame_cnt);
	for (i = 0; i < t->frame_cnt; i++)
		put32(o, (int32_t)t->frames[i].func);
	for (i = 0; i < t->frame_cnt; i++)
		put32(o, (int32_t)t->frames[i].file);
	for (i = 0; i < t->frame_cnt; i++)
		put32(o, o->r->lines && t->frames[i].line > 0 ? t->frames[i].line : -1);
}

/* Returns the number of the series' text in the strings; -1: unknown. */
static int32_t text_of(const struct output *o, uint32_t series, uint32_t which)
{
	const struct parquet_series *s = &o->r->series[series % o->series_cnt];
	uint32_t text = s->text[which];

	if (which == SERIES_TYPE && series >= o->series_cnt && s->held_type != TEXT_NONE)
		text = s->held_type;
	return text == TEXT_NONE ? -1 : (int32_t)(o->string_cnt + text);
}

static void put_series(struct output *o)
{
	const struct parquet_series *all = o->r->series;
	uint32_t i, k, cnt = o->series_cnt;

	put64(o, 2 * (uint64_t)cnt);
	for (i = 0; i < 2 * cnt; i++)
		if (all[i % cnt].begin_ns)
			put64(o, all[i % cnt].begin_ns / 1000);
		else
			put_unknown64(o);
	for (i = 0; i < 2 * cnt; i++)
		if (all[i % cnt].end_ns > all[i % cnt].begin_ns)
			put64(o, all[i % cnt].end_ns - all[i % cnt].begin_ns);
		else
			put_unknown64(o);
	for (k = 0; k < SERIES_TEXTS; k++)
		for (i = 0; i < 2 * cnt; i++)
			put32(o, text_of(o, i, k));
}

/* ---- rows ---- */

static uint64_t day_of(const struct parquet_series *s)
{
	return s->begin_ns / DAY_NS;
}

static int compare_series(const void *a, const void *b, void *ctx)
{
	const struct parquet_series *all = ctx;
	const struct parquet_series *x = &all[*(const uint32_t *)a];
	const struct parquet_series *y = &all[*(const uint32_t *)b];
	uint32_t i = x->text[SERVICE_NAME], j = y->text[SERVICE_NAME];

	if (i != j)
		return i < j ? -1 : 1;
	return (day_of(x) > day_of(y)) - (day_of(x) < day_of(y));
}

/* Returns the rank of each series by service and day, which the caller frees; NULL: no memory. */
static uint32_t *rank_series(const struct output *o)
{
	uint32_t *order = calloc(o->series_cnt, sizeof(*order));
	uint32_t *ranks = calloc(o->series_cnt, sizeof(*ranks));
	uint32_t i, rank = 0;

	for (i = 0; order && i < o->series_cnt; i++)
		order[i] = i;
	if (order && ranks) {
		qsort_r(order, o->series_cnt, sizeof(*order), compare_series,
			(void *)o->r->series);
		for (i = 0; i < o->series_cnt; i++) {
			if (i && compare_series(&order[i - 1], &order[i], (void *)o->r->series))
				rank++;
			ranks[order[i]] = rank;
		}
	}
	free(order);
	return ranks;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->series != y->series)
		return x->series < y->series ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

static int sort_rows(struct output *o)
{
	uint32_t i, cnt = stacks_cnt(o->r->stacks), *ranks = rank_series(o);

	o->rows = calloc(cnt, sizeof(*o->rows));
	if (!o->rows || !ranks) {
		free(ranks);
		return -ENOMEM;
	}
	for (i = 0; i < cnt; i++) {
		struct stack_view v = stacks_get(o->r->stacks, i);
		uint32_t process = stacks_group(o->r->stacks, v.group)->process;

		o->rows[i] = (struct row){ process + (v.status ? o->series_cnt : 0),
					   ranks[process], i };
	}
	free(ranks);
	qsort(o->rows, cnt, sizeof(*o->rows), compare_rows);
	return 0;
}

/* ---- batches ---- */

static const struct parquet_series *series_of(const struct output *o, const struct row *row)
{
	return &o->r->series[row->series % o->series_cnt];
}

static void put_value(struct output *o, const struct row *row)
{
	put64(o, mul_capped(stacks_get(o->r->stacks, row->stack).weight,
			    series_of(o, row)->factor));
}

static void put_samples(struct output *o, const struct row *row)
{
	if (series_of(o, row)->counted)
		put64(o, stacks_get(o->r->stacks, row->stack).weight);
	else
		put_unknown64(o);
}

/* The frame that `tachbpf report` gives the self to. */
static void put_leaf(struct output *o, const struct row *row)
{
	struct stack_view v = stacks_get(o->r->stacks, row->stack);
	const struct profile_tables *t = stacks_tables(o->r->stacks);

	put32(o, v.n ? (int32_t)v.labels[self_frame(t, v.labels, v.n, SELF_OF_PYTHON)] : -1);
}

static void put_batch(struct output *o, const struct row *rows, uint32_t cnt)
{
	uint64_t depth = 0;
	int32_t end = 0;
	uint32_t i;

	for (i = 0; i < cnt; i++)
		depth += stacks_get(o->r->stacks, rows[i].stack).n;
	put64(o, cnt);
	put64(o, depth);
	for (i = 0; i < cnt; i++)
		put32(o, (int32_t)rows[i].series);
	for (i = 0; i < cnt; i++)
		put_value(o, &rows[i]);
	for (i = 0; i < cnt; i++)
		put_samples(o, &rows[i]);
	for (i = 0; i < cnt; i++)
		put_leaf(o, &rows[i]);
	put32(o, 0);
	for (i = 0; i < cnt; i++)
		put32(o, end += (int32_t)stacks_get(o->r->stacks, rows[i].stack).n);
	for (i = 0; i < cnt; i++) {
		struct stack_view v = stacks_get(o->r->stacks, rows[i].stack);

		put(o, v.labels, v.n * sizeof(*v.labels));
	}
}

static void put_batches(struct output *o)
{
	uint32_t i, first = 0, cnt = stacks_cnt(o->r->stacks);

	for (i = 1; i <= cnt; i++) {
		bool ends = i == cnt || i - first == BATCH_ROWS ||
			    (o->r->apart && o->rows[i].rank != o->rows[first].rank);

		if (!ends)
			continue;
		put_batch(o, &o->rows[first], i - first);
		first = i;
	}
	put64(o, 0);
}

int parquet_rows_write(const struct parquet_rows *r, struct writer *w)
{
	struct output o = { .r = r, .w = w, .series_cnt = stacks_process_cnt(r->stacks),
			    .string_cnt = stacks_tables(r->stacks)->string_cnt };
	int err, write_err;

	writer_text(w, "tachrow1");
	err = put_strings(&o);
	if (!err && stacks_cnt(r->stacks))
		err = sort_rows(&o);
	if (!err) {
		put_frames(&o);
		put_series(&o);
		put_batches(&o);
	}
	free(o.rows);
	write_err = writer_flush(w);
	return err ? err : write_err;
}
