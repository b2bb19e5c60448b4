// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * stack_frame.c - which frames count, which of their parts, and which has the self. See
 * stack_frame.h.
 */
#include "model/stack_frame.h"

#include <string.h>

#include "base/util.h"
#include "model/native_frame.h"

/* CPython: _INTERNAL_FRAME_SUFFIXES in Lib/profiling/sampling/constants.py. */
#define INTERNAL_SUFFIX "_sync_coordinator.py"

struct frame stack_frame_cut(enum stack_detail detail, const struct frame *f)
{
	struct frame cut = { .file = f->file, .func = f->func, .line = LINE_NONE,
			     .end_line = LINE_NONE, .column = COLUMN_NONE,
			     .end_column = COLUMN_NONE, .opcode = OPCODE_NONE, .kind = f->kind };

	if (detail >= DETAIL_LINE)
		cut.line = f->line;
	if (detail >= DETAIL_COLUMN)
		cut.column = f->column;
	if (detail >= DETAIL_LOCATION) {
		cut.end_line = f->end_line;
		cut.end_column = f->end_column;
	}
	return cut;
}

bool stack_frame_internal(const struct string_ref *file)
{
	size_t len = strlen(INTERNAL_SUFFIX);

	return file->len >= len && !memcmp(file->data + file->len - len, INTERNAL_SUFFIX, len);
}

/* ---- the self ---- */

/* How their names begin. Other profilers' frames without a file have names like any function. */
static const char *const details[] = {
	"<GC>", "<native>", "<blocked in ", "<exception ", "<kernel ", "<waiting for ",
	"<unwound no further",
};

bool frame_is_detail(const struct profile_tables *tables, uint32_t frame, enum self_of of)
{
	const struct frame *f = &tables->frames[frame];
	const struct string_ref *name = &tables->strings[f->func];
	size_t i;

	if (frame_is_native(tables, f))
		return of == SELF_OF_PYTHON;
	for (i = 0; f->kind != FRAME_PYTHON && i < ARRAY_SIZE(details); i++)
		if (name->len >= strlen(details[i]) &&
		    !memcmp(name->data, details[i], strlen(details[i])))
			return true;
	return false;
}

uint32_t self_frame(const struct profile_tables *tables, const uint32_t *frames, uint32_t n,
		    enum self_of of)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (!frame_is_detail(tables, frames[i], of))
			return i;
	return n ? n - 1 : 0;
}
