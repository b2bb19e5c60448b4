// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* type_growth.c - see type_growth.h. */
#include "formats/mlyze/type_growth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "heap/own_types.h"

/* The program's own type is named first unless another one grows by this many times its objects. */
#define OTHERS_FIRST 1000
#define OBJECT_BYTES_MIN 16

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * The most that a type can have which the census does not name: the rest of all types. The first
 * census names those with the most bytes, so no other one has more than the least of them.
 */
static struct mlyze_type_row most_of_unnamed(const struct mlyze_types *t,
					     const struct mlyze_census *c, bool largest_named)
{
	const struct mlyze_type_row *rows = mlyze_census_types(t, c);
	struct mlyze_type_row most = { .bytes = INT64_MAX, .objects = INT64_MAX };
	uint64_t least = INT64_MAX;
	uint32_t i;

	for (i = 0; i < c->cnt; i++) {
		if (!rows[i].name[0])
			most = rows[i];
		else
			least = lesser(least, rows[i].bytes);
	}
	if (!largest_named)
		return most;
	most.bytes = lesser(most.bytes, least);
	most.objects = lesser(most.objects, most.bytes / OBJECT_BYTES_MIN);
	return most;
}

static struct type_growth growth_of(const struct mlyze_type_row *before,
				    const struct mlyze_type_row *now,
				    const struct mlyze_type_row *unnamed)
{
	struct type_growth g = {
		.name = now->name, .objects = now->objects, .bytes = now->bytes,
		.more_objects = (int64_t)now->objects, .more_bytes = (int64_t)now->bytes,
		.objects_error = now->objects_error, .bytes_error = now->bytes_error,
		.was_known = before || (!unnamed->objects && !unnamed->bytes),
	};

	if (before) {
		g.more_objects -= (int64_t)before->objects;
		g.more_bytes -= (int64_t)before->bytes;
	}
	g.objects_error = add_capped(g.objects_error, before ? before->objects_error :
							       unnamed->objects);
	g.bytes_error = add_capped(g.bytes_error, before ? before->bytes_error : unnamed->bytes);
	return g;
}

/* Most bytes more first; the names only make the order the same each time. */
static int compare(const void *a, const void *b)
{
	const struct type_growth *x = a, *y = b;

	if (x->more_bytes != y->more_bytes)
		return x->more_bytes < y->more_bytes ? 1 : -1;
	return strcmp(x->name, y->name);
}

static int compare_names(const void *a, const void *b)
{
	const struct mlyze_type_row *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* The named rows of a census, by name; to be freed. NULL: no memory. */
static const struct mlyze_type_row **rows_by_name(const struct mlyze_types *t,
						  const struct mlyze_census *c)
{
	const struct mlyze_type_row **list = calloc((size_t)c->cnt + 1, sizeof(*list));
	uint32_t i;

	for (i = 0; list && i < c->cnt; i++)
		list[i] = &mlyze_census_types(t, c)[i];
	if (list)
		qsort(list, c->cnt, sizeof(*list), compare_names);
	return list;
}

static int fill_list(const struct mlyze_types *t, bool from_first, struct type_growths *out)
{
	const struct mlyze_type_row *rows = mlyze_census_types(t, out->to), *key, **before;
	struct mlyze_type_row unnamed = most_of_unnamed(t, out->from, from_first);
	uint32_t i;

	before = rows_by_name(t, out->from);
	out->list = calloc((size_t)out->to->cnt + 1, sizeof(*out->list));
	if (!before || !out->list) {
		free(before);
		return -ENOMEM;
	}
	for (i = 0; i < out->to->cnt; i++) {
		const struct mlyze_type_row **found;

		key = &rows[i];
		if (!key->name[0])
			continue;
		found = bsearch(&key, before, out->from->cnt, sizeof(*before), compare_names);
		out->list[out->cnt++] = growth_of(found ? *found : NULL, key, &unnamed);
	}
	qsort(out->list, out->cnt, sizeof(*out->list), compare);
	free(before);
	return 0;
}

int type_growths_read(const struct mlyze_notes *notes, uint64_t from_us, uint64_t to_us,
		      struct type_growths *out)
{
	size_t cnt, i;
	const struct mlyze_census *list = mlyze_types_censuses(&notes->types, &cnt);

	*out = (struct type_growths){ .cnt = 0 };
	for (i = 0; i < cnt; i++) {
		if (list[i].time_us < from_us || list[i].time_us > to_us)
			continue;
		if (!out->from)
			out->from = &list[i];
		out->to = &list[i];
	}
	if (!out->from || out->from == out->to) {
		out->from = out->to = NULL;
		return 0;
	}
	return fill_list(&notes->types, out->from == list, out);
}

void type_growths_free(struct type_growths *g)
{
	free(g->list);
	*g = (struct type_growths){ .cnt = 0 };
}

double type_growths_seconds(const struct type_growths *g)
{
	return g->to ? (double)(g->to->time_us - g->from->time_us) / 1e6 : 0;
}

static bool exceeds(int64_t n, uint64_t error)
{
	return n > 0 && (uint64_t)n > error;
}

bool type_has_grown(const struct type_growth *g)
{
	return exceeds(g->more_objects, g->objects_error) || exceeds(g->more_bytes, g->bytes_error);
}

void type_growths_leaders(const struct type_growths *g, const struct type_growth **own,
			  const struct type_growth **most)
{
	size_t i;

	*own = *most = NULL;
	for (i = 0; i < g->cnt; i++) {
		const struct type_growth *one = &g->list[i];

		if (!type_has_grown(one))
			continue;
		if (!*most)
			*most = one;
		if (heap_type_is_own(one->name) &&
		    (!*own || one->more_objects > (*own)->more_objects))
			*own = one;
	}
	if (*own && (*most)->more_objects / OTHERS_FIRST > (*own)->more_objects)
		*own = NULL;
}
