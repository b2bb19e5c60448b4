// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* canvas.c - see canvas.h. Sequences are those of ECMA-48, which all modern terminals support. */
#include "live/canvas.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

struct line {
	struct buf now, drawn;	/* bytes for the terminal, without the move to the line */
	size_t width;		/* columns in now */
};

struct canvas {
	struct line *lines;
	size_t rows, columns;
	bool all;		/* nothing is on the terminal yet */
	bool failed;		/* there was no memory for a text: draw everything the next time */
};

static const char *const style_on[] = {
	[CANVAS_PLAIN] = "", [CANVAS_BOLD] = "\033[1m", [CANVAS_REVERSE] = "\033[7m",
	[CANVAS_RED] = "\033[31m", [CANVAS_DIM] = "\033[2m",
};

struct canvas *canvas_new(void)
{
	return calloc(1, sizeof(struct canvas));
}

static void free_lines(struct canvas *c)
{
	size_t i;

	for (i = 0; i < c->rows; i++) {
		buf_free(&c->lines[i].now);
		buf_free(&c->lines[i].drawn);
	}
	free(c->lines);
	c->lines = NULL;
	c->rows = 0;
}

void canvas_free(struct canvas *c)
{
	if (!c)
		return;
	free_lines(c);
	free(c);
}

int canvas_begin(struct canvas *c, size_t rows, size_t columns)
{
	size_t i;

	if (rows != c->rows || columns != c->columns) {
		free_lines(c);
		c->lines = calloc(rows ? rows : 1, sizeof(*c->lines));
		if (!c->lines)
			return -ENOMEM;
		c->rows = rows;
		c->columns = columns;
		c->all = true;
	}
	for (i = 0; i < rows; i++) {
		c->lines[i].now.len = 0;
		c->lines[i].width = 0;
	}
	return 0;
}

/* Returns the bytes of at most `room` characters of text; *width: their number. */
static size_t fitting_bytes(const char *text, size_t room, size_t *width)
{
	size_t i = 0;

	*width = 0;
	while (text[i] && *width < room) {
		i++;
		while (((unsigned char)text[i] & 0xc0) == 0x80)
			i++;
		++*width;
	}
	return i;
}

/* A line without memory for its text is too short. */
static void put_text(struct canvas *c, struct line *l, enum canvas_style style, const char *text,
		     size_t len)
{
	const char *on = style_on[style];

	if (buf_reserve(&l->now, strlen(on) + len + 4)) {
		c->failed = true;
		return;
	}
	buf_add(&l->now, on, strlen(on));
	buf_add(&l->now, text, len);
	if (*on)
		buf_add(&l->now, "\033[0m", 4);
}

void canvas_add(struct canvas *c, size_t row, enum canvas_style style, const char *text)
{
	struct line *l;
	size_t width, len;

	if (row >= c->rows)
		return;
	l = &c->lines[row];
	len = fitting_bytes(text, c->columns - l->width, &width);
	if (!len)
		return;
	put_text(c, l, style, text, len);
	l->width += width;
}

void canvas_fill(struct canvas *c, size_t row, enum canvas_style style)
{
	char blanks[64];

	memset(blanks, ' ', sizeof(blanks) - 1);
	blanks[sizeof(blanks) - 1] = '\0';
	while (row < c->rows && c->lines[row].width < c->columns)
		canvas_add(c, row, style, blanks);
}

/*
 * The line is on the terminal from now on. A line that fills its row has no rest to erase: without
 * wrapping, the cursor is still on its last character.
 */
static int draw_line(struct buf *out, struct line *l, size_t row, size_t columns)
{
	char move[32];
	int n = snprintf(move, sizeof(move), "\033[%zu;1H", row + 1);
	struct buf was = l->drawn;

	if (buf_reserve(out, (size_t)n + l->now.len + 3))
		return -ENOMEM;
	buf_add(out, move, (size_t)n);
	buf_add(out, l->now.data, l->now.len);
	if (l->width < columns)
		buf_add(out, "\033[K", 3);
	l->drawn = l->now;
	l->now = was;
	return 0;
}

int canvas_draw(struct canvas *c, int fd)
{
	struct buf out = { 0 };
	size_t i;
	int err = c->all ? buf_add(&out, "\033[H\033[2J", 7) : 0;

	for (i = 0; !err && i < c->rows; i++) {
		struct line *l = &c->lines[i];

		if (c->all || l->now.len != l->drawn.len ||
		    (l->now.len && memcmp(l->now.data, l->drawn.data, l->now.len) != 0))
			err = draw_line(&out, l, i, c->columns);
	}
	if (!err)
		err = write_all(fd, out.data, out.len);
	c->all = err || c->failed;
	c->failed = false;
	buf_free(&out);
	return err;
}
