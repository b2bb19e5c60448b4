// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* report_key.c - see report_key.h. Owns nothing. */
#include "analysis/report_key.h"

#include "model/code_owner.h"

bool report_by_function(enum report_by by)
{
	return by == REPORT_BY_FUNCTION || by == REPORT_BY_LINE;
}

bool report_by_code(enum report_by by)
{
	return report_by_function(by) || by == REPORT_BY_SOURCE_LINE ||
	       by == REPORT_BY_EXPRESSION;
}

bool report_has_row(const struct report_kind *kind, const struct profile_tables *tables,
		    uint32_t frame)
{
	const struct frame *f = &tables->frames[frame];

	if (kind->mine)
		return f->kind == FRAME_PYTHON &&
		       code_owner_of(tables->strings[f->file]) == CODE_OWN;
	return kind->detail || !frame_is_detail(tables, frame, kind->self_of);
}

struct frame report_key_of(enum report_by by, const struct frame *f)
{
	struct frame key = { .line = LINE_NONE, .end_line = LINE_NONE, .column = COLUMN_NONE,
			     .end_column = COLUMN_NONE, .opcode = OPCODE_NONE, .kind = f->kind };

	if (by != REPORT_BY_FUNCTION)
		key.line = key.end_line = f->line;
	if (by == REPORT_BY_EXPRESSION) {
		key.end_line = f->end_line;
		key.column = f->column;
		key.end_column = f->end_column;
	}
	return key;
}
