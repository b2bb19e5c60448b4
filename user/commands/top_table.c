// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* top_table.c - see top_table.h. */
#include "commands/top_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/text.h"
#include "base/util.h"

#define GAP 2

static const struct {
	const char *heading;
	bool right;
	size_t most;		/* of texts on a terminal */
} columns_of[TOP_CELLS] = {
	[TOP_PID] = { "pid", true }, [TOP_CPU] = { " cpu %", true }, [TOP_GIL] = { "gil %", true },
	[TOP_GC] = { " gc %", true },
	[TOP_LAG] = { "loop lag", true }, [TOP_RSS] = { "  rss", true },
	[TOP_GROWTH] = { "rss/min", true }, [TOP_THREADS] = { "threads", true },
	[TOP_LOST] = { "  lost", true }, [TOP_PYTHON] = { "python ", false },
	[TOP_PROGRAM] = { "program", false, 60 },
	[TOP_WHERE] = { "container or user", false, 32 },
	[TOP_HOTTEST] = { "hottest line, % of process", false, 200 },
};

/* The least columns of texts, and what a program's should be: "gunicorn: worker [shop:app]". */
#define WHERE_LEAST 10
#define HOTTEST_LEAST 14
#define PROGRAM_LEAST 16
#define PROGRAM_GOOD 28

/* The room for texts that numbers must leave; with a container or unit, so much more. */
#define ROOM_FOR_ALL 58
#define ROOM_FOR_RSS 40
#define ROOM_FOR_HOTTEST (PROGRAM_LEAST + GAP + HOTTEST_LEAST)
#define ROOM_FOR_WHERE 20
#define MORE_PLACED (WHERE_LEAST + GAP)

void top_cells_free(struct top_cells *cells)
{
	int c;

	for (c = 0; c < TOP_CELLS; c++)
		free(cells->text[c]);
	*cells = (struct top_cells){ .placed = false };
}

static const char *text_of(const struct top_cells *cells, enum top_cell c)
{
	return cells->text[c] ? cells->text[c] : "?";
}

/* A heading that would be cut has another one. */
static const char *heading_of(const struct top_layout *l, enum top_cell c)
{
	bool cut = l->width[c] < strlen(columns_of[c].heading);

	return !cut ? columns_of[c].heading : c == TOP_WHERE ? "container" :
	       c == TOP_HOTTEST ? "hottest line" : columns_of[c].heading;
}

static bool is_placed(const struct top_cells *rows, size_t cnt)
{
	size_t i;

	for (i = 0; i < cnt && !rows[i].placed; i++)
		;
	return i < cnt;
}

static bool has_lags(const struct top_cells *rows, size_t cnt)
{
	size_t i;

	for (i = 0; i < cnt && (!rows[i].text[TOP_LAG] || !*rows[i].text[TOP_LAG]); i++)
		;
	return i < cnt;
}

static bool has_losses(const struct top_cells *rows, size_t cnt)
{
	size_t i;

	for (i = 0; i < cnt && !strcmp(text_of(&rows[i], TOP_LOST), "0"); i++)
		;
	return i < cnt;
}

/* Returns the columns that the texts after the numbers have. */
static size_t room_for_texts(const struct top_layout *l, size_t columns)
{
	size_t used = 0;
	int c;

	for (c = 0; c < TOP_PROGRAM; c++)
		used += l->width[c] ? l->width[c] + GAP : 0;
	return used < columns ? columns - used : 0;
}

static const enum top_cell sorted_columns[TOP_SORTS] = {
	[TOP_SORT_CPU] = TOP_CPU, [TOP_SORT_GIL] = TOP_GIL, [TOP_SORT_GC] = TOP_GC,
	[TOP_SORT_RSS] = TOP_RSS, [TOP_SORT_GROWTH] = TOP_GROWTH, [TOP_SORT_THREADS] = TOP_THREADS,
	[TOP_SORT_LOST] = TOP_LOST, [TOP_SORT_PID] = TOP_PID,
};

/*
 * Leaves out numbers for the sake of the texts, but as long as possible not the one that rows are
 * sorted by. Their contents matter as little as possible: a column that comes and goes is hard to
 * read.
 */
static void drop_numbers(struct top_layout *l, size_t columns, bool placed, bool losses,
			 enum top_cell sorted)
{
	static const struct {
		enum top_cell cell;
		size_t room;
	} order[] = {
		{ TOP_GC, ROOM_FOR_ALL },
		{ TOP_THREADS, ROOM_FOR_ALL }, { TOP_LOST, ROOM_FOR_ALL },
		{ TOP_GROWTH, ROOM_FOR_ALL }, { TOP_GIL, ROOM_FOR_ALL }, { TOP_RSS, ROOM_FOR_RSS },
		{ TOP_LAG, ROOM_FOR_RSS },
	};
	size_t more = placed ? MORE_PLACED : 0, i;

	if (!losses && sorted != TOP_LOST)
		l->width[TOP_LOST] = 0;
	/* A user is worth more than a version. */
	if (room_for_texts(l, columns) < ROOM_FOR_ALL + MORE_PLACED)
		l->width[TOP_PYTHON] = 0;
	for (i = 0; i < ARRAY_SIZE(order); i++)
		if (order[i].cell != sorted && room_for_texts(l, columns) < order[i].room + more)
			l->width[order[i].cell] = 0;
	if (room_for_texts(l, columns) < ROOM_FOR_HOTTEST + more)
		l->width[TOP_HOTTEST] = 0;
	if (sorted != TOP_CPU && room_for_texts(l, columns) < PROGRAM_LEAST + more)
		l->width[sorted] = 0;
}

static size_t smaller_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t larger_of(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Divides the room among the texts. */
static void divide_room(struct top_layout *l, size_t room, bool placed)
{
	size_t *where = &l->width[TOP_WHERE], *program = &l->width[TOP_PROGRAM], good;

	if (room < (placed ? ROOM_FOR_WHERE : ROOM_FOR_ALL + MORE_PLACED))
		*where = 0;
	*where = smaller_of(*where, larger_of(room / 5, WHERE_LEAST));
	if (*where)
		room -= *where + GAP;
	if (!l->width[TOP_HOTTEST]) {
		*program = larger_of(smaller_of(*program, room), 1);
		return;
	}
	good = smaller_of(PROGRAM_GOOD, room - GAP - HOTTEST_LEAST);
	*program = smaller_of(*program, larger_of((room - GAP) / 2, good));
	l->width[TOP_HOTTEST] = room - *program - GAP;
}

void top_layout_make(struct top_layout *out, const struct top_cells *rows, size_t cnt,
		     size_t columns, enum top_sort sort)
{
	bool placed = is_placed(rows, cnt);
	size_t i;
	int c;

	for (c = 0; c < TOP_CELLS; c++) {
		out->width[c] = strlen(columns_of[c].heading);
		for (i = 0; i < cnt; i++)
			out->width[c] = text_widest(out->width[c], text_of(&rows[i], c));
		if (columns && columns_of[c].most)
			out->width[c] = smaller_of(out->width[c], columns_of[c].most);
	}
	if (!has_lags(rows, cnt))
		out->width[TOP_LAG] = 0;
	if (!columns)
		return;
	drop_numbers(out, columns, placed, has_losses(rows, cnt), sorted_columns[sort]);
	divide_room(out, room_for_texts(out, columns), placed);
}

/* Returns the text of a cell. buf: room for it. */
static const char *shown_text(const struct top_layout *l, const struct top_cells *cells,
			      enum top_cell c, char buf[24])
{
	if (c != TOP_RSS || l->width[TOP_GROWTH] || *text_of(cells, TOP_GROWTH) != '+')
		return text_of(cells, c);
	snprintf(buf, 24, "%.20s↑", text_of(cells, c));
	return buf;
}

char *top_layout_line(const struct top_layout *l, const struct top_cells *cells)
{
	int last = l->width[TOP_HOTTEST] ? TOP_HOTTEST : l->width[TOP_WHERE] ? TOP_WHERE :
									       TOP_PROGRAM;
	char *line = NULL, buf[24];
	size_t len;
	FILE *out = open_memstream(&line, &len);
	int c;

	if (!out)
		return NULL;
	for (c = 0; c <= last; c++) {
		const struct text_column column = { .width = l->width[c], .cut = CUT_RIGHT,
						    .right = columns_of[c].right };

		if (l->width[c])
			text_cell(out, &column, cells ? shown_text(l, cells, c, buf) :
							heading_of(l, c), c != last);
	}
	if (!fclose(out))
		return line;
	free(line);
	return NULL;
}

double top_percent(uint64_t ns, uint64_t span_ns, uint32_t rate_hz)
{
	uint64_t slack_ns = span_ns / 100 + 2000000000ull / (rate_hz ? rate_hz : 1);

	return ns > span_ns && ns - span_ns <= slack_ns ? 100 : percent(ns, span_ns);
}

char *top_bytes(double bytes, char out[16])
{
	static const char units[] = "KMGTP";
	size_t i = 0;

	bytes /= 1024;
	/* 999.5 would be printed as 1000. */
	for (; bytes >= 999.5 && i + 2 < sizeof(units); i++)
		bytes /= 1024;
	snprintf(out, 16, bytes < 9.95 && i ? "%.1f%c" : "%.0f%c", bytes, units[i]);
	return out;
}

/* Returns the columns of the parts up to this rank. */
static size_t width_of_parts(const struct top_part *parts, size_t cnt, unsigned int rank)
{
	size_t width = 0, i;

	for (i = 0; i < cnt; i++)
		if (parts[i].rank <= rank)
			width += (width ? strlen(parts[i].gap) : 0) + text_widest(0, parts[i].text);
	return width;
}

void top_fit(char *out, size_t size, size_t columns, const struct top_part *parts, size_t cnt)
{
	unsigned int rank = 0;
	size_t i, len = 0;

	for (i = 0; i < cnt; i++)
		if (parts[i].rank > rank)
			rank = parts[i].rank;
	while (columns && rank && width_of_parts(parts, cnt, rank) > columns)
		rank--;
	*out = '\0';
	for (i = 0; i < cnt && len < size; i++) {
		if (parts[i].rank > rank)
			continue;
		snprintf(out + len, size - len, "%s%s", len ? parts[i].gap : "", parts[i].text);
		len += strlen(out + len);
	}
}
