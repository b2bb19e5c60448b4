// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_frame.c - file names of machine code. See native_frame.h. Owns nothing. */
#include "model/native_frame.h"

#include <stdio.h>
#include <string.h>

struct string_ref native_library(const struct string_ref *file)
{
	const char *end, *last;

	if (file->len < 3 || file->data[0] != '[')
		return (struct string_ref){ 0 };
	last = file->data + file->len - 1;
	end = memchr(file->data, ']', file->len);
	if (!end || end == file->data + 1 || (end != last && (end + 1 == last || end[1] != ' ')) ||
	    memchr(file->data, '/', (size_t)(end - file->data)))
		return (struct string_ref){ 0 };
	return (struct string_ref){ file->data + 1, (uint32_t)(end - file->data - 1) };
}

struct string_ref native_source(const struct string_ref *file)
{
	struct string_ref library = native_library(file);
	uint32_t head = library.len + 3;	/* "[", "] " */

	if (!library.len || file->len <= head)
		return (struct string_ref){ 0 };
	return (struct string_ref){ file->data + head, file->len - head };
}

bool frame_has_file(enum frame_kind kind, const struct string_ref *file)
{
	return kind == FRAME_PYTHON || (kind == FRAME_NATIVE && native_library(file).len);
}

bool frame_is_native(const struct profile_tables *tables, const struct frame *f)
{
	return f->kind == FRAME_NATIVE && native_library(&tables->strings[f->file]).len;
}

void native_file_name(const char *library, const char *source, char out[NATIVE_FILE_BYTES])
{
	char name[NATIVE_LIBRARY_BYTES], *p;
	size_t len = strlen(library);
	bool brackets = len > 2 && library[0] == '[' && library[len - 1] == ']';

	snprintf(name, sizeof(name), "%s", len ? library + brackets : "?");
	if (brackets && len - 2 < sizeof(name))
		name[len - 2] = '\0';
	for (p = name; *p; p++)
		if (*p == '[' || *p == ']' || *p == '/')
			*p = '_';
	snprintf(out, NATIVE_FILE_BYTES, "[%s]%s%s", name, source && *source ? " " : "",
		 source ? source : "");
}
