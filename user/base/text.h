/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * text.h - hostile text made printable, and text cut to a width for people.
 */
#ifndef TACHBPF_TEXT_H
#define TACHBPF_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* s (hostile) as printable text to be freed; NULL: out of memory. */
char *text_escape(const char *s, size_t len);

/* How many columns text takes: one for each character. */
size_t text_width(const char *text);

/* How wide the terminal is that out goes to; 0: it is not a terminal. */
size_t text_terminal_width(FILE *out);

enum text_cut { CUT_LEFT, CUT_RIGHT };	/* where "…" goes when it is too long */

/*
 * Print text in width columns: padded with spaces if pad, cut if longer. 0: as
 * long as it is.
 */
void text_print(FILE *out, const char *text, size_t width, enum text_cut cut, bool pad);

#endif
