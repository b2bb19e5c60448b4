// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * stack_frame.c - which frames count, and which of their parts. See stack_frame.h.
 */
#include "model/stack_frame.h"

#include <string.h>

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
