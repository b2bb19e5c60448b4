/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * text.h - hostile text made printable, and text cut to a width for people.
 */
#ifndef TACHBPF_TEXT_H
#define TACHBPF_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* s (hostile) as printable text to be freed; NULL: out of memory. */
char *text_escape(const char *s, size_t len);

/* The noun behind a number: one if it is 1, else many. For example "process", "processes". */
const char *text_plural(uint64_t cnt, const char *one, const char *many);

/*
 * How wide the terminal is that out goes to, 80 if it does not say; 0: it is not a terminal, and
 * nothing need be cut.
 */
#define TEXT_COLUMNS 80
size_t text_terminal_width(FILE *out);
/*
 * From now on stdout is as wide as it is now: it is about to become a pipe to a program that shows
 * it on this terminal.
 */
void text_keep_terminal_width(void);

/*
 * Print text and a newline, in lines of at most width columns, broken at blanks, as which newlines
 * count; they begin at column indent, to which the caller has moved. 0: text as it is.
 */
void text_wrap(FILE *out, const char *text, size_t indent, size_t width);

/* As text_wrap(), of what write() puts into a stream in memory. 0 or -ENOMEM. */
int text_wrap_written(FILE *out, void (*write)(const void *ctx, FILE *text), const void *ctx,
		      size_t width);

enum text_cut { CUT_LEFT, CUT_RIGHT };	/* where "…" goes when it is too long */

/*
 * Print text in width columns: padded with spaces if pad, cut if longer. 0: as
 * long as it is.
 */
void text_print(FILE *out, const char *text, size_t width, enum text_cut cut, bool pad);

/* A column of a table for people. */
struct text_column {
	size_t width;		/* 0: as wide as each text is */
	enum text_cut cut;	/* of what is wider */
	bool right;		/* texts end at the column's right border */
	bool spill;		/* what is wider is not cut, and moves the rest of its row */
};

/* The wider of width and the text: for a column that is as wide as its widest text. */
size_t text_widest(size_t width, const char *text);

/* One cell. more: something follows in its row, so there is padding and two spaces behind it. */
void text_cell(FILE *out, const struct text_column *column, const char *text, bool more);

#endif
