// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * frame_names.c - see frame_names.h.
 */
#include "model/frame_names.h"

#include <string.h>

#include "base/util.h"
#include "model/native_frame.h"

enum frame_kind frame_kind_of_names(const struct string_ref *file, const struct string_ref *func,
				    int32_t line)
{
	static const struct {
		const char *prefix;
		enum frame_kind kind;
	} names[] = {
		{ "<kernel ", FRAME_KERNEL },
		{ "<native>", FRAME_NATIVE },	/* also written by CPython's own profiler */
		{ "0x", FRAME_NATIVE },		/* an address without a name */
	};
	size_t i, len;

	/* A line without a source is Python's: its code can be compiled under any name. */
	if (native_library(file).len && (line <= 0 || native_source(file).len))
		return FRAME_NATIVE;
	if (line > 0 || file->len != strlen(SYNTHETIC_FILE) ||
	    memcmp(file->data, SYNTHETIC_FILE, file->len))
		return FRAME_PYTHON;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		len = strlen(names[i].prefix);
		if (func->len >= len && !memcmp(func->data, names[i].prefix, len))
			return names[i].kind;
	}
	return FRAME_SYNTHETIC;
}
