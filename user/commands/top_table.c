// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* top_table.c - see top_table.h. */
#include "commands/top_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/util.h"

#define GAP 2

static const struct {
	const char *heading;
	bool right;
	size_t least, most;	/* of texts on a terminal */
} columns_of[TOP_CELLS] = {
	[TOP_PID] = { "pid", true }, [TOP_CPU] = { " cpu %", true }, [TOP_GIL] = { "gil %", true },
	[TOP_GC] = { " gc %", true }, [TOP_THREADS] = { "threads", true },
	[TOP_LOST] = { "  lost", true }, [TOP_PYTHON] = { "python ", false },
	[TOP_PROGRAM] = { "program", false, 16, 60 },
	[TOP_WHERE] = { "container or user", false, 10, 32 },
	[TOP_HOTTEST] = { "hottest line, % of process", false, 14, 200 },
};

/* Room for texts that less important columns must leave. */
#define ROOMY 58
#define ROOMY_PLACED 70
/* With less room, only the program is shown. */
#define TINY 20

void top_cells_free(struct top_cells *cells)
{
	int c;

	for (c = 0; c < TOP_CELLS; c++)
		free(cells->text[c]);
	*cells = (struct top_cells){ .placed = false };
}

static const char *text_of(const struct top_cells *cells, enum top_cell c)
{
	return !cells ? columns_of[c].heading : cells->text[c] ? cells->text[c] : "?";
}

static bool is_placed(const struct top_cells *rows, size_t cnt)
{
	size_t i;

	for (i = 0; i < cnt && !rows[i].placed; i++)
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

/*
 * Leaves out numbers for the sake of the texts. The contents of rows matter as little as possible:
 * a column that comes and goes is hard to read.
 */
static void drop_numbers(struct top_layout *l, size_t columns, bool placed, bool losses)
{
	static const enum top_cell order[] = { TOP_PYTHON, TOP_GC, TOP_THREADS, TOP_LOST };
	size_t roomy = placed ? ROOMY_PLACED : ROOMY, least, i;

	if (!losses)
		l->width[TOP_LOST] = 0;
	for (i = 0; i < ARRAY_SIZE(order) && room_for_texts(l, columns) < roomy; i++)
		l->width[order[i]] = 0;
	least = columns_of[TOP_PROGRAM].least + GAP + columns_of[TOP_HOTTEST].least +
		(placed ? columns_of[TOP_WHERE].least + GAP : 0);
	if (room_for_texts(l, columns) < least)
		l->width[TOP_GIL] = 0;
	if (room_for_texts(l, columns) < least)
		l->width[TOP_HOTTEST] = 0;
}

static size_t smaller_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Divides the room among the texts. */
static void divide_room(struct top_layout *l, size_t room, bool placed)
{
	size_t *where = &l->width[TOP_WHERE], *program = &l->width[TOP_PROGRAM];
	size_t most = room / 5 > columns_of[TOP_WHERE].least ? room / 5 :
							       columns_of[TOP_WHERE].least;

	if (!placed && room < ROOMY_PLACED)
		*where = 0;
	*where = room < TINY ? 0 : smaller_of(*where, most);
	if (*where)
		room -= *where + GAP;
	if (!l->width[TOP_HOTTEST]) {
		*program = room ? smaller_of(*program, room) : 1;
		return;
	}
	most = (room - GAP) / 2;
	*program = smaller_of(*program, most > columns_of[TOP_PROGRAM].least ?
					 most : columns_of[TOP_PROGRAM].least);
	l->width[TOP_HOTTEST] = room - *program - GAP;
}

void top_layout_make(struct top_layout *out, const struct top_cells *rows, size_t cnt,
		     size_t columns)
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
	if (!columns)
		return;
	drop_numbers(out, columns, placed, has_losses(rows, cnt));
	divide_room(out, room_for_texts(out, columns), placed);
}

char *top_layout_line(const struct top_layout *l, const struct top_cells *cells)
{
	int last = l->width[TOP_HOTTEST] ? TOP_HOTTEST : l->width[TOP_WHERE] ? TOP_WHERE :
									       TOP_PROGRAM;
	char *line = NULL;
	size_t len;
	FILE *out = open_memstream(&line, &len);
	int c;

	if (!out)
		return NULL;
	for (c = 0; c <= last; c++) {
		const struct text_column column = { .width = l->width[c], .cut = CUT_RIGHT,
						    .right = columns_of[c].right };

		if (l->width[c])
			text_cell(out, &column, text_of(cells, c), c != last);
	}
	if (!fclose(out))
		return line;
	free(line);
	return NULL;
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
