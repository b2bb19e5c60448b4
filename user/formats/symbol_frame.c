// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* symbol_frame.c - see symbol_frame.h. Owns nothing. */
#include "formats/symbol_frame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/qualify.h"
#include "formats/read_stack.h"
#include "model/intern.h"
#include "model/native_frame.h"
#include "model/native_library.h"

int symbol_choose_name(struct buf *scratch, struct string_ref name, struct string_ref system,
		       struct symbol_function *out)
{
	out->name = name.len ? name : system;
	if (!name.len || !system.len || system.len >= name.len)
		return 0;
	if (qualify_name(scratch, out->file, system))
		return -ENOMEM;
	if (scratch->len == name.len && !memcmp(scratch->data, name.data, name.len))
		out->name = system;
	return 0;
}

/* Copies a text to a C string; a NUL in it ends it. */
static void copy_text(struct string_ref s, char *out, size_t size)
{
	size_t len = s.len < size - 1 ? s.len : size - 1;

	if (len)
		memcpy(out, s.data, len);
	out[len] = '\0';
}

static uint8_t hex_digit(char c)
{
	return (uint8_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

static uint32_t parse_build_id(struct string_ref s, uint8_t out[NATIVE_BUILD_ID_MAX])
{
	uint32_t i;

	if (s.len % 2 || s.len > 2 * NATIVE_BUILD_ID_MAX)
		return 0;
	for (i = 0; i < s.len; i++) {
		if (!memchr("0123456789abcdefABCDEF", s.data[i], 22))
			return 0;
		out[i / 2] = (uint8_t)(out[i / 2] << 4 | hex_digit(s.data[i]));
	}
	return s.len / 2;
}

static struct string_ref base_name(struct string_ref path)
{
	const char *slash = path.len ? memrchr(path.data, '/', path.len) : NULL;

	if (slash)
		path = (struct string_ref){ slash + 1,
					    path.len - (uint32_t)(slash + 1 - path.data) };
	return path;
}

/* Notes the library's path and build id once. 0 or -ENOMEM. */
static int note_library(struct intern *names, struct symbol_mapping *m, const char *library)
{
	uint8_t build_id[NATIVE_BUILD_ID_MAX] = { 0 };
	uint32_t bytes = parse_build_id(m->build_id, build_id);
	char path[NATIVE_FILE_BYTES];

	if (m->noted)
		return 0;
	m->noted = true;
	copy_text(m->file, path, sizeof(path));
	return native_library_add(names, library, strchr(path, '/') ? path : NULL, build_id,
				  bytes);
}

/*
 * Code of a library, unless its source is Python's. *file: the frame's file if so.
 */
static int library_file(struct intern *names, struct symbol_mapping *m, struct string_ref source,
			char file[NATIVE_FILE_BYTES], bool *is_library)
{
	char library[NATIVE_LIBRARY_BYTES], text[NATIVE_FILE_BYTES];

	*is_library = m && m->file.len && !ref_starts_with(source, "<") &&
		      !ref_ends_with(source, ".py");
	if (!*is_library)
		return 0;
	copy_text(base_name(m->file), library, sizeof(library));
	copy_text(native_library(&source).len ? (struct string_ref){ "", 0 } : source, text,
		  sizeof(text));
	native_file_name(library, text, file);
	return note_library(names, m, library);
}

int symbol_intern(struct intern *names, struct symbol_mapping *library,
		  const struct symbol_function *f, uint64_t line, uint32_t *id)
{
	struct string_ref file = f->file.len ? f->file : string_of(SYNTHETIC_FILE);
	char native[NATIVE_FILE_BYTES];
	bool is_library;
	int err = library_file(names, library, f->file, native, &is_library);

	if (err)
		return err;
	if (is_library)
		file = string_of(native);
	if (!f->file.len || line > INT32_MAX || native_library(&f->file).len)
		line = 0;
	return intern_place(names, &file, &f->name, (int32_t)line, COLUMN_NONE, f->first_line, id);
}

int symbol_intern_address(struct intern *names, struct symbol_mapping *library, uint64_t address,
			  uint32_t *id)
{
	struct symbol_function f = { .file = { "", 0 } };
	char name[32];

	snprintf(name, sizeof(name), "0x%" PRIx64, address);
	f.name = string_of(name);
	return symbol_intern(names, library, &f, 0, id);
}
