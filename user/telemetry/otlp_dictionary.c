// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* otlp_dictionary.c - see otlp_dictionary.h. */
#include "telemetry/otlp_dictionary.h"

#include <errno.h>
#include <string.h>

#include "base/hash_secret.h"
#include "formats/qualify.h"
#include "model/native_frame.h"

static void note_error(struct otlp_dictionary *d, int err)
{
	if (err && !d->err)
		d->err = err;
}

/* ---- entries: encoded at the end of their table, and taken back if one is there already ---- */

/* A place in a table's bytes. */
struct place {
	uint32_t begin, end;
};

/* key: the place after the last entry. */
static bool entry_equal(const void *table, uint32_t number, const void *key)
{
	const struct otlp_entries *t = table;
	const uint32_t *begins = (const uint32_t *)(const void *)t->begins.data;
	const struct place *new = key;
	uint32_t end = number + 1 < t->cnt ? begins[number + 1] : new->begin;

	return end - begins[number] == new->end - new->begin &&
	       !memcmp(t->out.b.data + begins[number], t->out.b.data + new->begin,
		       new->end - new->begin);
}

/* Keeps the entry that was written at the end of its table. Returns its index. */
static uint32_t keep_new(struct otlp_dictionary *d, enum otlp_table table, size_t begin)
{
	struct otlp_entries *t = &d->tables[table];
	uint32_t at = (uint32_t)begin;

	note_error(d, buf_add(&t->begins, &at, sizeof(at)));
	return t->cnt++;
}

/* The same, if there is no equal one: then it is taken back, and that one's index returned. */
static uint32_t keep_entry(struct otlp_dictionary *d, enum otlp_table table, size_t begin)
{
	struct otlp_entries *t = &d->tables[table];
	const struct place new = { (uint32_t)begin, (uint32_t)t->out.b.len };
	struct hash_index_slot *slot;
	uint32_t hash;

	if (t->out.err || hash_index_reserve(&t->index)) {
		note_error(d, -ENOMEM);
		return 0;
	}
	hash = (uint32_t)hash_secret(d->seed, t->out.b.data + begin, new.end - new.begin);
	slot = hash_index_slot_of(&t->index, hash, entry_equal, t, &new);
	if (slot->number_1) {
		t->out.b.len = begin;
		return slot->number_1 - 1;
	}
	hash_index_fill(&t->index, slot, hash, t->cnt);
	return keep_new(d, table, begin);
}

/* Nobody else's function has a first line: nothing equals what is made of this frame. */
static bool is_unique(const struct frame *f)
{
	return f->kind == FRAME_PYTHON && f->first_line > 0;
}

/* An id of the window has this index from now on. */
static uint32_t keep_id(struct otlp_dictionary *d, enum otlp_table table, uint32_t id,
			uint32_t index)
{
	note_error(d, id_map_set(&d->tables[table].ids, id, index));
	return index;
}

/* ---- strings and functions ---- */

static uint32_t put_string(struct otlp_dictionary *d, const char *text, size_t len)
{
	struct proto_out *o = &d->tables[TABLE_STRING].out;
	size_t begin = o->b.len;

	proto_entry(o, TABLE_STRING, text, len);
	return keep_entry(d, TABLE_STRING, begin);
}

uint32_t otlp_text(struct otlp_dictionary *d, const char *text)
{
	return put_string(d, text, strlen(text));
}

static uint32_t string_index(struct otlp_dictionary *d, uint32_t id)
{
	const struct string_ref *s = &d->names->strings[id];
	uint32_t index;

	if (id_map_get(&d->tables[TABLE_STRING].ids, id, &index))
		return index;
	return keep_id(d, TABLE_STRING, id, put_string(d, s->data, s->len));
}

/* The source of machine code is identified by its frame's file, which has the library, too. */
static uint32_t source_index(struct otlp_dictionary *d, uint32_t file)
{
	struct string_ref source = native_source(&d->names->strings[file]);
	uint32_t index;

	if (!source.len)
		return 0;
	if (id_map_get(&d->tables[TABLE_STRING].ids, file, &index))
		return index;
	return keep_id(d, TABLE_STRING, file, put_string(d, source.data, source.len));
}

/*
 * The library of a frame, if it can be a mapping: without a build id it must not be one
 * (specification/profiles/mappings.md). NULL: none.
 */
static const struct native_library *mapped_library(const struct otlp_dictionary *d,
						   const struct frame *f)
{
	uint32_t library = native_index_of(&d->libraries, f);

	if (!library || !d->libraries.list[library - 1].build_id_bytes)
		return NULL;
	return &d->libraries.list[library - 1];
}

/* A library that is no mapping is its functions' file, as in our pprof. */
static uint32_t file_index(struct otlp_dictionary *d, const struct frame *f)
{
	if (f->kind == FRAME_PYTHON)
		return string_index(d, f->file);
	if (f->kind != FRAME_NATIVE)
		return 0;
	if (!native_source(&d->names->strings[f->file]).len &&
	    native_library(&d->names->strings[f->file]).len && !mapped_library(d, f))
		return string_index(d, f->file);
	return source_index(d, f->file);
}

/* first_line: 0 if unknown. Returns where the entry begins. */
static size_t put_function(struct otlp_dictionary *d, uint32_t name, uint32_t system_name,
			   uint32_t file, int32_t first_line)
{
	struct proto_out *o = &d->tables[TABLE_FUNCTION].out;
	size_t begin = o->b.len, message = proto_begin(o, TABLE_FUNCTION);

	proto_number(o, FUNCTION_NAME, name);
	proto_number(o, FUNCTION_SYSTEM_NAME, system_name);
	proto_number(o, FUNCTION_FILENAME, file);
	proto_number(o, FUNCTION_START_LINE, (uint64_t)first_line);
	proto_end(o, message);
	return begin;
}

/* As in pprof (pprof_encode.c): servers that add up by name would join each module's <module>. */
static uint32_t qualified_index(struct otlp_dictionary *d, const struct frame *f)
{
	const struct string_ref *strings = d->names->strings;

	note_error(d, qualify_name(&d->name, strings[f->file], strings[f->func]));
	if (d->name.len == strings[f->func].len)
		return string_index(d, f->func);
	return put_string(d, (const char *)d->name.data, d->name.len);
}

static uint32_t function_index(struct otlp_dictionary *d, uint32_t id)
{
	const struct frame *f = &d->functions->frames[id];
	uint32_t index, own, name;
	size_t begin;

	if (id_map_get(&d->tables[TABLE_FUNCTION].ids, id, &index))
		return index;
	own = string_index(d, f->func);
	name = f->kind == FRAME_PYTHON ? qualified_index(d, f) : own;
	begin = put_function(d, name, name == own ? 0 : own, file_index(d, f), f->first_line);
	return keep_id(d, TABLE_FUNCTION, id, is_unique(f) ? keep_new(d, TABLE_FUNCTION, begin) :
							     keep_entry(d, TABLE_FUNCTION, begin));
}

/* ---- attributes ---- */

static uint32_t put_attribute(struct otlp_dictionary *d, const char *key, const char *text)
{
	struct proto_out *o = &d->tables[TABLE_ATTRIBUTE].out;
	uint32_t key_index = otlp_text(d, key);
	size_t begin = o->b.len, message = proto_begin(o, TABLE_ATTRIBUTE), value;

	proto_number(o, ATTRIBUTE_KEY, key_index);
	value = proto_begin(o, ATTRIBUTE_VALUE);
	proto_entry(o, ANY_VALUE_STRING, text, strlen(text));
	proto_end(o, value);
	proto_end(o, message);
	return keep_entry(d, TABLE_ATTRIBUTE, begin);
}

/* The attribute for the type of a frame; a pseudo-frame has none. */
static uint32_t frame_type(struct otlp_dictionary *d, enum frame_kind kind)
{
	static const char *const types[] = {
		[FRAME_PYTHON] = "cpython", [FRAME_NATIVE] = "native", [FRAME_KERNEL] = "kernel",
	};

	if (kind >= ARRAY_SIZE(types))
		return 0;
	if (!d->frame_types[kind])
		d->frame_types[kind] = put_attribute(d, "profile.frame.type", types[kind]);
	return d->frame_types[kind];
}

/* ---- mappings, locations, stacks ---- */

/*
 * A library is a mapping that begins at address 0, so addresses are those of the file. Where
 * processes have mapped it is unknown.
 */
static uint32_t put_mapping(struct otlp_dictionary *d, const struct native_library *l)
{
	const struct string_ref file = l->path.len ? l->path : l->name;
	uint32_t name = put_string(d, file.data, file.len), attribute;
	struct proto_out *o = &d->tables[TABLE_MAPPING].out;
	char build_id[NATIVE_BUILD_ID_TEXT];
	size_t begin = o->b.len, message;

	attribute = put_attribute(d, "process.executable.build_id.gnu",
				  native_build_id_text(l, build_id));
	message = proto_begin(o, TABLE_MAPPING);
	proto_number(o, MAPPING_FILENAME, name);
	proto_packed_number(o, MAPPING_ATTRIBUTES, attribute);
	proto_end(o, message);
	return keep_entry(d, TABLE_MAPPING, begin);
}

static uint32_t mapping_index(struct otlp_dictionary *d, const struct native_library *l)
{
	uint32_t number, index;

	if (!l)
		return 0;
	number = (uint32_t)(l - d->libraries.list);
	if (id_map_get(&d->tables[TABLE_MAPPING].ids, number, &index))
		return index;
	return keep_id(d, TABLE_MAPPING, number, put_mapping(d, l));
}

/* The address of a function without a symbol, whose name is "libfoo.so+0x12ab"; 0: it has one. */
static uint64_t address_of(const struct native_library *l, const struct string_ref *name)
{
	static const char digits[] = "0123456789abcdef";
	size_t at = l->name.len;
	uint64_t address = 0;
	const char *digit;

	if (name->len < at + 3 || memcmp(name->data, l->name.data, at) ||
	    memcmp(name->data + at, "+0x", 3))
		return 0;
	for (at += 3; at < name->len; at++) {
		digit = memchr(digits, name->data[at], 16);
		if (!digit || address >> 60)
			return 0;
		address = address << 4 | (uint64_t)(digit - digits);
	}
	return address;
}

/* Returns where the entry begins. */
static size_t put_location(struct otlp_dictionary *d, uint32_t function, int32_t line,
			   uint32_t mapping, uint64_t address, uint32_t attribute)
{
	struct proto_out *o = &d->tables[TABLE_LOCATION].out;
	size_t begin = o->b.len, message = proto_begin(o, TABLE_LOCATION), lines;

	proto_number(o, LOCATION_MAPPING, mapping);
	proto_number(o, LOCATION_ADDRESS, address);
	lines = proto_begin(o, LOCATION_LINES);
	proto_number(o, LINE_FUNCTION, function);
	proto_number(o, LINE_LINE, line > 0 ? (uint64_t)line : 0);
	proto_end(o, lines);
	if (attribute)
		proto_packed_number(o, LOCATION_ATTRIBUTES, attribute);
	proto_end(o, message);
	return begin;
}

static uint32_t location_index(struct otlp_dictionary *d, uint32_t id)
{
	const struct frame *f = &d->names->frames[id];
	const struct native_library *library = mapped_library(d, f);
	uint32_t index;
	size_t begin;

	if (id_map_get(&d->tables[TABLE_LOCATION].ids, id, &index))
		return index;
	index = function_index(d, d->function_of[id]);
	begin = put_location(d, index, f->line, mapping_index(d, library),
			     library ? address_of(library, &d->names->strings[f->func]) : 0,
			     frame_type(d, f->kind));
	return keep_id(d, TABLE_LOCATION, id, is_unique(f) && f->line > 0 ?
		       keep_new(d, TABLE_LOCATION, begin) : keep_entry(d, TABLE_LOCATION, begin));
}

/* Stacks differ if their locations do: that is not checked. */
static uint32_t put_stack(struct otlp_dictionary *d, const uint32_t *locations, uint32_t n)
{
	struct proto_out *o = &d->tables[TABLE_STACK].out;
	size_t message = proto_begin(o, TABLE_STACK);

	proto_packed(o, STACK_LOCATIONS, locations, n);
	proto_end(o, message);
	return d->tables[TABLE_STACK].cnt++;
}

uint32_t otlp_stack(struct otlp_dictionary *d, uint32_t id)
{
	uint32_t ids[EVENT_MAX_FRAMES], index, i, n;

	if (id_map_get(&d->tables[TABLE_STACK].ids, id, &index))
		return index;
	n = window_stack(d->w, id, ids);
	for (i = 0; i < n; i++)
		ids[i] = location_index(d, ids[i]);
	return keep_id(d, TABLE_STACK, id, put_stack(d, ids, n));
}

/* The window's names may have no room for this one. */
uint32_t otlp_other_stack(struct otlp_dictionary *d)
{
	uint32_t location;
	size_t begin;

	if (d->other_stack)
		return d->other_stack;
	begin = put_function(d, otlp_text(d, WINDOW_OTHER_NAME), 0, 0, 0);
	begin = put_location(d, keep_entry(d, TABLE_FUNCTION, begin), LINE_NONE, 0, 0, 0);
	location = keep_entry(d, TABLE_LOCATION, begin);
	d->other_stack = put_stack(d, &location, 1);
	return d->other_stack;
}

/* ---- links ---- */

static void put_link(struct proto_out *o, const struct otlp_link *l)
{
	size_t message = proto_begin(o, TABLE_LINK);

	proto_bytes(o, LINK_TRACE_ID, l->trace_id, sizeof(l->trace_id));
	proto_bytes(o, LINK_SPAN_ID, l->span_id, sizeof(l->span_id));
	proto_end(o, message);
}

static const struct otlp_link no_link;

/* Returns true if there are only attributes. */
static bool has_no_ids(const struct otlp_link *l)
{
	return !memcmp(l->trace_id, no_link.trace_id, sizeof(l->trace_id)) &&
	       !memcmp(l->span_id, no_link.span_id, sizeof(l->span_id));
}

uint32_t otlp_link(struct otlp_dictionary *d, uint32_t link)
{
	uint32_t index;

	if (!link || link > d->link_cnt || has_no_ids(&d->links[link - 1]))
		return 0;
	if (d->links[link - 1].same_as)
		link = d->links[link - 1].same_as;
	if (id_map_get(&d->tables[TABLE_LINK].ids, link, &index))
		return index;
	put_link(&d->tables[TABLE_LINK].out, &d->links[link - 1]);
	return keep_id(d, TABLE_LINK, link, d->tables[TABLE_LINK].cnt++);
}

static uint32_t attribute_index(struct otlp_dictionary *d, uint32_t number)
{
	const struct otlp_sample_attribute *a = &d->attributes[number];
	uint32_t index;

	if (id_map_get(&d->tables[TABLE_ATTRIBUTE].ids, number, &index))
		return index;
	return keep_id(d, TABLE_ATTRIBUTE, number, put_attribute(d, a->key, a->text));
}

uint32_t otlp_link_attributes(struct otlp_dictionary *d, uint32_t link, uint32_t *indices)
{
	const struct otlp_link *l;
	uint32_t i, cnt = 0;

	if (!link || link > d->link_cnt)
		return 0;
	l = &d->links[link - 1];
	for (i = 0; i < l->attribute_cnt && cnt < OTLP_LINK_ATTRIBUTES_MAX; i++)
		if (l->attributes[i] < d->attribute_cnt)
			indices[cnt++] = attribute_index(d, l->attributes[i]);
	return cnt;
}

/* ---- the whole ---- */

void otlp_dictionary_init(struct otlp_dictionary *d, const struct window *w,
			  const struct otlp_args *args)
{
	d->w = w;
	d->links = args->links;
	d->link_cnt = args->link_cnt;
	d->attributes = args->sample_attributes;
	d->attribute_cnt = args->sample_attribute_cnt;
	d->names = window_names_tables(window_names(w));
	d->functions = window_names_functions(window_names(w), &d->function_of);
	d->seed = hash_secret_seed();
	note_error(d, native_index_make(&d->libraries, d->names));
	otlp_dictionary_begin(d);
}

void otlp_dictionary_free(struct otlp_dictionary *d)
{
	uint32_t t;

	native_index_free(&d->libraries);
	buf_free(&d->name);
	for (t = TABLE_MAPPING; t < TABLE_CNT; t++) {
		proto_out_free(&d->tables[t].out);
		buf_free(&d->tables[t].begins);
		hash_index_free(&d->tables[t].index);
		id_map_free(&d->tables[t].ids);
	}
}

void otlp_put_zero(struct proto_out *o, enum otlp_table table)
{
	if (table == TABLE_LINK)
		put_link(o, &no_link);
	else
		proto_entry(o, table, NULL, 0);
}

/* An entry that equals the zero value gets its index: none. */
static void begin_table(struct otlp_dictionary *d, enum otlp_table table)
{
	struct otlp_entries *t = &d->tables[table];

	id_map_clear(&t->ids);
	hash_slots_clear(&t->index.table, &hash_index_kind);
	t->out.b.len = t->begins.len = 0;
	t->cnt = 0;
	otlp_put_zero(&t->out, table);
	keep_entry(d, table, 0);
}

void otlp_dictionary_begin(struct otlp_dictionary *d)
{
	uint32_t t;

	for (t = TABLE_MAPPING; t < TABLE_CNT; t++)
		begin_table(d, t);
	memset(d->frame_types, 0, sizeof(d->frame_types));
	d->other_stack = 0;
}

struct otlp_dictionary_mark otlp_dictionary_mark(const struct otlp_dictionary *d)
{
	struct otlp_dictionary_mark m;
	uint32_t t;

	for (t = TABLE_MAPPING; t < TABLE_CNT; t++)
		m.bytes[t] = d->tables[t].out.b.len;
	return m;
}

void otlp_dictionary_cut(struct otlp_dictionary *d, const struct otlp_dictionary_mark *m)
{
	uint32_t t;

	for (t = TABLE_MAPPING; t < TABLE_CNT; t++)
		d->tables[t].out.b.len = m->bytes[t];
}

size_t otlp_dictionary_bytes(const struct otlp_dictionary *d)
{
	size_t bytes = 0;
	uint32_t t;

	for (t = TABLE_MAPPING; t < TABLE_CNT; t++)
		bytes += d->tables[t].out.b.len;
	return bytes;
}

void otlp_dictionary_put(const struct otlp_dictionary *d, struct proto_out *out)
{
	size_t begin = proto_begin(out, REQUEST_DICTIONARY);
	uint32_t t;

	for (t = TABLE_MAPPING; t < TABLE_CNT; t++)
		proto_append(out, &d->tables[t].out);
	proto_end(out, begin);
}

int otlp_dictionary_error(const struct otlp_dictionary *d)
{
	uint32_t t;

	for (t = TABLE_MAPPING; t < TABLE_CNT; t++) {
		if (d->tables[t].out.err)
			return d->tables[t].out.err;
	}
	return d->err;
}
