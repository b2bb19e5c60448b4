/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * canvas.h - the contents of a terminal, line by line. Only changed lines are written, all of them
 * by one write(2), so nothing flickers.
 */
#ifndef TACHBPF_LIVE_CANVAS_H
#define TACHBPF_LIVE_CANVAS_H

#include <stddef.h>

enum canvas_style { CANVAS_PLAIN, CANVAS_BOLD, CANVAS_REVERSE, CANVAS_RED, CANVAS_DIM };

struct canvas;

/* Returns NULL with errno. */
struct canvas *canvas_new(void);
void canvas_free(struct canvas *c);

/* Begins an empty picture of this size. After another size all is drawn. Returns 0 or -ENOMEM. */
int canvas_begin(struct canvas *c, size_t rows, size_t columns);

/*
 * Adds printable text (text_escape()) to the end of a line; cuts it at the last column. A line
 * beyond the last one is ignored.
 */
void canvas_add(struct canvas *c, size_t row, enum canvas_style style, const char *text);
/* Adds blanks up to the end of the line. */
void canvas_fill(struct canvas *c, size_t row, enum canvas_style style);

/* Writes the changes to a terminal. Returns 0 or -errno. */
int canvas_draw(struct canvas *c, int fd);

#endif
