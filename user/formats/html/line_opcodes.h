/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* line_opcodes.h - the counts of page_opcodes.h by line instead of by frame, for the heat map. */
#ifndef TACHBPF_LINE_OPCODES_H
#define TACHBPF_LINE_OPCODES_H

#include "formats/html/page_opcodes.h"

struct line_opcode {
	uint32_t line;		/* number of the line among all lines of the page */
	uint32_t name;		/* number of the opcode's name */
	uint32_t at;		/* line in its file; 0: unknown */
	uint64_t self;
};

/* Sorted by line; free it by line_opcodes_free(). */
struct line_opcodes {
	struct line_opcode *list;
	uint32_t cnt;
};

/*
 * line_of: number of the line of each frame of the tables, or none if the frame has no source file.
 * Returns 0 or -ENOMEM.
 */
int line_opcodes_make(struct line_opcodes *l, const struct page_opcodes *o,
		      const struct profile_tables *tables, const uint32_t *line_of, uint32_t none);
void line_opcodes_free(struct line_opcodes *l);

/* Adds those of the lines from..to - 1: their number, then columns of at, name and self. */
void line_opcodes_put(struct html_data *d, const struct line_opcodes *l, uint32_t from,
		      uint32_t to);

#endif
