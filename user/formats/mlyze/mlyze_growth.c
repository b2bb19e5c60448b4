// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* mlyze_growth.c - see mlyze_growth.h. */
#include "formats/mlyze/mlyze_growth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/mlyze/type_growth.h"

/* The bytes that a census has of a type. */
static uint64_t bytes_in(const struct mlyze_types *types, const struct mlyze_census *c,
			 const char *name)
{
	const struct mlyze_type_row *rows = mlyze_census_types(types, c);
	uint32_t i;

	for (i = 0; i < c->cnt; i++)
		if (!strcmp(rows[i].name, name))
			return rows[i].bytes;
	return TYPE_SERIES_UNKNOWN;
}

/* Of all from the first to the last, these two and at most TYPE_SERIES_COUNTS together. */
static const struct mlyze_census *census_at(const struct type_growths *g,
					    const struct type_series *s, uint32_t i)
{
	size_t last = (size_t)(g->to - g->from);

	return g->from + last * i / (s->cnt - 1);
}

static void add_line(const struct mlyze_types *types, const struct type_growths *g,
		     const struct type_growth *one, struct type_series *s)
{
	struct type_line *l = &s->types[s->type_cnt++];
	uint32_t i;

	_Static_assert(sizeof(l->name) == HEAP_NAME_BYTES, "room for any name");
	snprintf(l->name, sizeof(l->name), "%s", one->name);
	l->objects[0] = one->was_known ? one->objects - (uint64_t)one->more_objects :
					 TYPE_SERIES_UNKNOWN;
	l->objects[1] = one->objects;
	l->more_objects = one->more_objects;
	l->more_bytes = one->more_bytes;
	l->objects_error = one->objects_error;
	l->bytes_error = one->bytes_error;
	l->bytes[0] = one->was_known ? one->bytes - (uint64_t)one->more_bytes :
				       TYPE_SERIES_UNKNOWN;
	for (i = 1; i < s->cnt; i++)
		l->bytes[i] = bytes_in(types, census_at(g, s, i), one->name);
}

static void add_lines(const struct mlyze_types *types, const struct type_growths *g,
		      struct type_series *s)
{
	const struct type_growth *own, *most;
	size_t i;

	type_growths_leaders(g, &own, &most);
	if (own)
		add_line(types, g, own, s);
	for (i = 0; i < g->cnt; i++) {
		const struct type_growth *one = &g->list[i];

		if (!type_has_grown(one))
			continue;
		s->grown++;
		if (one != own && s->type_cnt < TYPE_SERIES_TYPES)
			add_line(types, g, one, s);
	}
}

int mlyze_growth_read(const struct mlyze_notes *notes, uint64_t start_us, uint64_t until_us,
		      struct type_series **out)
{
	struct type_growths g;
	struct type_series *s = NULL;
	int err = type_growths_read(notes, 0, until_us, &g);
	uint32_t i;

	*out = NULL;
	if (err || !g.to)
		goto out;
	s = calloc(1, sizeof(*s));
	if (!s) {
		err = -ENOMEM;
		goto out;
	}
	s->cnt = g.to - g.from < TYPE_SERIES_COUNTS ? (uint32_t)(g.to - g.from) + 1 :
						      TYPE_SERIES_COUNTS;
	for (i = 0; i < s->cnt; i++) {
		uint64_t time_us = census_at(&g, s, i)->time_us;

		s->times_us[i] = time_us > start_us ? time_us - start_us : 0;
	}
	add_lines(&notes->types, &g, s);
	*out = s;
out:
	type_growths_free(&g);
	return err;
}
