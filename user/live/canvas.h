/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * canvas.h - what a terminal shows, line by line. Only lines that have changed are written, and all
 * of them by one write(2), so nothing flickers.
 */
#ifndef TACHBPF_LIVE_CANVAS_H
#define TACHBPF_LIVE_CANVAS_H

#include <stddef.h>

enum canvas_style { CANVAS_PLAIN, CANVAS_BOLD, CANVAS_REVERSE, CANVAS_RED, CANVAS_DIM };

struct canvas;

/* NULL with errno. */
struct canvas *canvas_new(void);
void canvas_free(struct canvas *c);

/* Begin a picture of this size, with empty lines. After another size everything is drawn. 0 or -ENOMEM. */
int canvas_begin(struct canvas *c, size_t rows, size_t columns);

/*
 * Add printable text (text_escape()) to the end of a line; what is beyond the last column is cut. A line
 * beyond the last one is ignored.
 */
void canvas_add(struct canvas *c, size_t row, enum canvas_style style, const char *text);
/* Add blanks up to the end of the line. */
void canvas_fill(struct canvas *c, size_t row, enum canvas_style style);

/* Write what has changed to a terminal. 0 or -errno. */
int canvas_draw(struct canvas *c, int fd);

#endif
