// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* otlp_tables.c - see otlp_tables.h. */
#include "formats/otlp/otlp_tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "formats/otlp/otlp_fields.h"
#include "formats/symbol_frame.h"
#include "model/event.h"

/* Of a location: frame ids; of a stack: indices of locations. */
struct range {
	size_t first;
	uint32_t cnt;
};

struct otlp_tables {
	struct intern *names;
	const struct reason *why;
	uint64_t at;		/* end of the field that is being read */
	bool found;
	struct otlp_strings strings;
	/* otlp_pair, symbol_mapping, symbol_function, range, range: by index */
	struct buf attributes, mappings, functions, locations, stacks;
	struct buf frames;	/* of locations */
	struct buf members;	/* of stacks */
	struct buf scratch;
};

/* Returns an entry of a table; NULL: there is none. */
static void *entry_at(const struct buf *table, uint64_t index, size_t size)
{
	return index < table->len / size ? table->data + index * size : NULL;
}

static int missing(const struct otlp_tables *t, const char *what, uint64_t index)
{
	return reason_at(t->why, t->at, "%s %" PRId64 ", which is missing", what, (int64_t)index);
}

static int bad_message(const struct otlp_tables *t, const char *what)
{
	return reason_at(t->why, t->at, "%s that is no message", what);
}

static int check_room(const struct otlp_tables *t, size_t cnt)
{
	if (cnt < SYMBOL_ENTRIES_MAX)
		return 0;
	return reason_at(t->why, t->at, "more than %u entries in a table", SYMBOL_ENTRIES_MAX);
}

static int add_entry(const struct otlp_tables *t, struct buf *table, const void *entry, size_t size)
{
	int err = check_room(t, table->len / size);

	if (err)
		return err;
	return buf_add(table, entry, size) ? reason_memory(t->why) : 0;
}

/* A frame of a location, or a location of a stack: there are at most as many as bytes. */
static int add_id(const struct otlp_tables *t, struct buf *ids, uint32_t id)
{
	return buf_add(ids, &id, sizeof(id)) ? reason_memory(t->why) : 0;
}

/* ---- strings and attributes ---- */

const struct otlp_strings *otlp_tables_strings(const struct otlp_tables *t)
{
	return &t->strings;
}

static struct string_ref string_at(const struct otlp_tables *t, uint64_t index)
{
	return otlp_string_at(&t->strings, index);
}

const struct otlp_pair *otlp_tables_attribute(const struct otlp_tables *t, uint64_t index)
{
	return entry_at(&t->attributes, index, sizeof(struct otlp_pair));
}

static int add_string(struct otlp_tables *t, const struct proto_field *f)
{
	int err = check_room(t, t->strings.refs.len / sizeof(struct string_ref));

	if (err)
		return err;
	if (f->wire != WIRE_BYTES)
		return reason_at(t->why, t->at, "a string that is a number");
	return otlp_strings_add(&t->strings, f) ? 0 : reason_memory(t->why);
}

static int add_attribute(struct otlp_tables *t, const struct proto_field *f)
{
	struct otlp_pair pair;

	if (!otlp_read_pair(&t->strings, f, ATTRIBUTE_KEY, &pair))
		return bad_message(t, "an attribute");
	return add_entry(t, &t->attributes, &pair, sizeof(pair));
}

/* ---- mappings and functions ---- */

/* Sets the build id if one of the attributes is it. */
static int take_build_id(struct otlp_tables *t, const struct proto_field *f,
			 struct symbol_mapping *m)
{
	struct proto_numbers n = proto_numbers_of(f);
	const struct otlp_pair *pair;
	uint64_t index;

	while (proto_numbers_next(&n, &index)) {
		pair = otlp_tables_attribute(t, index);
		if (!pair)
			return missing(t, "a mapping of attribute", index);
		if (ref_is(pair->key, "process.executable.build_id.gnu"))
			m->build_id = pair->text;
	}
	return n.in.bad ? bad_message(t, "a mapping's attribute") : 0;
}

static int add_mapping(struct otlp_tables *t, const struct proto_field *f)
{
	struct symbol_mapping m = { .file = { "", 0 }, .build_id = { "", 0 } };
	struct proto_in in = proto_inside(f);
	struct proto_field inner;
	int err = 0;

	while (!err && proto_next(&in, &inner)) {
		if (inner.number == MAPPING_FILENAME)
			m.file = string_at(t, inner.value);
		else if (inner.number == MAPPING_ATTRIBUTES)
			err = take_build_id(t, &inner, &m);
	}
	if (!err && in.bad)
		err = bad_message(t, "a mapping");
	return err ? err : add_entry(t, &t->mappings, &m, sizeof(m));
}

static int add_function(struct otlp_tables *t, const struct proto_field *f)
{
	struct string_ref name = { "", 0 }, system = { "", 0 };
	struct symbol_function function = { .file = { "", 0 } };
	struct proto_in in = proto_inside(f);
	struct proto_field inner;

	while (proto_next(&in, &inner)) {
		if (inner.number == FUNCTION_NAME)
			name = string_at(t, inner.value);
		else if (inner.number == FUNCTION_SYSTEM_NAME)
			system = string_at(t, inner.value);
		else if (inner.number == FUNCTION_FILENAME)
			function.file = string_at(t, inner.value);
		else if (inner.number == FUNCTION_START_LINE && inner.value <= INT32_MAX)
			function.first_line = (int32_t)inner.value;
	}
	if (in.bad)
		return bad_message(t, "a function");
	if (symbol_choose_name(&t->scratch, name, system, &function))
		return reason_memory(t->why);
	return add_entry(t, &t->functions, &function, sizeof(function));
}

/* ---- locations ---- */

/* What a location is besides its lines, which may precede it in the message. */
struct location_head {
	struct symbol_mapping *library;		/* NULL: none */
	uint64_t address;
};

static int read_location_head(struct otlp_tables *t, const struct proto_field *f,
			      struct location_head *h)
{
	struct proto_in in = proto_inside(f);
	struct proto_field inner;
	uint64_t mapping = 0;

	*h = (struct location_head){ .library = NULL };
	while (proto_next(&in, &inner)) {
		if (inner.number == LOCATION_MAPPING)
			mapping = inner.value;
		else if (inner.number == LOCATION_ADDRESS)
			h->address = inner.value;
	}
	if (in.bad)
		return bad_message(t, "a location");
	if (!mapping)
		return 0;
	h->library = entry_at(&t->mappings, mapping, sizeof(*h->library));
	return h->library ? 0 : missing(t, "a location of mapping", mapping);
}

/* Adds the frame of a line; of no function there is none. */
static int add_frame(struct otlp_tables *t, const struct proto_field *line,
		     const struct location_head *h, uint32_t *cnt)
{
	struct proto_in in = proto_inside(line);
	const struct symbol_function *function;
	uint64_t index = 0, number = 0;
	struct proto_field inner;
	uint32_t id;

	while (proto_next(&in, &inner)) {
		if (inner.number == LINE_FUNCTION)
			index = inner.value;
		else if (inner.number == LINE_LINE)
			number = inner.value;
	}
	if (in.bad)
		return bad_message(t, "a line");
	if (!index)
		return 0;
	function = entry_at(&t->functions, index, sizeof(*function));
	if (!function)
		return missing(t, "a location of function", index);
	if (symbol_intern(t->names, h->library, function, number, &id))
		return reason_memory(t->why);
	++*cnt;
	return add_id(t, &t->frames, id);
}

/* Entry 0 has no frame; another location without functions is its address. */
static int add_location(struct otlp_tables *t, const struct proto_field *f)
{
	struct range l = { .first = t->frames.len / sizeof(uint32_t) };
	struct proto_in in = proto_inside(f);
	struct proto_field inner;
	struct location_head h;
	uint32_t id;
	int err = read_location_head(t, f, &h);

	while (!err && l.cnt < SYMBOL_LOCATION_FRAMES_MAX && proto_next(&in, &inner)) {
		if (inner.number == LOCATION_LINES)
			err = add_frame(t, &inner, &h, &l.cnt);
	}
	if (!err && !l.cnt && t->locations.len) {
		if (symbol_intern_address(t->names, h.library, h.address, &id))
			return reason_memory(t->why);
		err = add_id(t, &t->frames, id);
		l.cnt = 1;
	}
	return err ? err : add_entry(t, &t->locations, &l, sizeof(l));
}

/* ---- stacks ---- */

/* Location 0 is none. Beyond an event's frames it only matters whether there are more. */
static int add_members(struct otlp_tables *t, const struct proto_field *f, struct range *stack)
{
	struct proto_numbers n = proto_numbers_of(f);
	uint64_t index;
	int err = 0;

	while (!err && stack->cnt <= EVENT_MAX_FRAMES && proto_numbers_next(&n, &index)) {
		if (!index)
			continue;
		if (!entry_at(&t->locations, index, sizeof(struct range)) || index > UINT32_MAX)
			return missing(t, "a stack of location", index);
		err = add_id(t, &t->members, (uint32_t)index);
		stack->cnt++;
	}
	return !err && n.in.bad ? bad_message(t, "a stack's location") : err;
}

static int add_stack(struct otlp_tables *t, const struct proto_field *f)
{
	struct range stack = { .first = t->members.len / sizeof(uint32_t) };
	struct proto_in in = proto_inside(f);
	struct proto_field inner;
	int err = 0;

	while (!err && proto_next(&in, &inner)) {
		if (inner.number == STACK_LOCATIONS)
			err = add_members(t, &inner, &stack);
	}
	if (!err && in.bad)
		err = bad_message(t, "a stack");
	return err ? err : add_entry(t, &t->stacks, &stack, sizeof(stack));
}

int otlp_tables_stack(const struct otlp_tables *t, uint64_t index, uint64_t at, struct buf *ids,
		      const struct reason *why)
{
	const struct range *stack = entry_at(&t->stacks, index, sizeof(*stack)), *location;
	const uint32_t *members = (const uint32_t *)(const void *)t->members.data;
	uint32_t i;

	ids->len = 0;
	if (!index)
		return 0;
	if (!stack)
		return reason_at(why, at, "a sample of stack %" PRId64 ", which is missing",
				 (int64_t)index);
	for (i = 0; i < stack->cnt && ids->len <= EVENT_MAX_FRAMES * sizeof(uint32_t); i++) {
		location = entry_at(&t->locations, members[stack->first + i], sizeof(*location));
		if (buf_add(ids, t->frames.data + location->first * sizeof(uint32_t),
			    location->cnt * sizeof(uint32_t)))
			return reason_memory(why);
	}
	return 0;
}

/* ---- the tables ---- */

/* Each needs those before it. */
static const struct {
	uint32_t table;
	int (*add)(struct otlp_tables *t, const struct proto_field *f);
} passes[] = {
	{ TABLE_STRING, add_string }, { TABLE_ATTRIBUTE, add_attribute },
	{ TABLE_MAPPING, add_mapping }, { TABLE_FUNCTION, add_function },
	{ TABLE_LOCATION, add_location }, { TABLE_STACK, add_stack },
};

/* One table of one dictionary. */
static int read_table(struct otlp_tables *t, const struct proto_field *dictionary, size_t pass,
		      const uint8_t *file)
{
	struct proto_in in = proto_inside(dictionary);
	struct proto_field f;
	int err = 0;

	t->found = true;
	while (!err && proto_next(&in, &f)) {
		t->at = (uint64_t)(in.p - file);
		if (f.number == passes[pass].table)
			err = passes[pass].add(t, &f);
	}
	return !err && in.bad ? bad_message(t, "a dictionary") : err;
}

static void clear(struct otlp_tables *t)
{
	t->found = false;
	t->strings.refs.len = t->attributes.len = t->mappings.len = t->functions.len = 0;
	t->locations.len = t->stacks.len = t->frames.len = t->members.len = 0;
}

int otlp_tables_read(struct otlp_tables *t, const struct otlp_message *m,
		     enum otlp_tables_part part, const uint8_t *file, const struct reason *why)
{
	size_t pass, cnt = part == OTLP_STRINGS ? 1 : ARRAY_SIZE(passes);
	struct proto_field f;
	int err = 0;

	clear(t);
	t->why = why;
	for (pass = 0; !err && pass < cnt; pass++) {
		struct proto_in in = { .p = m->data, .end = m->data + m->len };

		while (!err && proto_next(&in, &f)) {
			t->at = (uint64_t)(in.p - file);
			if (f.number == REQUEST_DICTIONARY)
				err = read_table(t, &f, pass, file);
		}
		if (!err && in.bad)
			err = reason_at(why, (uint64_t)(in.p - file), "no field of OTLP profiles");
	}
	t->why = NULL;
	return err;
}

bool otlp_tables_found(const struct otlp_tables *t)
{
	return t->found;
}

struct otlp_tables *otlp_tables_new(struct intern *names)
{
	struct otlp_tables *t = calloc(1, sizeof(*t));

	if (t)
		t->names = names;
	return t;
}

void otlp_tables_free(struct otlp_tables *t)
{
	if (!t)
		return;
	buf_free(&t->strings.refs);
	buf_free(&t->attributes);
	buf_free(&t->mappings);
	buf_free(&t->functions);
	buf_free(&t->locations);
	buf_free(&t->stacks);
	buf_free(&t->frames);
	buf_free(&t->members);
	buf_free(&t->scratch);
	free(t);
}
