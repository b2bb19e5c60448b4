// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * pprof_encode.c - see pprof_encode.h.
 *
 * Functions, locations and mappings are numbered from 1 in order of first use, strings from 0,
 * which is "".
 */
#include "formats/pprof/pprof_encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/proto.h"
#include "formats/pprof/pprof_fields.h"
#include "formats/qualify.h"
#include "model/id_map.h"
#include "model/intern.h"
#include "model/native_frame.h"
#include "model/native_library.h"

/* The mapping of everything that belongs to no library. */
#define PROGRAM_MAPPING 1

struct pprof_encoder {
	struct pprof_source source;
	struct native_index libraries;	/* of the source's tables */
	struct intern *texts;		/* not in the tables: keys of labels, units */
	struct buf name, printable;	/* scratch */
	int err;
	/* Of the profile: */
	struct proto_out out, strings;
	struct id_map string_ids, text_ids, function_ids, location_ids, mapping_ids;
	uint32_t string_cnt, function_cnt, location_cnt, mapping_cnt;
	size_t type_cnt;
};

struct pprof_encoder *pprof_encoder_new(const struct pprof_source *source)
{
	struct pprof_encoder *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->source = *source;
	e->texts = intern_new();
	if (e->texts && !native_index_make(&e->libraries, source->tables))
		return e;
	pprof_encoder_free(e);
	errno = ENOMEM;
	return NULL;
}

void pprof_encoder_free(struct pprof_encoder *e)
{
	if (!e)
		return;
	native_index_free(&e->libraries);
	intern_free(e->texts);
	buf_free(&e->name);
	buf_free(&e->printable);
	proto_out_free(&e->out);
	proto_out_free(&e->strings);
	id_map_free(&e->string_ids);
	id_map_free(&e->text_ids);
	id_map_free(&e->function_ids);
	id_map_free(&e->location_ids);
	id_map_free(&e->mapping_ids);
	free(e);
}

static void note_error(struct pprof_encoder *e, int err)
{
	if (err && !e->err)
		e->err = err;
}

int pprof_error(const struct pprof_encoder *e)
{
	return e->err ? e->err : e->out.err ? e->out.err : e->strings.err;
}

/* ---- strings ---- */

/* Appends a string to the table. Protobuf requires valid UTF-8, and readers print it. */
static uint32_t put_string(struct pprof_encoder *e, struct string_ref s, bool printable)
{
	size_t room = (size_t)s.len * 4 + 1;	/* of escape_text() */

	if (!printable && !buf_reserve(&e->printable, room))
		s = string_of(escape_text(s.data, s.len, (char *)e->printable.data, room));
	else if (!printable)
		note_error(e, -ENOMEM);
	proto_entry(&e->strings, PROFILE_STRING, s.data, s.len);
	return e->string_cnt++;
}

/* The number of a name of the source; an id always has the same text in a profile. */
static uint32_t name_number(struct pprof_encoder *e, uint32_t id, struct string_ref s)
{
	uint32_t number;

	if (id_map_get(&e->string_ids, id, &number))
		return number;
	note_error(e, id_map_set(&e->string_ids, id, e->string_cnt));
	return put_string(e, s, e->source.printable);
}

static uint32_t string_number(struct pprof_encoder *e, uint32_t id)
{
	return name_number(e, id, e->source.tables->strings[id]);
}

static uint32_t text_number(struct pprof_encoder *e, const char *text)
{
	uint32_t id = 0, number;
	int err = intern_string(e->texts, text, strlen(text), &id);

	if (!err && id_map_get(&e->text_ids, id, &number))
		return number;
	note_error(e, err ? err : id_map_set(&e->text_ids, id, e->string_cnt));
	return put_string(e, string_of(text), false);
}

/* ---- frames ---- */

/* The number of an id, from 1. Returns false if it is new: then the caller adds the entry. */
static bool is_known(struct pprof_encoder *e, struct id_map *ids, uint32_t *cnt, uint32_t id,
		     uint32_t *number)
{
	if (id_map_get(ids, id, number))
		return true;
	*number = ++*cnt;
	note_error(e, id_map_set(ids, id, *number));
	return false;
}

/* pprof wants every location in a mapping, and must not try to symbolize. */
static void put_mapping(struct pprof_encoder *e, uint32_t id, uint32_t file, uint32_t build_id)
{
	size_t begin = proto_begin(&e->out, PROFILE_MAPPING);

	proto_number(&e->out, MAPPING_ID, id);
	proto_number(&e->out, MAPPING_FILENAME, file);
	proto_number(&e->out, MAPPING_BUILD_ID, build_id);
	proto_number(&e->out, MAPPING_HAS_FUNCTIONS, 1);
	proto_number(&e->out, MAPPING_HAS_FILENAMES, 1);
	proto_number(&e->out, MAPPING_HAS_LINES, 1);
	proto_end(&e->out, begin);
}

static uint32_t mapping_number(struct pprof_encoder *e, const struct frame *f)
{
	uint32_t library = native_index_of(&e->libraries, f), number;
	const struct native_library *l;
	char build_id[NATIVE_BUILD_ID_TEXT];

	if (!library)
		return PROGRAM_MAPPING;
	if (is_known(e, &e->mapping_ids, &e->mapping_cnt, library, &number))
		return number;
	l = &e->libraries.list[library - 1];
	put_mapping(e, number,
		    put_string(e, l->path.len ? l->path : l->name, e->source.printable),
		    text_number(e, native_build_id_text(l, build_id)));
	return number;
}

struct function {
	uint32_t name, system_name, file, first_line;
};

static void put_function(struct pprof_encoder *e, uint32_t id, const struct function *f)
{
	size_t begin = proto_begin(&e->out, PROFILE_FUNCTION);

	proto_number(&e->out, FUNCTION_ID, id);
	proto_number(&e->out, FUNCTION_NAME, f->name);
	proto_number(&e->out, FUNCTION_SYSTEM_NAME, f->system_name);
	proto_number(&e->out, FUNCTION_FILENAME, f->file);
	proto_number(&e->out, FUNCTION_START_LINE, f->first_line);
	proto_end(&e->out, begin);
}

/*
 * pprof adds up functions by name: the name is qualified, and the plain one becomes the system
 * name. If both were the same, pprof would demangle them.
 */
static void name_python(struct pprof_encoder *e, const struct frame *f, struct function *out)
{
	const struct string_ref *strings = e->source.tables->strings;

	note_error(e, qualify_name(&e->name, strings[f->file], strings[f->func]));
	out->name = put_string(e, (struct string_ref){ (char *)e->name.data,
						       (uint32_t)e->name.len },
			       e->source.printable);
	if (e->name.len != strings[f->func].len)
		out->system_name = string_number(e, f->func);
	out->file = string_number(e, f->file);
}

/* The file of machine code is its source or, if that is unknown, the library. */
static void name_other(struct pprof_encoder *e, const struct frame *f, struct function *out)
{
	const struct string_ref *file = &e->source.tables->strings[f->file];
	struct string_ref source = native_source(file);

	out->name = string_number(e, f->func);
	out->first_line = 0;
	if (frame_has_file(f->kind, file))
		out->file = name_number(e, f->file, source.len ? source : *file);
}

static uint32_t function_number(struct pprof_encoder *e, const struct frame *f,
				const struct pprof_place *place)
{
	struct function function = { .first_line = place->first_line };
	uint32_t number;

	if (is_known(e, &e->function_ids, &e->function_cnt, place->function, &number))
		return number;
	if (f->kind == FRAME_PYTHON)
		name_python(e, f, &function);
	else
		name_other(e, f, &function);
	put_function(e, number, &function);
	return number;
}

static void put_location(struct pprof_encoder *e, uint32_t id, uint32_t function, uint32_t line,
			 uint32_t mapping)
{
	size_t begin = proto_begin(&e->out, PROFILE_LOCATION), inner;

	proto_number(&e->out, LOCATION_ID, id);
	proto_number(&e->out, LOCATION_MAPPING, mapping);
	inner = proto_begin(&e->out, LOCATION_LINE);
	proto_number(&e->out, LINE_FUNCTION, function);
	proto_number(&e->out, LINE_LINE, line);
	proto_end(&e->out, inner);
	proto_end(&e->out, begin);
}

static uint32_t location_number(struct pprof_encoder *e, uint32_t frame)
{
	const struct frame *f = &e->source.tables->frames[frame];
	struct pprof_place place = { 0 };
	uint32_t number;

	if (is_known(e, &e->location_ids, &e->location_cnt, frame, &number))
		return number;
	note_error(e, e->source.place(e->source.ctx, frame, &place));
	put_location(e, number, function_number(e, f, &place), place.line, mapping_number(e, f));
	return number;
}

void pprof_locations(struct pprof_encoder *e, uint32_t *frames, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		frames[i] = location_number(e, frames[i]);
}

uint32_t pprof_named_location(struct pprof_encoder *e, const char *name)
{
	const struct function f = { .name = text_number(e, name) };

	put_function(e, ++e->function_cnt, &f);
	put_location(e, ++e->location_cnt, e->function_cnt, 0, PROGRAM_MAPPING);
	return e->location_cnt;
}

/* ---- the profile ---- */

static void put_value_type(struct pprof_encoder *e, uint32_t field, const struct pprof_type *t)
{
	uint32_t type = text_number(e, t->type), unit = text_number(e, t->unit);
	size_t begin = proto_begin(&e->out, field);

	proto_number(&e->out, VALUE_TYPE_TYPE, type);
	proto_number(&e->out, VALUE_TYPE_UNIT, unit);
	proto_end(&e->out, begin);
}

static uint64_t cap_int64(uint64_t v)
{
	return v < INT64_MAX ? v : INT64_MAX;
}

static void put_head(struct pprof_encoder *e, const struct pprof_head *h)
{
	size_t i;

	text_number(e, "");	/* string 0 */
	e->type_cnt = h->type_cnt;
	for (i = 0; i < h->type_cnt; i++)
		put_value_type(e, PROFILE_SAMPLE_TYPE, &h->types[i]);
	proto_number(&e->out, PROFILE_DEFAULT_TYPE, text_number(e, h->types[h->shown].type));
	proto_number(&e->out, PROFILE_TIME, cap_int64(h->time_ns));
	proto_number(&e->out, PROFILE_DURATION, cap_int64(h->duration_ns));
	put_value_type(e, PROFILE_PERIOD_TYPE, &h->period_type);
	proto_number(&e->out, PROFILE_PERIOD, cap_int64(h->period));
	e->mapping_cnt = PROGRAM_MAPPING;
	put_mapping(e, PROGRAM_MAPPING, text_number(e, h->program), 0);
}

void pprof_begin(struct pprof_encoder *e, const struct pprof_head *head)
{
	id_map_clear(&e->string_ids);
	id_map_clear(&e->text_ids);
	id_map_clear(&e->function_ids);
	id_map_clear(&e->location_ids);
	id_map_clear(&e->mapping_ids);
	e->string_cnt = e->function_cnt = e->location_cnt = e->mapping_cnt = 0;
	e->out.b.len = e->strings.b.len = 0;
	put_head(e, head);
}

void pprof_comment(struct pprof_encoder *e, const char *text)
{
	proto_packed_number(&e->out, PROFILE_COMMENT, text_number(e, text));
}

static void put_label(struct pprof_encoder *e, const struct pprof_label *l)
{
	uint32_t key = text_number(e, l->key), text = l->text ? text_number(e, l->text) : 0;
	size_t begin = proto_begin(&e->out, SAMPLE_LABEL);

	proto_number(&e->out, LABEL_KEY, key);
	proto_number(&e->out, LABEL_STR, text);
	proto_number(&e->out, LABEL_NUM, cap_int64(l->number));
	proto_end(&e->out, begin);
}

void pprof_sample(struct pprof_encoder *e, const uint32_t *locations, uint32_t n,
		  const uint64_t *values, const struct pprof_label *labels, size_t label_cnt)
{
	uint8_t packed[PPROF_TYPES_MAX * VARINT_MAX], *end = packed;
	size_t begin = proto_begin(&e->out, PROFILE_SAMPLE), i;

	for (i = 0; i < e->type_cnt; i++)
		end = varint_put(end, cap_int64(values[i]));
	proto_packed(&e->out, SAMPLE_LOCATION, locations, n);
	proto_entry(&e->out, SAMPLE_VALUE, packed, (size_t)(end - packed));
	for (i = 0; i < label_cnt; i++)
		put_label(e, &labels[i]);
	proto_end(&e->out, begin);
}

void pprof_end(struct pprof_encoder *e)
{
	struct proto_out fields = e->out;

	if (fields.b.len) {
		proto_append(&e->out, &e->strings);
		return;
	}
	e->out = e->strings;	/* not copied: there may be many */
	e->strings = fields;
}

struct buf *pprof_fields(struct pprof_encoder *e)
{
	return &e->out.b;
}

/* ---- sizes ---- */

/* The most bytes that a new frame of the profile adds, besides its names. */
#define FRAME_BYTES 96
/* A library's mapping with its name and build id, without its path. */
#define LIBRARY_BYTES (NATIVE_LIBRARY_BYTES + 96)
/* A sample: its values and lengths, and a location's number. */
#define SAMPLE_BYTES 48

size_t pprof_bytes(const struct pprof_encoder *e)
{
	return e->out.b.len + e->strings.b.len;
}

static size_t frame_bytes(const struct pprof_encoder *e, const struct frame *f)
{
	const struct string_ref *strings = e->source.tables->strings;
	uint32_t library = native_index_of(&e->libraries, f), number;
	/* A function has its own name, and one with the module's. */
	size_t bytes = FRAME_BYTES + 2 * (size_t)strings[f->func].len;

	if (library && !id_map_get(&e->mapping_ids, library, &number))
		bytes += LIBRARY_BYTES + e->libraries.list[library - 1].path.len;
	if (frame_has_file(f->kind, &strings[f->file]))
		bytes += 2 * (size_t)strings[f->file].len;
	return bytes;
}

size_t pprof_stack_bytes(const struct pprof_encoder *e, const uint32_t *frames, uint32_t n)
{
	size_t bytes = SAMPLE_BYTES + (size_t)n * VARINT_MAX;
	uint32_t i, number;

	for (i = 0; i < n; i++) {
		if (!id_map_get(&e->location_ids, frames[i], &number))
			bytes += frame_bytes(e, &e->source.tables->frames[frames[i]]);
	}
	return bytes;
}

size_t pprof_named_bytes(const char *name)
{
	return SAMPLE_BYTES + FRAME_BYTES + strlen(name) + 1;
}
