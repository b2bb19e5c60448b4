// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* tach_tables.c - decodes the tables. See tach_tables.h. Owns nothing. */
#include "formats/tach/tach_tables.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "formats/tach/tach_format.h"
#include "model/frame_names.h"

uint32_t tach_take_strings(const uint8_t **p, const uint8_t *end, uint32_t cnt,
			   struct string_ref *out)
{
	const uint8_t *at;
	uint64_t len;
	uint32_t i;

	for (i = 0; i < cnt; i++) {
		at = varint_get(*p, end, &len);
		if (!at || len > (uint64_t)(end - at) || len > UINT32_MAX)
			break;
		out[i] = (struct string_ref){ (const char *)at, (uint32_t)len };
		*p = at + len;
	}
	return i;
}

/* Decodes a line or column: the start, which may be -1 for none, and the end as a difference. */
static const uint8_t *get_range(const uint8_t *p, const uint8_t *end, bool has_end, int32_t *from,
				int32_t *to)
{
	int64_t base, diff = 0;

	p = svarint_get(p, end, &base);
	if (p && has_end)
		p = svarint_get(p, end, &diff);
	if (!p || base < -1 || base > INT32_MAX || diff < -(int64_t)INT32_MAX || diff > INT32_MAX ||
	    base + diff > INT32_MAX)
		return NULL;
	*from = (int32_t)base;
	*to = base < 0 || base + diff < 0 ? -1 : (int32_t)(base + diff);
	return p;
}

/* All of a frame except its kind. */
static const uint8_t *get_frame(const uint8_t *p, const uint8_t *end, bool full,
				uint32_t string_cnt, struct frame *f)
{
	uint64_t file, func;

	p = varint_get(p, end, &file);
	if (p)
		p = varint_get(p, end, &func);
	if (!p || file >= string_cnt || func >= string_cnt)
		return NULL;
	*f = (struct frame){
		.file = (uint32_t)file,
		.func = (uint32_t)func,
		.column = COLUMN_NONE,
		.end_column = COLUMN_NONE,
		.opcode = OPCODE_NONE,
	};
	p = get_range(p, end, full, &f->line, &f->end_line);
	if (!p || !full)
		return p;
	p = get_range(p, end, true, &f->column, &f->end_column);
	if (!p || p == end)
		return NULL;
	f->opcode = *p++;
	return p;
}

uint32_t tach_take_frames(const uint8_t **p, const uint8_t *end, uint32_t cnt,
			  enum profile_layout layout, const struct string_ref *strings,
			  uint32_t string_cnt, struct frame *out)
{
	const uint8_t *at;
	uint32_t i;

	for (i = 0; i < cnt; i++) {
		at = get_frame(*p, end, layout != LAYOUT_DRAFT2, string_cnt, &out[i]);
		if (!at)
			break;
		out[i].kind = frame_kind_of_names(&strings[out[i].file], &strings[out[i].func],
						  out[i].line);
		*p = at;
	}
	return i;
}

/* Decodes a number of at most 40 bits; *p is then after it. Returns false if [*p, end) has none. */
static bool get_number(const uint8_t **p, const uint8_t *end, uint64_t *number)
{
	uint32_t shift, digit;

	*number = 0;
	for (shift = 0; *p < end && shift < 40; shift += 5) {
		digit = (uint32_t)*(*p)++ - TACH_FIRST_LINE_ZERO;
		if (digit >= 2 * TACH_FIRST_LINE_MORE)
			return false;
		*number |= (uint64_t)(digit % TACH_FIRST_LINE_MORE) << shift;
		if (digit < TACH_FIRST_LINE_MORE)
			return true;
	}
	return false;
}

bool tach_take_first_lines(const uint8_t *p, const uint8_t *end, struct frame *frames, uint32_t cnt)
{
	const uint8_t *at = p;
	uint64_t number;
	int64_t first;
	uint32_t i;

	for (i = 0; i < cnt && p < end; i++)
		if (!get_number(&at, end, &number))
			return false;
	if (at != end)
		return false;
	for (i = 0; i < cnt && p < end; i++) {
		get_number(&p, end, &number);
		first = frames[i].line - (int64_t)(number % 2 ? number / 2 : -(number / 2));
		frames[i].first_line = number && first > 0 && first <= INT32_MAX ?
				       (int32_t)first : 0;
	}
	return true;
}

/* The length of the prefix that marks a string of first lines; 0: it has none. */
static size_t first_lines_head(const struct string_ref *s)
{
	size_t head = strlen(TACH_FIRST_LINES), head_long = strlen(TACH_FIRST_LINES_LONG);

	if (s->len >= head && !memcmp(s->data, TACH_FIRST_LINES, head))
		return head;
	return s->len >= head_long && !memcmp(s->data, TACH_FIRST_LINES_LONG, head_long) ?
	       head_long : 0;
}

bool tach_take_first_line_string(const struct string_ref *strings, uint32_t string_cnt,
				 struct frame *frames, uint32_t frame_cnt)
{
	const struct string_ref *last = string_cnt ? &strings[string_cnt - 1] : NULL;
	size_t head = last ? first_lines_head(last) : 0;
	const uint8_t *data;
	uint32_t i;

	if (!head)
		return false;
	for (i = 0; i < frame_cnt; i++)
		if (frames[i].file == string_cnt - 1 || frames[i].func == string_cnt - 1)
			return false;
	data = (const uint8_t *)last->data;
	tach_take_first_lines(data + head, data + last->len, frames, frame_cnt);
	return true;
}

int tach_take_meta(const uint8_t *header, enum profile_layout layout, bool swapped,
		   struct profile_meta *meta, uint32_t *mode)
{
	uint64_t v[TACH_FIELD_CNT];
	uint32_t config;
	int i;

	for (i = 0; i < TACH_FIELD_CNT; i++)
		v[i] = tach_field_get(header, layout, i, swapped);
	config = (uint32_t)v[TACH_F_CONFIG];
	*meta = (struct profile_meta){
		.python_major = (uint8_t)v[TACH_F_PY_MAJOR],
		.python_minor = (uint8_t)v[TACH_F_PY_MINOR],
		.python_micro = (uint8_t)v[TACH_F_PY_MICRO],
		.start_us = v[TACH_F_START_US],
		.interval_us = v[TACH_F_INTERVAL_US],
		.features_known = config & TACH_CONFIG_FEATURES_KNOWN,
		.features = config >> TACH_CONFIG_FEATURES_SHIFT & TACH_CONFIG_FEATURES_MASK,
	};
	*mode = config & TACH_CONFIG_MODE_MASK;
	meta->mode = (enum profile_mode)((int)*mode - 1);
	return *mode > MODE_EXCEPTION + 1 ? -EBADMSG : 0;
}
