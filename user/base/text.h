/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* text.h - makes hostile text printable, and cuts text to a width for people. */
#ifndef TACHBPF_TEXT_H
#define TACHBPF_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Returns s (hostile) as printable text, which the caller frees; NULL: out of memory. */
char *text_escape(const char *s, size_t len);

/* Returns the noun after a number: one if it is 1, else many. Such as "process", "processes". */
const char *text_plural(uint64_t cnt, const char *one, const char *many);

/*
 * Returns the width of the terminal that out goes to, 80 if unknown; 0: not a terminal, so nothing
 * need be cut.
 */
#define TEXT_COLUMNS 80
size_t text_terminal_width(FILE *out);
/*
 * Keeps the current width of stdout: it is about to become a pipe to a program that shows it on
 * this terminal.
 */
void text_keep_terminal_width(void);

/*
 * Prints text and a newline, in lines of at most width columns, broken at blanks and newlines; they
 * begin at column indent, to which the caller has moved. 0: text unchanged.
 */
void text_wrap(FILE *out, const char *text, size_t indent, size_t width);

/* As text_wrap(), of what write() puts into a stream in memory. 0 or -ENOMEM. */
int text_wrap_written(FILE *out, void (*write)(const void *ctx, FILE *text), const void *ctx,
		      size_t width);

enum text_cut { CUT_LEFT, CUT_RIGHT };	/* where "…" goes when it is too long */

/* Prints text in width columns: padded with spaces if pad, cut if longer. 0: in full. */
void text_print(FILE *out, const char *text, size_t width, enum text_cut cut, bool pad);

/* Cuts text, in a buffer of size bytes, to width columns with "…". 0: in full. Returns text. */
char *text_shorten(char *text, size_t size, size_t width);

/* A column of a table for people. */
struct text_column {
	size_t width;		/* 0: the width of each text */
	enum text_cut cut;	/* of wider texts */
	bool right;		/* texts are right-aligned */
	bool spill;		/* wider texts are not cut, and shift the rest of the row */
};

/* Returns the larger of width and the text's: for a column that is as wide as its widest text. */
size_t text_widest(size_t width, const char *text);

/* Prints one cell. more: another cell follows in the row, so padding and two spaces are added. */
void text_cell(FILE *out, const struct text_column *column, const char *text, bool more);

#endif
