// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* tach_tail.c - encodes what follows the samples in a TACH file. See tach_tail.h. */
#include "formats/tach/tach_tail.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "formats/tach/tach_format.h"

static int add_string(struct buf *b, const struct string_ref *s)
{
	if (buf_reserve(b, (size_t)s->len + VARINT_MAX))
		return -ENOMEM;
	b->len = tach_put_varint(b->data + b->len, s->len) - b->data;
	return buf_add(b, s->data, s->len);
}

static int add_frame(struct buf *b, const struct frame *f, enum profile_layout layout)
{
	uint8_t *p;

	if (buf_reserve(b, 6 * VARINT_MAX + 1))
		return -ENOMEM;
	p = tach_put_varint(b->data + b->len, f->file);
	p = tach_put_varint(p, f->func);
	p = svarint_put(p, f->line);
	if (layout != LAYOUT_DRAFT2) {
		/* Ends are relative to starts; if either is unknown, the difference is 0. */
		p = svarint_put(p, f->line == LINE_NONE || f->end_line == LINE_NONE ?
				   0 : (int64_t)f->end_line - f->line);
		p = svarint_put(p, f->column);
		p = svarint_put(p, f->column == COLUMN_NONE || f->end_column == COLUMN_NONE ?
				   0 : (int64_t)f->end_column - f->column);
		*p++ = f->opcode;
	}
	b->len = p - b->data;
	return 0;
}

/* CPython refuses files with numbers that are not finite or that are negative. */
static bool is_sane(double v)
{
	return isfinite(v) && v >= 0;
}

static int add_stats(struct buf *b, const struct profile_stats *st)
{
	uint32_t version = TACH_STAT_VERSION, size = TACH_STAT_BYTES, present = 0;
	uint8_t raw[TACH_STAT_BYTES] = { 0 };

	if (!st || !st->known || !is_sane(st->duration_s) || !is_sane(st->sample_rate))
		return 0;
	memcpy(raw, &st->duration_s, 8);
	memcpy(raw + 8, &st->sample_rate, 8);
	if (st->error_known && is_sane(st->error_pct)) {
		memcpy(raw + 16, &st->error_pct, 8);
		present |= TACH_STAT_HAS_ERROR;
	}
	/* If there are more samples than planned, missed is negative. */
	if (st->missed_known && isfinite(st->missed_pct)) {
		memcpy(raw + 24, &st->missed_pct, 8);
		present |= TACH_STAT_HAS_MISSED;
	}
	memcpy(raw + 32, &present, 4);
	memcpy(raw + 40, TACH_STAT_MAGIC, 8);
	memcpy(raw + 48, &version, 4);
	memcpy(raw + 52, &size, 4);
	return buf_add(b, raw, sizeof(raw));
}

int tach_tail_strings(struct buf *b, const struct profile_tables *tables, uint32_t from)
{
	uint32_t i;
	int err = 0;

	for (i = from; !err && i < tables->string_cnt; i++)
		err = add_string(b, &tables->strings[i]);
	return err;
}

int tach_tail_frames(struct buf *b, enum profile_layout layout, const struct profile_tables *tables,
		     uint32_t from)
{
	uint32_t i;
	int err = 0;

	for (i = from; !err && i < tables->frame_cnt; i++)
		err = add_frame(b, &tables->frames[i], layout);
	return err;
}

/* 0: unknown; else how far the frame's line is from the first, folded as in a svarint, + 1. */
static uint64_t first_line_number(const struct frame *f)
{
	int64_t diff = (int64_t)f->line - f->first_line;

	return f->first_line <= 0 ? 0 : diff < 0 ? (uint64_t)-diff * 2 : (uint64_t)diff * 2 + 1;
}

int tach_tail_first_lines(struct buf *b, const struct profile_tables *tables, uint32_t from)
{
	uint32_t i;

	for (i = from; i < tables->frame_cnt && tables->frames[i].first_line <= 0; i++)
		;
	if (i == tables->frame_cnt)
		return 0;
	for (i = from; i < tables->frame_cnt; i++) {
		uint64_t number = first_line_number(&tables->frames[i]);

		if (buf_reserve(b, VARINT_MAX))
			return -ENOMEM;
		for (; number >= TACH_FIRST_LINE_MORE; number /= TACH_FIRST_LINE_MORE)
			b->data[b->len++] = (uint8_t)(TACH_FIRST_LINE_ZERO + TACH_FIRST_LINE_MORE +
						      number % TACH_FIRST_LINE_MORE);
		b->data[b->len++] = (uint8_t)(TACH_FIRST_LINE_ZERO + number);
	}
	return 0;
}

/* Appends the first lines as a string after the others. *cnt: 1 if any. 0 or -ENOMEM. */
static int add_first_lines(struct buf *b, const struct profile_tables *tables, uint32_t *cnt)
{
	struct buf text = { 0 };
	int err = buf_add(&text, TACH_FIRST_LINES, strlen(TACH_FIRST_LINES));

	if (!err)
		err = tach_tail_first_lines(&text, tables, 0);
	*cnt = text.len > strlen(TACH_FIRST_LINES) && text.len <= UINT32_MAX;
	if (!err && *cnt)
		err = add_string(b, &(struct string_ref){ (char *)text.data, (uint32_t)text.len });
	buf_free(&text);
	return err;
}

int tach_tail_build(struct buf *b, enum profile_layout layout, const struct profile_tables *tables,
		    const struct profile_stats *stats, size_t *frames_at)
{
	uint8_t footer[TACH_FOOTER_BYTES] = { 0 };
	uint32_t string_cnt = tables->string_cnt, more = 0;
	int err = tach_tail_strings(b, tables, 0);

	if (!err && string_cnt < UINT32_MAX)
		err = add_first_lines(b, tables, &more);
	string_cnt += more;
	*frames_at = b->len;
	if (!err)
		err = tach_tail_frames(b, layout, tables, 0);
	if (!err && layout == LAYOUT_RELEASE)
		err = add_stats(b, stats);
	memcpy(footer + TACH_FOOTER_STRINGS, &string_cnt, 4);
	memcpy(footer + TACH_FOOTER_FRAMES, &tables->frame_cnt, 4);
	return err ? err : buf_add(b, footer, sizeof(footer));
}
