// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* census_marks.c - see census_marks.h. */
#include "recording/census_marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/time.h"
#include "heap/own_types.h"

/* Of a type in the first census. Types whose names have the same hash are one here. */
struct census_first {
	uint64_t hash, bytes;
};

/* A row, and how much it differs from the first census. */
struct changed {
	uint32_t row;
	uint64_t change;
};

static uint64_t name_hash(const struct heap_row *r)
{
	return hash_bytes(r->name, strnlen(r->name, sizeof(r->name)));
}

static int compare_first(const void *a, const void *b)
{
	const struct census_first *x = a, *y = b;

	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* Most first; by row where equal, so that the same census gives the same marks. */
static int compare_changed(const void *a, const void *b)
{
	const struct changed *x = a, *y = b;

	if (x->change != y->change)
		return x->change > y->change ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* ---- which types ---- */

static int keep_first(struct census_marks *m, const struct heap_census *c, uint32_t cnt)
{
	struct census_first first;
	uint32_t i;

	m->any = true;
	for (i = 0; i < cnt; i++) {
		first = (struct census_first){ name_hash(&c->rows[i]), c->rows[i].bytes };
		if (buf_add(&m->first, &first, sizeof(first)))
			return -ENOMEM;
		m->least = cnt < c->row_cnt ? first.bytes : 0;
	}
	if (cnt)
		qsort(m->first.data, cnt, sizeof(first), compare_first);
	return 0;
}

static uint64_t change_of(const struct census_marks *m, const struct heap_row *r)
{
	const struct census_first key = { .hash = name_hash(r) }, *found = NULL;

	if (m->first.len)
		found = bsearch(&key, m->first.data, m->first.len / sizeof(key), sizeof(key),
				compare_first);
	if (!found)
		return r->bytes > m->least ? r->bytes - m->least : 0;
	return r->bytes > found->bytes ? r->bytes - found->bytes : found->bytes - r->bytes;
}

/* Chooses the first `most` rows of the list that are not chosen yet; own: own types only. */
static void choose(const struct heap_census *c, const struct changed *list, uint32_t cnt,
		   bool own, uint32_t most, bool *chosen)
{
	uint32_t i;

	for (i = 0; i < cnt && most && list[i].change; i++) {
		if (chosen[list[i].row] ||
		    (own && !heap_type_is_own(c->rows[list[i].row].name)))
			continue;
		chosen[list[i].row] = true;
		most--;
	}
}

static int choose_later(const struct census_marks *m, const struct heap_census *c, uint32_t cnt,
			bool *chosen)
{
	struct changed *list = calloc((size_t)cnt + 1, sizeof(*list));
	uint32_t i;

	if (!list)
		return -ENOMEM;
	for (i = 0; i < cnt; i++) {
		list[i] = (struct changed){ i, change_of(m, &c->rows[i]) };
		chosen[i] = i < CENSUS_LARGE_TYPES;
	}
	qsort(list, cnt, sizeof(*list), compare_changed);
	choose(c, list, cnt, false, CENSUS_CHANGED_TYPES, chosen);
	choose(c, list, cnt, true, CENSUS_CHANGED_OWN, chosen);
	free(list);
	return 0;
}

static int choose_types(struct census_marks *m, const struct heap_census *c, uint32_t cnt,
			bool *chosen)
{
	uint32_t i;

	if (m->any)
		return choose_later(m, c, cnt, chosen);
	for (i = 0; i < cnt && i < CENSUS_FIRST_TYPES; i++)
		chosen[i] = true;
	return keep_first(m, c, i);
}

/* ---- marks ---- */

/* Errors of several types may have the same cause, so they add up. */
static void add_row(struct heap_row *sum, const struct heap_row *r)
{
	sum->objects = add_capped(sum->objects, r->objects);
	sum->objects_error = add_capped(sum->objects_error, r->objects_error);
	sum->bytes = add_capped(sum->bytes, r->bytes);
	sum->bytes_error = add_capped(sum->bytes_error, r->bytes_error);
}

static void census_mark(const struct heap_census *c, uint32_t types, struct mlyze_mark_text *t)
{
	mlyze_mark_begin(t, MARK_CENSUS);
	mlyze_mark_put_number(t, "took_us", c->took_ns / NS_PER_US);
	mlyze_mark_put_number(t, "rss_anon", c->rss);
	mlyze_mark_put_number(t, "pools", c->pool_bytes);
	mlyze_mark_put_number(t, "limited", c->limited);
	mlyze_mark_put_number(t, "types", types);
}

static void type_mark(const struct heap_row *r, struct mlyze_mark_text *t)
{
	mlyze_mark_begin(t, MARK_TYPE);
	if (r->name[0])
		mlyze_mark_put(t, "name", r->name);
	mlyze_mark_put_number(t, "objects", r->objects);
	mlyze_mark_put_number(t, "objects_error", r->objects_error);
	mlyze_mark_put_number(t, "bytes", r->bytes);
	mlyze_mark_put_number(t, "bytes_error", r->bytes_error);
}

static int put_marks(const struct heap_census *c, uint32_t cnt, const bool *chosen,
		     int (*put)(void *ctx, const struct mlyze_mark_text *t), void *ctx)
{
	struct heap_row rest = c->other;
	struct mlyze_mark_text t;
	uint32_t i, types = 1;
	int err;

	rest.name[0] = '\0';
	for (i = 0; i < cnt; i++) {
		types += chosen[i];
		if (!chosen[i])
			add_row(&rest, &c->rows[i]);
	}
	census_mark(c, types, &t);
	err = put(ctx, &t);
	for (i = 0; !err && i < cnt; i++) {
		if (!chosen[i])
			continue;
		type_mark(&c->rows[i], &t);
		err = put(ctx, &t);
	}
	type_mark(&rest, &t);
	return err ? err : put(ctx, &t);
}

int census_marks_put(struct census_marks *m, const struct heap_census *c,
		     int (*put)(void *ctx, const struct mlyze_mark_text *t), void *ctx)
{
	uint32_t cnt = c->row_cnt < HEAP_TYPES_MAX ? c->row_cnt : HEAP_TYPES_MAX;
	bool *chosen = calloc((size_t)cnt + 1, sizeof(*chosen));
	int err = chosen ? choose_types(m, c, cnt, chosen) : -ENOMEM;

	if (!err)
		err = put_marks(c, cnt, chosen, put, ctx);
	free(chosen);
	return err;
}

void census_marks_free(struct census_marks *m)
{
	buf_free(&m->first);
	m->any = false;
}
