// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * window_pprof.c - see window_pprof.h. The numbers of fields are those of
 * user/formats/pprof/profile.proto.
 */
#include "telemetry/window_pprof.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "model/native_frame.h"
#include "model/native_library.h"
#include "telemetry/gzip.h"
#include "telemetry/proto_out.h"

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_DEFAULT_TYPE = 14,
};
enum { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2 };
enum { MAPPING_ID = 1, MAPPING_FILENAME = 5, MAPPING_BUILD_ID = 6, MAPPING_HAS_FUNCTIONS = 7,
       MAPPING_HAS_FILENAMES = 8, MAPPING_HAS_LINES = 9 };
enum { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILENAME = 4,
       FUNCTION_START_LINE = 5 };

struct pprof {
	const struct window *w;
	const struct window_pprof_args *args;
	const struct profile_tables *names, *functions;
	const uint32_t *function_of;
	struct native_index libraries;	/* of names */
	int err;
	/* Of the profile: */
	struct proto_out out, strings;
	struct id_map string_ids, function_ids, location_ids, mapping_ids;
	uint32_t string_cnt, function_cnt, location_cnt, mapping_cnt;
	struct window_pprof profile;
	bool two;		/* samples have two values */
	struct buf zipped;
};

static const char *const package_dirs[] = { "/site-packages/", "/dist-packages/" };

/* Where a path's module begins. */
static const char *module_of(const char *path)
{
	const char *at = NULL, *p, *end;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(package_dirs); i++) {
		for (p = path; (p = strstr(p, package_dirs[i])); p++)
			at = p + strlen(package_dirs[i]);
	}
	if (at)
		return at;
	/* The standard library: /usr/lib/python3.11/json/decoder.py */
	for (p = path; (p = strstr(p, "/lib/python3.")); p++)
		at = p + strlen("/lib/python3.");
	end = at ? strchr(at, '/') : NULL;
	if (end && strspn(at, "0123456789t") == (size_t)(end - at))
		return end + 1;
	end = strrchr(path, '/');
	if (!end || end == path)
		return end ? end + 1 : path;
	at = memrchr(path, '/', (size_t)(end - path));
	return at ? at + 1 : path;
}

void window_pprof_name(const char *path, const char *func, char *out, size_t out_bytes)
{
	char module[WINDOW_NAME_BYTES + 1], *p;
	size_t frozen = strlen("<frozen "), len;

	if (!strncmp(path, "<frozen ", frozen) && path[strlen(path) - 1] == '>') {
		snprintf(module, sizeof(module), "%s", path + frozen);
		module[strlen(module) - 1] = '\0';
	} else if (!*path || *path == '<') {
		snprintf(out, out_bytes, "%s", func);
		return;
	} else {
		snprintf(module, sizeof(module), "%s", module_of(path));
	}
	len = strlen(module);
	if (len > 3 && !strcmp(module + len - 3, ".py"))
		module[len - 3] = '\0';
	for (p = module; (p = strchr(p, '/')); p++)
		*p = '.';
	snprintf(out, out_bytes, "%s.%s", module, func);
}

static void note(struct pprof *p, int err)
{
	if (err && !p->err)
		p->err = err;
}

/* The number of an id, from 1. Returns false if it is new: then the caller adds the entry. */
static bool known(struct pprof *p, struct id_map *ids, uint32_t *cnt, uint32_t id,
		  uint32_t *number)
{
	if (id_map_get(ids, id, number))
		return true;
	*number = ++*cnt;
	note(p, id_map_set(ids, id, *number));
	return false;
}

/* Strings are numbered from 0, which is "". */
static uint32_t put_text(struct pprof *p, const char *text)
{
	proto_entry(&p->strings, PROFILE_STRING, text, strlen(text));
	return p->string_cnt++;
}

/* An id always has the same text in a profile. */
static uint32_t text_number(struct pprof *p, uint32_t id, const struct string_ref *s)
{
	uint32_t number;

	if (id_map_get(&p->string_ids, id, &number))
		return number;
	note(p, id_map_set(&p->string_ids, id, p->string_cnt));
	proto_entry(&p->strings, PROFILE_STRING, s->data, s->len);
	return p->string_cnt++;
}

static uint32_t string_number(struct pprof *p, uint32_t id)
{
	return text_number(p, id, &p->names->strings[id]);
}

/* The file of machine code: its source or, if that is unknown, the library; 0: neither. */
static uint32_t native_file(struct pprof *p, uint32_t id)
{
	const struct string_ref *file = &p->names->strings[id];
	const struct string_ref source = native_source(file);

	return native_library(file).len ? text_number(p, id, source.len ? &source : file) : 0;
}

/* first_line: 0: unknown. */
static void put_function(struct pprof *p, uint32_t id, uint32_t name, uint32_t system_name,
			 uint32_t file, int32_t first_line)
{
	size_t begin = proto_begin(&p->out, PROFILE_FUNCTION);

	proto_number(&p->out, FUNCTION_ID, id);
	proto_number(&p->out, FUNCTION_NAME, name);
	proto_number(&p->out, FUNCTION_SYSTEM_NAME, system_name);
	proto_number(&p->out, FUNCTION_FILENAME, file);
	proto_number(&p->out, FUNCTION_START_LINE, (uint64_t)first_line);
	proto_end(&p->out, begin);
}

/* The name's bytes, ended by a NUL. */
static void copy_name(const struct pprof *p, uint32_t id, char out[WINDOW_NAME_BYTES + 1])
{
	const struct string_ref *s = &p->names->strings[id];

	memcpy(out, s->data, s->len);
	out[s->len] = '\0';
}

static uint32_t function_number(struct pprof *p, uint32_t id)
{
	char path[WINDOW_NAME_BYTES + 1], func[WINDOW_NAME_BYTES + 1];
	char name[2 * WINDOW_NAME_BYTES + 2];
	const struct frame *f = &p->functions->frames[id];
	uint32_t number;

	if (known(p, &p->function_ids, &p->function_cnt, id, &number))
		return number;
	if (f->kind != FRAME_PYTHON) {
		put_function(p, number, string_number(p, f->func), 0,
			     f->kind == FRAME_NATIVE ? native_file(p, f->file) : 0, 0);
		return number;
	}
	copy_name(p, f->file, path);
	copy_name(p, f->func, func);
	window_pprof_name(path, func, name, sizeof(name));
	put_function(p, number, put_text(p, name), string_number(p, f->func),
		     string_number(p, f->file), f->first_line);
	return number;
}

/* pprof wants every location in a mapping, and must not try to symbolize. */
static void put_mapping(struct pprof *p, uint32_t id, struct string_ref file, const char *build_id)
{
	uint32_t name = p->string_cnt++, build;
	size_t begin;

	proto_entry(&p->strings, PROFILE_STRING, file.data, file.len);
	build = *build_id ? put_text(p, build_id) : 0;
	begin = proto_begin(&p->out, PROFILE_MAPPING);
	proto_number(&p->out, MAPPING_ID, id);
	proto_number(&p->out, MAPPING_FILENAME, name);
	proto_number(&p->out, MAPPING_BUILD_ID, build);
	proto_number(&p->out, MAPPING_HAS_FUNCTIONS, 1);
	proto_number(&p->out, MAPPING_HAS_FILENAMES, 1);
	proto_number(&p->out, MAPPING_HAS_LINES, 1);
	proto_end(&p->out, begin);
}

/* The number of a library's mapping; 1 is that of all other frames. */
static uint32_t mapping_number(struct pprof *p, const struct frame *f)
{
	uint32_t library = native_index_of(&p->libraries, f), number;
	const struct native_library *l;
	char build_id[NATIVE_BUILD_ID_TEXT];

	if (!library || known(p, &p->mapping_ids, &p->mapping_cnt, library, &number))
		return library ? number : 1;
	l = &p->libraries.list[library - 1];
	put_mapping(p, number, l->path.len ? l->path : l->name, native_build_id_text(l, build_id));
	return number;
}

static void put_location(struct pprof *p, uint32_t id, uint32_t function, int32_t line,
			 uint32_t mapping)
{
	size_t begin = proto_begin(&p->out, PROFILE_LOCATION), inner;

	proto_number(&p->out, LOCATION_ID, id);
	proto_number(&p->out, LOCATION_MAPPING, mapping);
	inner = proto_begin(&p->out, LOCATION_LINE);
	proto_number(&p->out, LINE_FUNCTION, function);
	proto_number(&p->out, LINE_LINE, line > 0 ? (uint64_t)line : 0);
	proto_end(&p->out, inner);
	proto_end(&p->out, begin);
}

static uint32_t location_number(struct pprof *p, uint32_t id)
{
	uint32_t number;

	if (!known(p, &p->location_ids, &p->location_cnt, id, &number))
		put_location(p, number, function_number(p, p->function_of[id]),
			     p->names->frames[id].line,
			     mapping_number(p, &p->names->frames[id]));
	return number;
}

static int64_t capped(uint64_t v)
{
	return v < INT64_MAX ? (int64_t)v : INT64_MAX;
}

static void put_sample(struct pprof *p, const uint32_t *locations, uint32_t n, uint64_t value,
		       uint64_t samples)
{
	uint8_t values[2 * VARINT_MAX], *end = values;
	size_t begin = proto_begin(&p->out, PROFILE_SAMPLE);

	if (p->two)
		end = varint_put(end, (uint64_t)capped(samples));
	end = varint_put(end, (uint64_t)capped(value));
	proto_packed(&p->out, SAMPLE_LOCATION, locations, n);
	proto_entry(&p->out, SAMPLE_VALUE, values, (size_t)(end - values));
	proto_end(&p->out, begin);
	p->profile.samples++;
	p->profile.taken = add_capped(p->profile.taken, samples);
	p->profile.value = add_capped(p->profile.value, value);
}

static void put_value_type(struct pprof *p, uint32_t field, uint32_t type, uint32_t unit)
{
	size_t begin = proto_begin(&p->out, field);

	proto_number(&p->out, VALUE_TYPE_TYPE, type);
	proto_number(&p->out, VALUE_TYPE_UNIT, unit);
	proto_end(&p->out, begin);
}

/* type, unit: of the profile's values, which of memory are bytes and stand for themselves. */
static void put_period(struct pprof *p, enum window_kind kind, uint32_t type, uint32_t unit)
{
	bool memory = kind == WINDOW_ALLOC_SPACE || kind == WINDOW_INUSE_SPACE;

	if (memory)
		type = put_text(p, "space");
	else if (kind != WINDOW_CPU) {
		type = put_text(p, window_kinds[WINDOW_CPU].type);
		unit = put_text(p, window_kinds[WINDOW_CPU].unit);
	}
	put_value_type(p, PROFILE_PERIOD_TYPE, type, unit);
	proto_number(&p->out, PROFILE_PERIOD, memory ? 1 : p->args->period_ns);
}

static void put_head(struct pprof *p, enum window_kind kind)
{
	uint64_t begin_ns = window_begin_ns(p->w), end_ns = window_end_ns(p->w);
	uint32_t type, unit;

	put_text(p, "");
	type = put_text(p, window_kinds[kind].type);
	unit = put_text(p, window_kinds[kind].unit);
	if (p->two)
		put_value_type(p, PROFILE_SAMPLE_TYPE, put_text(p, "samples"),
			       put_text(p, "count"));
	put_value_type(p, PROFILE_SAMPLE_TYPE, type, unit);
	proto_number(&p->out, PROFILE_DEFAULT_TYPE, type);
	proto_number(&p->out, PROFILE_TIME, begin_ns);
	proto_number(&p->out, PROFILE_DURATION, end_ns > begin_ns ? end_ns - begin_ns : 0);
	put_period(p, kind, type, unit);
	put_mapping(p, ++p->mapping_cnt, string_of("python"), "");
}

static void begin_profile(struct pprof *p, enum window_kind kind)
{
	id_map_clear(&p->string_ids);
	id_map_clear(&p->function_ids);
	id_map_clear(&p->location_ids);
	id_map_clear(&p->mapping_ids);
	p->string_cnt = p->function_cnt = p->location_cnt = p->mapping_cnt = 0;
	p->profile.samples = 0;
	p->profile.taken = p->profile.value = 0;
	p->out.b.len = p->strings.b.len = p->zipped.len = 0;
	p->two = window_kinds[kind].samples;
	put_head(p, kind);
}

/* Emit what there is. */
static void end_profile(struct pprof *p)
{
	proto_append(&p->out, &p->strings);
	note(p, p->out.err);
	if (!p->err)
		note(p, gzip_bytes(p->out.b.data, p->out.b.len, GZIP_LEVEL, &p->zipped));
	if (p->err)
		return;
	p->profile.bytes = p->zipped.data;
	p->profile.len = p->zipped.len;
	note(p, p->args->emit(p->args->ctx, &p->profile));
}

/* At most so many bytes does a frame add that the profile does not have yet, besides its names. */
#define FRAME_BYTES 96
/* A library's mapping with its name and build id, without its path. */
#define LIBRARY_BYTES (NATIVE_LIBRARY_BYTES + 96)
/* And of a sample: its values and lengths, and a location's number. */
#define SAMPLE_BYTES 48

/* At most so many bytes does a stack add to the profile. */
static size_t bytes_of(const struct pprof *p, const uint32_t *ids, uint32_t n)
{
	size_t bytes = SAMPLE_BYTES + (size_t)n * VARINT_MAX;
	uint32_t i, number, library;

	for (i = 0; i < n; i++) {
		const struct frame *f = &p->names->frames[ids[i]];

		if (id_map_get(&p->location_ids, ids[i], &number))
			continue;
		/* A function has its own name, and one with the module's. */
		bytes += FRAME_BYTES + 2 * (size_t)p->names->strings[f->func].len;
		library = native_index_of(&p->libraries, f);
		if (library && !id_map_get(&p->mapping_ids, library, &number))
			bytes += LIBRARY_BYTES + p->libraries.list[library - 1].path.len;
		if (frame_has_file(f->kind, &p->names->strings[f->file]))
			bytes += 2 * (size_t)p->names->strings[f->file].len;
	}
	return bytes;
}

/* Begin another profile of the series if so many bytes do not fit into this one. */
static void make_room(struct pprof *p, size_t bytes)
{
	if (!p->args->max_bytes || !p->profile.samples ||
	    p->out.b.len + p->strings.b.len + bytes <= p->args->max_bytes)
		return;
	end_profile(p);
	begin_profile(p, p->profile.kind);
}

static void put_samples(struct pprof *p, const struct window_series *s)
{
	uint32_t ids[EVENT_MAX_FRAMES], cnt, i, k, n;
	const struct window_sample *all = window_samples(p->w, &cnt);

	for (i = s->first; i != WINDOW_NONE && !p->err; i = all[i].next) {
		n = window_stack(p->w, all[i].stack, ids);
		make_room(p, bytes_of(p, ids, n));
		for (k = 0; k < n; k++)
			ids[k] = location_number(p, ids[k]);
		put_sample(p, ids, n, all[i].value, all[i].samples);
	}
	if (!s->other_value && !s->other_samples)
		return;
	make_room(p, SAMPLE_BYTES + FRAME_BYTES + sizeof(WINDOW_OTHER_NAME));
	ids[0] = ++p->location_cnt;
	put_function(p, ++p->function_cnt, put_text(p, WINDOW_OTHER_NAME), 0, 0, 0);
	put_location(p, ids[0], p->function_cnt, LINE_NONE, 1);
	put_sample(p, ids, 1, s->other_value, s->other_samples);
}

static void put_series(struct pprof *p, uint32_t service, enum window_kind kind)
{
	const struct window_series *s = window_series(p->w, service, kind);

	if (!s->value && !s->samples)
		return;
	p->profile.service = service;
	p->profile.kind = kind;
	begin_profile(p, kind);
	put_samples(p, s);
	end_profile(p);
}

int window_pprof(const struct window *w, const struct window_pprof_args *args)
{
	struct pprof *p = calloc(1, sizeof(*p));
	uint32_t i, kind;
	int err;

	if (!p)
		return -ENOMEM;
	p->w = w;
	p->args = args;
	p->names = window_names_tables(window_names(w));
	p->functions = window_names_functions(window_names(w), &p->function_of);
	note(p, native_index_make(&p->libraries, p->names));
	for (i = 0; i < window_service_cnt(w); i++) {
		for (kind = 0; kind < WINDOW_KIND_CNT && !p->err; kind++)
			put_series(p, i, kind);
	}
	err = p->err;
	proto_out_free(&p->out);
	proto_out_free(&p->strings);
	buf_free(&p->zipped);
	id_map_free(&p->string_ids);
	id_map_free(&p->function_ids);
	id_map_free(&p->location_ids);
	id_map_free(&p->mapping_ids);
	native_index_free(&p->libraries);
	free(p);
	return err;
}
