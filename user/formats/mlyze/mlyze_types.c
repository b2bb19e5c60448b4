// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* mlyze_types.c - see mlyze_types.h. */
#include "formats/mlyze/mlyze_types.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static size_t census_cnt(const struct mlyze_types *t)
{
	return t->censuses.len / sizeof(struct mlyze_census);
}

static size_t row_cnt(const struct mlyze_types *t)
{
	return t->rows.len / sizeof(struct mlyze_type_row);
}

static struct mlyze_census *censuses(const struct mlyze_types *t)
{
	return (struct mlyze_census *)(void *)t->censuses.data;
}

static struct mlyze_type_row *all_rows(const struct mlyze_types *t)
{
	return (struct mlyze_type_row *)(void *)t->rows.data;
}

/* Removes every second census except the first. */
static void thin_out(struct mlyze_types *t)
{
	struct mlyze_census *c = censuses(t);
	struct mlyze_type_row *rows = all_rows(t);
	size_t i, kept = 0, at = 0, cnt = census_cnt(t);

	for (i = 0; i < cnt; i += 2) {
		struct mlyze_census one = c[i];

		memmove(&rows[at], &rows[one.first], one.cnt * sizeof(*rows));
		one.first = (uint32_t)at;
		at += one.cnt;
		c[kept++] = one;
	}
	t->censuses.len = kept * sizeof(*c);
	t->rows.len = at * sizeof(*rows);
}

/* One whose types are not all there is dropped. */
static void drop_open(struct mlyze_types *t)
{
	if (t->wanted)
		t->rows.len = t->open.first * sizeof(struct mlyze_type_row);
	t->wanted = 0;
}

int mlyze_types_census(struct mlyze_types *t, const struct mlyze_mark *m, uint64_t time_us)
{
	uint64_t wanted = mlyze_mark_number(m, "types", 0);

	drop_open(t);
	if (!wanted || wanted > MLYZE_TYPES_MAX)
		return 0;
	while (census_cnt(t) >= MLYZE_CENSUSES_MAX || row_cnt(t) + wanted > MLYZE_TYPE_ROWS_MAX)
		thin_out(t);
	t->wanted = (uint32_t)wanted;
	t->open = (struct mlyze_census){
		.time_us = time_us, .took_us = mlyze_mark_number(m, "took_us", 0),
		.rss_anon = mlyze_mark_number(m, "rss_anon", 0),
		.pool_bytes = mlyze_mark_number(m, "pools", 0),
		.limited = mlyze_mark_number(m, "limited", 0), .first = (uint32_t)row_cnt(t),
	};
	return 0;
}

static uint64_t number_of(const struct mlyze_mark *m, const char *key)
{
	uint64_t v = mlyze_mark_number(m, key, 0);

	return v < INT64_MAX ? v : INT64_MAX;
}

int mlyze_types_type(struct mlyze_types *t, const struct mlyze_mark *m)
{
	const char *name = mlyze_mark_value(m, "name");
	struct mlyze_type_row row = {
		.objects = number_of(m, "objects"), .objects_error = number_of(m, "objects_error"),
		.bytes = number_of(m, "bytes"), .bytes_error = number_of(m, "bytes_error"),
	};

	if (!t->wanted)
		return 0;
	snprintf(row.name, sizeof(row.name), "%s", name ? name : "");
	if (buf_add(&t->rows, &row, sizeof(row)))
		return -ENOMEM;
	if (++t->open.cnt < t->wanted)
		return 0;
	t->wanted = 0;
	return buf_add(&t->censuses, &t->open, sizeof(t->open));
}

void mlyze_types_free(struct mlyze_types *t)
{
	buf_free(&t->censuses);
	buf_free(&t->rows);
	memset(t, 0, sizeof(*t));
}

const struct mlyze_census *mlyze_types_censuses(const struct mlyze_types *t, size_t *cnt)
{
	*cnt = census_cnt(t);
	return censuses(t);
}

const struct mlyze_type_row *mlyze_census_types(const struct mlyze_types *t,
					    const struct mlyze_census *c)
{
	return all_rows(t) + c->first;
}
