// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* pprof_tables.c - see pprof_tables.h. */
#include "formats/pprof/pprof_tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_secret.h"
#include "base/u64map.h"
#include "formats/pprof/pprof_fields.h"
#include "formats/symbol_frame.h"

/* Finds the element with an id; ids are mostly 1, 2, 3 ... */
struct id_index {
	struct u64map map;	/* id -> number, from 1; empty: the id is the number */
	size_t cnt;
};

struct location {
	size_t first;		/* index of its first frame */
	uint32_t cnt;
};

struct pprof_tables {
	struct intern *names;
	const struct reason *why;
	uint64_t at;		/* end of the field that is being read */
	uint64_t seed;		/* so that a file cannot choose ids that collide */
	struct buf strings, mappings, functions, locations, frames;
	struct id_index mapping_ids, function_ids, location_ids;
	struct buf scratch;
};

/* ---- ids ---- */

static int put_id(struct pprof_tables *t, struct id_index *x, uint64_t id, size_t number)
{
	return u64map_put(&x->map, id ^ t->seed, (void *)(uintptr_t)number);
}

/* The next element has this id. 0 or -ENOMEM. */
static int add_id(struct pprof_tables *t, struct id_index *x, uint64_t id)
{
	size_t number = ++x->cnt, i;
	int err = 0;

	if (!x->map.cnt && id == number)
		return 0;
	if (!x->map.cnt) {
		for (i = 1; !err && i < number; i++)
			err = put_id(t, x, i, i);
	}
	return err ? err : put_id(t, x, id, number);
}

/* Returns the element's number, from 1; 0: there is none. */
static size_t find_id(const struct pprof_tables *t, const struct id_index *x, uint64_t id)
{
	if (x->map.cnt)
		return (uintptr_t)u64map_get(&x->map, id ^ t->seed);
	return id <= x->cnt ? (size_t)id : 0;
}

/* ---- strings ---- */

struct string_ref pprof_tables_string(const struct pprof_tables *t, uint64_t number)
{
	const struct string_ref *all = (const struct string_ref *)(const void *)t->strings.data;

	if (number >= t->strings.len / sizeof(*all))
		return (struct string_ref){ "", 0 };
	return all[number];
}

static int add_string(struct pprof_tables *t, const struct proto_field *f)
{
	size_t len = f->len < SYMBOL_TEXT_MAX ? f->len : SYMBOL_TEXT_MAX;
	struct string_ref s = { len ? (const char *)f->data : "", (uint32_t)len };

	return buf_add(&t->strings, &s, sizeof(s)) ? reason_memory(t->why) : 0;
}

/* ---- mappings and functions ---- */

static int bad_message(const struct pprof_tables *t, const char *what)
{
	return reason_at(t->why, t->at, "a %s that is no message", what);
}

static int add_mapping(struct pprof_tables *t, const struct proto_field *f)
{
	struct proto_in in = proto_inside(f);
	struct symbol_mapping m = { 0 };
	struct proto_field inner;
	uint64_t id = 0;

	while (proto_next(&in, &inner)) {
		if (inner.number == MAPPING_ID)
			id = inner.value;
		else if (inner.number == MAPPING_FILENAME)
			m.file = pprof_tables_string(t, inner.value);
		else if (inner.number == MAPPING_BUILD_ID)
			m.build_id = pprof_tables_string(t, inner.value);
	}
	if (in.bad)
		return bad_message(t, "mapping");
	if (add_id(t, &t->mapping_ids, id) || buf_add(&t->mappings, &m, sizeof(m)))
		return reason_memory(t->why);
	return 0;
}

static int add_function(struct pprof_tables *t, const struct proto_field *f)
{
	struct string_ref name = { "", 0 }, system = { "", 0 };
	struct proto_in in = proto_inside(f);
	struct symbol_function function = { 0 };
	struct proto_field inner;
	uint64_t id = 0;

	while (proto_next(&in, &inner)) {
		if (inner.number == FUNCTION_ID)
			id = inner.value;
		else if (inner.number == FUNCTION_NAME)
			name = pprof_tables_string(t, inner.value);
		else if (inner.number == FUNCTION_SYSTEM_NAME)
			system = pprof_tables_string(t, inner.value);
		else if (inner.number == FUNCTION_FILENAME)
			function.file = pprof_tables_string(t, inner.value);
		else if (inner.number == FUNCTION_START_LINE && inner.value <= INT32_MAX)
			function.first_line = (int32_t)inner.value;
	}
	if (in.bad)
		return bad_message(t, "function");
	if (symbol_choose_name(&t->scratch, name, system, &function) ||
	    add_id(t, &t->function_ids, id) ||
	    buf_add(&t->functions, &function, sizeof(function)))
		return reason_memory(t->why);
	return 0;
}

/* ---- frames ---- */

/* Only the first mapping is the program. */
static struct symbol_mapping *library_of(struct pprof_tables *t, uint64_t mapping)
{
	size_t number = find_id(t, &t->mapping_ids, mapping);

	if (number <= 1)
		return NULL;
	return (struct symbol_mapping *)(void *)t->mappings.data + number - 1;
}

static int add_frame(struct pprof_tables *t, const struct proto_field *line, uint64_t mapping)
{
	struct proto_in in = proto_inside(line);
	const struct symbol_function *f;
	struct proto_field inner;
	uint64_t function = 0, number = 0;
	size_t found;
	uint32_t id;

	while (proto_next(&in, &inner)) {
		if (inner.number == LINE_FUNCTION)
			function = inner.value;
		else if (inner.number == LINE_LINE)
			number = inner.value;
	}
	if (in.bad)
		return bad_message(t, "line");
	found = find_id(t, &t->function_ids, function);
	if (!found)
		return reason_at(t->why, t->at, "a location of function %" PRIu64
				 ", which is missing", function);
	f = (const struct symbol_function *)(const void *)t->functions.data + found - 1;
	if (symbol_intern(t->names, library_of(t, mapping), f, number, &id) ||
	    buf_add(&t->frames, &id, sizeof(id)))
		return reason_memory(t->why);
	return 0;
}

/* A location without functions is an address. */
static int add_address(struct pprof_tables *t, uint64_t mapping, uint64_t address)
{
	uint32_t id;

	if (symbol_intern_address(t->names, library_of(t, mapping), address, &id) ||
	    buf_add(&t->frames, &id, sizeof(id)))
		return reason_memory(t->why);
	return 0;
}

/* The mapping may follow the lines in the message. */
static bool read_head(const struct proto_field *f, uint64_t *id, uint64_t *mapping,
		      uint64_t *address)
{
	struct proto_in in = proto_inside(f);
	struct proto_field inner;

	*id = *mapping = *address = 0;
	while (proto_next(&in, &inner)) {
		if (inner.number == LOCATION_ID)
			*id = inner.value;
		else if (inner.number == LOCATION_MAPPING)
			*mapping = inner.value;
		else if (inner.number == LOCATION_ADDRESS)
			*address = inner.value;
	}
	return !in.bad;
}

static int add_location(struct pprof_tables *t, const struct proto_field *f)
{
	struct location l = { .first = t->frames.len / sizeof(uint32_t) };
	struct proto_in in = proto_inside(f);
	uint64_t id, mapping, address;
	struct proto_field inner;
	int err = 0;

	if (!read_head(f, &id, &mapping, &address))
		return bad_message(t, "location");
	while (!err && l.cnt < SYMBOL_LOCATION_FRAMES_MAX && proto_next(&in, &inner)) {
		if (inner.number != LOCATION_LINE)
			continue;
		err = add_frame(t, &inner, mapping);
		l.cnt++;
	}
	if (!err && !l.cnt) {
		err = add_address(t, mapping, address);
		l.cnt++;
	}
	if (!err && (add_id(t, &t->location_ids, id) || buf_add(&t->locations, &l, sizeof(l))))
		err = reason_memory(t->why);
	return err;
}

const uint32_t *pprof_tables_location(const struct pprof_tables *t, uint64_t id, uint32_t *cnt)
{
	size_t found = find_id(t, &t->location_ids, id);
	const struct location *l = (const struct location *)(const void *)t->locations.data;

	if (!found)
		return NULL;
	*cnt = l[found - 1].cnt;
	return (const uint32_t *)(const void *)t->frames.data + l[found - 1].first;
}

/* ---- the tables ---- */

/* Each needs those before it. */
static const struct {
	uint32_t field;
	int (*add)(struct pprof_tables *t, const struct proto_field *f);
} passes[] = {
	{ PROFILE_STRING, add_string }, { PROFILE_MAPPING, add_mapping },
	{ PROFILE_FUNCTION, add_function }, { PROFILE_LOCATION, add_location },
};

static int add_entry(struct pprof_tables *t, const struct proto_field *f, size_t pass,
		     uint32_t *cnt)
{
	if ((*cnt)++ == SYMBOL_ENTRIES_MAX)
		return reason_at(t->why, t->at, "more than %u entries in a table",
				 SYMBOL_ENTRIES_MAX);
	return passes[pass].add(t, f);
}

static int read_tables(struct pprof_tables *t, const uint8_t *data, size_t len)
{
	struct proto_field f;
	uint32_t cnt;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < ARRAY_SIZE(passes); i++) {
		struct proto_in in = { .p = data, .end = data + len };

		cnt = 0;
		while (!err && proto_next(&in, &f)) {
			t->at = (uint64_t)(in.p - data);
			if (f.number == passes[i].field)
				err = add_entry(t, &f, i, &cnt);
		}
		if (!err && in.bad)
			err = reason_at(t->why, (uint64_t)(in.p - data), "no field of a profile");
	}
	return err;
}

struct pprof_tables *pprof_tables_read(const uint8_t *data, size_t len, struct intern *names,
				       const struct reason *why)
{
	struct pprof_tables *t = calloc(1, sizeof(*t));
	int err;

	if (!t) {
		reason_memory(why);
		errno = ENOMEM;
		return NULL;
	}
	t->names = names;
	t->why = why;
	t->seed = hash_secret_seed();
	err = read_tables(t, data, len);
	t->why = NULL;
	if (!err)
		return t;
	pprof_tables_free(t);
	errno = -err;
	return NULL;
}

void pprof_tables_free(struct pprof_tables *t)
{
	if (!t)
		return;
	buf_free(&t->strings);
	buf_free(&t->mappings);
	buf_free(&t->functions);
	buf_free(&t->locations);
	buf_free(&t->frames);
	buf_free(&t->scratch);
	u64map_free(&t->mapping_ids.map);
	u64map_free(&t->function_ids.map);
	u64map_free(&t->location_ids.map);
	free(t);
}
