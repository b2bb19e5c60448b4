// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * lines.c - decodes the line tables of code objects.
 *
 * Three formats: co_lnotab up to 3.9 (Objects/lnotab_notes.txt), co_linetable of 3.10 (same file),
 * and from 3.11 on the location table: Objects/locations.md (3.13+: InternalDocs/code_objects.md).
 *
 * The entries of the location table follow each other, and each covers 1 to 8 code units of
 * 2 bytes. Bit 7 marks the first byte of an entry, so that a damaged table is detected.
 * Arithmetic is unsigned: in a hostile table it may wrap to wrong lines.
 */

#include "cpython/code.h"
#include "model/event.h"

enum {
	CODE_SHORT_LAST = 9,	/* 0..9: same line, columns in one byte */
	CODE_ONE_LINE = 10,	/* 10..12: line advances by 0..2, columns in two bytes */
	CODE_ONE_LINE_LAST = 12,
	CODE_NO_COLUMNS = 13,
	CODE_LONG = 14,
	CODE_NONE = 15,
};

struct table {
	const uint8_t *p, *end;
	uint32_t line;
};

static uint8_t take_byte(struct table *t)
{
	return t->p < t->end ? *t->p++ : 0;
}

/* 6 bits per byte, the lowest first; bit 6: more follow. */
static uint32_t take_varint(struct table *t)
{
	uint32_t v = 0;
	unsigned int shift;

	for (shift = 0; shift < 32; shift += 6) {
		uint8_t b = take_byte(t);

		v |= (uint32_t)(b & 63) << shift;
		if (!(b & 64))
			break;
	}
	return v;
}

/* The sign is in bit 0. */
static uint32_t take_svarint(struct table *t)
{
	uint32_t v = take_varint(t);

	return v & 1 ? 0 - (v >> 1) : v >> 1;
}

/* Decode the bytes after the first one of an entry. */
static void take_entry(struct table *t, unsigned int code, struct code_position *pos)
{
	uint32_t end_line, column, end_column;

	if (code == CODE_NONE) {
		*pos = (struct code_position){ LINE_NONE, LINE_NONE, COLUMN_NONE, COLUMN_NONE };
		return;
	}
	if (code == CODE_LONG) {
		t->line += take_svarint(t);
		end_line = t->line + take_varint(t);
		column = take_varint(t) - 1;
		end_column = take_varint(t) - 1;
	} else if (code == CODE_NO_COLUMNS) {
		t->line += take_svarint(t);
		end_line = t->line;
		column = end_column = (uint32_t)COLUMN_NONE;
	} else if (code >= CODE_ONE_LINE) {
		t->line += code - CODE_ONE_LINE;
		end_line = t->line;
		column = take_byte(t);
		end_column = take_byte(t);
	} else {
		uint8_t b = take_byte(t);

		end_line = t->line;
		column = code * 8 + (b >> 4);
		end_column = column + (b & 15);
	}
	*pos = (struct code_position){ (int32_t)t->line, (int32_t)end_line, (int32_t)column,
				       (int32_t)end_column };
}

/* Make the position conform to event.h. A module's code begins with an instruction at line 0. */
static void tidy_position(struct code_position *pos, int32_t fallback)
{
	if (pos->line < 1) {
		int32_t line = fallback < 1 ? LINE_NONE : fallback;

		*pos = (struct code_position){ line, line, COLUMN_NONE, COLUMN_NONE };
		return;
	}
	if (pos->end_line < pos->line)
		pos->end_line = pos->line;
	if (pos->column < 0 || pos->end_column < 0)
		pos->column = pos->end_column = COLUMN_NONE;
}

static void only_line(struct code_position *pos, int32_t line, int32_t fallback)
{
	*pos = (struct code_position){ line, line, COLUMN_NONE, COLUMN_NONE };
	tidy_position(pos, fallback);
}

/* Pairs of bytes: a number of code bytes, then a number of lines to advance (signed). */
static void lnotab_position(const struct code_object *code, uint32_t lasti,
			    struct code_position *pos)
{
	uint32_t line = (uint32_t)code->firstlineno, addr = 0, i;

	for (i = 0; i + 1 < code->linetable_len; i += 2) {
		addr += code->linetable[i];
		if (addr > lasti)
			break;
		line += (uint32_t)(int8_t)code->linetable[i + 1];
	}
	only_line(pos, (int32_t)line, code->firstlineno);
}

#define NO_LINE_310 (-128)

/*
 * Pairs of bytes. Each pair is a range: the number of lines to advance (signed), then the number of
 * code bytes in it. If a range has no line, the line of the previous range is used.
 */
static void linetable_310_position(const struct code_object *code, uint32_t lasti,
				   struct code_position *pos)
{
	uint32_t line = (uint32_t)code->firstlineno, end = 0, i;
	int32_t last = code->firstlineno;

	for (i = 0; i + 1 < code->linetable_len; i += 2) {
		int8_t delta = (int8_t)code->linetable[i + 1];

		if (delta != NO_LINE_310)
			line += (uint32_t)delta;
		end += code->linetable[i];
		if (lasti < end) {
			only_line(pos, delta == NO_LINE_310 ? LINE_NONE : (int32_t)line, last);
			return;
		}
		if (delta != NO_LINE_310 && code->linetable[i])
			last = (int32_t)line;
	}
	only_line(pos, LINE_NONE, code->firstlineno);
}

static void locations_position(const struct code_object *code, uint32_t lasti,
			       struct code_position *pos)
{
	struct table t = { code->linetable, code->linetable + code->linetable_len,
			   (uint32_t)code->firstlineno };
	uint32_t unit = lasti / 2, at = 0;
	int32_t last_line = code->firstlineno;

	while (t.p < t.end && (*t.p & 0x80)) {
		uint8_t first = *t.p++;

		take_entry(&t, first >> 3 & 15, pos);
		at += (first & 7) + 1;
		if (unit < at) {
			tidy_position(pos, last_line);
			return;
		}
		if (pos->line >= 1)
			last_line = pos->line;
	}
	/* Not in the table: the frame has not started, or the table is wrong. */
	*pos = (struct code_position){ LINE_NONE, LINE_NONE, COLUMN_NONE, COLUMN_NONE };
	tidy_position(pos, code->firstlineno);
}

void code_position(const struct code_object *code, uint32_t lasti, struct code_position *pos)
{
	if (raw_lasti_is_line(lasti))
		only_line(pos, (int32_t)(lasti - RAW_LASTI_LINE), code->firstlineno);
	/* No instruction has been executed. */
	else if (lasti >= RAW_LASTI_NONE || !code->linetable_len)
		only_line(pos, LINE_NONE, code->firstlineno);
	else if (code->minor <= 9)
		lnotab_position(code, lasti, pos);
	else if (code->minor == 10)
		linetable_310_position(code, lasti, pos);
	else
		locations_position(code, lasti, pos);
}
