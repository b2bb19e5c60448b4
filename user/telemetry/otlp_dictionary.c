// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* otlp_dictionary.c - see otlp_dictionary.h. */
#include "telemetry/otlp_dictionary.h"

#include <errno.h>
#include <string.h>

#include "model/native_frame.h"

static void note_error(struct otlp_dictionary *d, int err)
{
	if (err && !d->err)
		d->err = err;
}

/* Looks up an id. Returns false if it is new: then the caller adds the entry. */
static bool find_index(struct otlp_dictionary *d, enum otlp_table t, uint32_t id, uint32_t *index)
{
	if (id_map_get(&d->ids[t], id, index))
		return true;
	*index = d->cnt[t]++;
	note_error(d, id_map_set(&d->ids[t], id, *index));
	return false;
}

uint32_t otlp_text(struct otlp_dictionary *d, const char *text)
{
	uint32_t i;

	for (i = 0; i < d->text_cnt; i++) {
		if (!strcmp(d->texts[i].text, text))
			return d->texts[i].index;
	}
	if (i == OTLP_TEXTS_MAX) {
		note_error(d, -EINVAL);
		return 0;
	}
	d->texts[d->text_cnt].text = text;
	d->texts[d->text_cnt++].index = d->cnt[TABLE_STRING];
	proto_entry(&d->tables[TABLE_STRING], TABLE_STRING, text, strlen(text));
	return d->cnt[TABLE_STRING]++;
}

static uint32_t string_index(struct otlp_dictionary *d, uint32_t id)
{
	const struct string_ref *s = &d->names->strings[id];
	uint32_t index;

	if (!find_index(d, TABLE_STRING, id, &index))
		proto_entry(&d->tables[TABLE_STRING], TABLE_STRING, s->data, s->len);
	return index;
}

/* The source of machine code is identified by its frame's file, which has the library, too. */
static uint32_t source_index(struct otlp_dictionary *d, uint32_t file)
{
	struct string_ref source = native_source(&d->names->strings[file]);
	uint32_t index;

	if (!source.len)
		return 0;
	if (!find_index(d, TABLE_STRING, file, &index))
		proto_entry(&d->tables[TABLE_STRING], TABLE_STRING, source.data, source.len);
	return index;
}

static uint32_t file_index(struct otlp_dictionary *d, const struct frame *f)
{
	if (f->kind == FRAME_PYTHON)
		return string_index(d, f->file);
	return f->kind == FRAME_NATIVE ? source_index(d, f->file) : 0;
}

/* first_line: 0 if unknown. */
static void put_function(struct otlp_dictionary *d, uint32_t name, uint32_t file,
			 int32_t first_line)
{
	struct proto_out *o = &d->tables[TABLE_FUNCTION];
	size_t begin = proto_begin(o, TABLE_FUNCTION);

	proto_number(o, FUNCTION_NAME, name);
	proto_number(o, FUNCTION_FILENAME, file);
	proto_number(o, FUNCTION_START_LINE, (uint64_t)first_line);
	proto_end(o, begin);
}

static uint32_t function_index(struct otlp_dictionary *d, uint32_t id)
{
	const struct frame *f = &d->functions->frames[id];
	uint32_t index;

	if (!find_index(d, TABLE_FUNCTION, id, &index))
		put_function(d, string_index(d, f->func), file_index(d, f), f->first_line);
	return index;
}

/* Attributes 1, 2 and 3 of each request are the types of frames; a pseudo-frame has none. */
static const char *const frame_types[] = {
	[FRAME_PYTHON] = "cpython", [FRAME_NATIVE] = "native", [FRAME_KERNEL] = "kernel",
};

/* A text attribute; otlp_attribute() and put_frame_types() assign its index. */
static void put_attribute(struct otlp_dictionary *d, uint32_t key, const char *text)
{
	struct proto_out *o = &d->tables[TABLE_ATTRIBUTE];
	size_t begin = proto_begin(o, TABLE_ATTRIBUTE), value;

	proto_number(o, ATTRIBUTE_KEY, key);
	value = proto_begin(o, ATTRIBUTE_VALUE);
	proto_entry(o, ANY_VALUE_STRING, text, strlen(text));
	proto_end(o, value);
	proto_end(o, begin);
}

static void put_frame_types(struct otlp_dictionary *d)
{
	uint32_t key = otlp_text(d, "profile.frame.type"), i;

	for (i = 0; i < ARRAY_SIZE(frame_types); i++, d->cnt[TABLE_ATTRIBUTE]++)
		put_attribute(d, key, frame_types[i]);
}

/* A library is a mapping; its addresses are unknown. */
static void put_mapping(struct otlp_dictionary *d, const struct native_library *l)
{
	const struct string_ref file = l->path.len ? l->path : l->name;
	uint32_t name = d->cnt[TABLE_STRING]++, attribute = 0;
	struct proto_out *o = &d->tables[TABLE_MAPPING];
	char build_id[NATIVE_BUILD_ID_TEXT];
	size_t begin;

	proto_entry(&d->tables[TABLE_STRING], TABLE_STRING, file.data, file.len);
	if (l->build_id_bytes) {
		put_attribute(d, otlp_text(d, "process.executable.build_id.gnu"),
			      native_build_id_text(l, build_id));
		attribute = d->cnt[TABLE_ATTRIBUTE]++;
	}
	begin = proto_begin(o, TABLE_MAPPING);
	proto_number(o, MAPPING_FILENAME, name);
	if (attribute)
		proto_packed_number(o, MAPPING_ATTRIBUTES, attribute);
	proto_end(o, begin);
}

static uint32_t mapping_index(struct otlp_dictionary *d, const struct frame *f)
{
	uint32_t library = native_index_of(&d->libraries, f), index;

	if (!library)
		return 0;
	if (!find_index(d, TABLE_MAPPING, library, &index))
		put_mapping(d, &d->libraries.list[library - 1]);
	return index;
}

static void put_location(struct otlp_dictionary *d, uint32_t function, int32_t line,
			 uint32_t mapping, uint32_t attribute)
{
	struct proto_out *o = &d->tables[TABLE_LOCATION];
	size_t begin = proto_begin(o, TABLE_LOCATION), lines;

	proto_number(o, LOCATION_MAPPING, mapping);
	lines = proto_begin(o, LOCATION_LINES);
	proto_number(o, LINE_FUNCTION, function);
	proto_number(o, LINE_LINE, line > 0 ? (uint64_t)line : 0);
	proto_end(o, lines);
	if (attribute)
		proto_packed_number(o, LOCATION_ATTRIBUTES, attribute);
	proto_end(o, begin);
}

static uint32_t location_index(struct otlp_dictionary *d, uint32_t id)
{
	const struct frame *f = &d->names->frames[id];
	uint32_t index;

	if (!find_index(d, TABLE_LOCATION, id, &index))
		put_location(d, function_index(d, d->function_of[id]), f->line, mapping_index(d, f),
			     f->kind < ARRAY_SIZE(frame_types) ? f->kind + 1U : 0);
	return index;
}

static void put_stack(struct otlp_dictionary *d, const uint32_t *locations, uint32_t n)
{
	struct proto_out *o = &d->tables[TABLE_STACK];
	size_t begin = proto_begin(o, TABLE_STACK);

	proto_packed(o, STACK_LOCATIONS, locations, n);
	proto_end(o, begin);
}

uint32_t otlp_stack(struct otlp_dictionary *d, uint32_t id)
{
	uint32_t ids[EVENT_MAX_FRAMES], index, i, n;

	if (find_index(d, TABLE_STACK, id, &index))
		return index;
	n = window_stack(d->w, id, ids);
	for (i = 0; i < n; i++)
		ids[i] = location_index(d, ids[i]);
	put_stack(d, ids, n);
	return index;
}

/* The window's names may have no room for this one. */
uint32_t otlp_other_stack(struct otlp_dictionary *d)
{
	uint32_t location;

	if (d->other_stack)
		return d->other_stack;
	put_function(d, otlp_text(d, WINDOW_OTHER_NAME), 0, 0);
	location = d->cnt[TABLE_LOCATION]++;
	put_location(d, d->cnt[TABLE_FUNCTION]++, LINE_NONE, 0, 0);
	put_stack(d, &location, 1);
	d->other_stack = d->cnt[TABLE_STACK]++;
	return d->other_stack;
}

uint32_t otlp_link(struct otlp_dictionary *d, uint32_t link)
{
	struct proto_out *o = &d->tables[TABLE_LINK];
	const struct otlp_link *l;
	uint32_t index;
	size_t begin;

	if (!link || link > d->link_cnt)
		return 0;
	if (d->links[link - 1].same_as)
		link = d->links[link - 1].same_as;
	if (find_index(d, TABLE_LINK, link, &index))
		return index;
	l = &d->links[link - 1];
	begin = proto_begin(o, TABLE_LINK);
	proto_bytes(o, LINK_TRACE_ID, l->trace_id, sizeof(l->trace_id));
	proto_bytes(o, LINK_SPAN_ID, l->span_id, sizeof(l->span_id));
	proto_end(o, begin);
	return index;
}

/* The key's string: attributes with the same key share it. */
static uint32_t key_index(struct otlp_dictionary *d, uint32_t number)
{
	const char *key = d->attributes[number].key;
	uint32_t same = d->attributes[number].same_key, first = same ? same - 1 : number, index;

	if (id_map_get(&d->keys, first, &index))
		return index;
	index = d->cnt[TABLE_STRING]++;
	note_error(d, id_map_set(&d->keys, first, index));
	proto_entry(&d->tables[TABLE_STRING], TABLE_STRING, key, strlen(key));
	return index;
}

static uint32_t otlp_attribute(struct otlp_dictionary *d, uint32_t number)
{
	uint32_t index, key;

	if (id_map_get(&d->ids[TABLE_ATTRIBUTE], number, &index))
		return index;
	key = key_index(d, number);
	find_index(d, TABLE_ATTRIBUTE, number, &index);
	put_attribute(d, key, d->attributes[number].text);
	return index;
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
			indices[cnt++] = otlp_attribute(d, l->attributes[i]);
	return cnt;
}

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
	note_error(d, native_index_make(&d->libraries, d->names));
	otlp_dictionary_begin(d);
}

void otlp_dictionary_free(struct otlp_dictionary *d)
{
	uint32_t t;

	native_index_free(&d->libraries);
	for (t = TABLE_MAPPING; t < TABLE_CNT; t++) {
		proto_out_free(&d->tables[t]);
		id_map_free(&d->ids[t]);
	}
	id_map_free(&d->keys);
}

void otlp_dictionary_begin(struct otlp_dictionary *d)
{
	uint32_t t;

	for (t = TABLE_MAPPING; t < TABLE_CNT; t++) {
		id_map_clear(&d->ids[t]);
		d->tables[t].b.len = 0;
		proto_entry(&d->tables[t], t, NULL, 0);
		d->cnt[t] = 1;
	}
	id_map_clear(&d->keys);
	d->text_cnt = 0;
	d->other_stack = 0;
	put_frame_types(d);
}

struct otlp_dictionary_mark otlp_dictionary_mark(const struct otlp_dictionary *d)
{
	struct otlp_dictionary_mark m;
	uint32_t t;

	for (t = TABLE_MAPPING; t < TABLE_CNT; t++)
		m.bytes[t] = d->tables[t].b.len;
	return m;
}

void otlp_dictionary_cut(struct otlp_dictionary *d, const struct otlp_dictionary_mark *m)
{
	uint32_t t;

	for (t = TABLE_MAPPING; t < TABLE_CNT; t++)
		d->tables[t].b.len = m->bytes[t];
}

size_t otlp_dictionary_bytes(const struct otlp_dictionary *d)
{
	size_t bytes = 0;
	uint32_t t;

	for (t = TABLE_MAPPING; t < TABLE_CNT; t++)
		bytes += d->tables[t].b.len;
	return bytes;
}

void otlp_dictionary_put(const struct otlp_dictionary *d, struct proto_out *out)
{
	size_t begin = proto_begin(out, REQUEST_DICTIONARY);
	uint32_t t;

	for (t = TABLE_MAPPING; t < TABLE_CNT; t++)
		proto_append(out, &d->tables[t]);
	proto_end(out, begin);
}

int otlp_dictionary_error(const struct otlp_dictionary *d)
{
	uint32_t t;

	for (t = TABLE_MAPPING; t < TABLE_CNT; t++) {
		if (d->tables[t].err)
			return d->tables[t].err;
	}
	return d->err;
}
