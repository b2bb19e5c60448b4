/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* svg_boxes.h - where the boxes of a flame graph are: the stacks as a tree, without a format. */
#ifndef TACHBPF_SVG_BOXES_H
#define TACHBPF_SVG_BOXES_H

#include <stddef.h>
#include <stdint.h>

#include "model/stacks.h"

/* Boxes that are narrower than this part of the picture are left out: 0.12 of 1200 pixels. */
#define SVG_NARROW 10000

/* The root, the process, the thread and the frames of an event. */
#define SVG_ROWS_MAX (3 + EVENT_MAX_FRAMES)

enum svg_box_kind { SVG_ALL, SVG_PROCESS, SVG_THREAD, SVG_FRAME };

struct svg_box {
	uint64_t start, weight;	/* from the left, in the unit of the stacks */
	uint32_t row;		/* 0 is the root */
	uint32_t what;		/* process, group or label of the stacks; 0 of SVG_ALL */
	enum svg_box_kind kind;
};

struct svg_boxes {
	struct svg_box *list;	/* by row, and from left to right */
	size_t cnt, cap;
	uint64_t total;		/* of all stacks */
	uint64_t narrow;	/* boxes that were left out */
	uint32_t rows;		/* at most SVG_ROWS_MAX */
};

/*
 * Arranges the stacks, children by name, below rows for the process if processes, and for the
 * thread if threads. 0 or -ENOMEM; free it by svg_boxes_free() in both cases.
 */
int svg_boxes_make(struct svg_boxes *b, const struct stacks *s, bool processes, bool threads);
void svg_boxes_free(struct svg_boxes *b);

#endif
