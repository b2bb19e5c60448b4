/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * stack_frame.h - which frames count in a stack, and how two of them are distinguished: the same
 * for the list of distinct stacks (stacks.h) and for the call tree (stack_tree.h).
 */
#ifndef TACHBPF_STACK_FRAME_H
#define TACHBPF_STACK_FRAME_H

#include <stdbool.h>

#include "model/event.h"

/* The parts of a frame that distinguish it. Its opcode is never one of them. */
enum stack_detail {
	DETAIL_FUNCTION,	/* file and function */
	DETAIL_LINE,
	DETAIL_COLUMN,		/* line and first column */
	DETAIL_LOCATION,	/* first and last line and column */
};

/* Returns the frame's file, function and the parts in detail; the rest is ..._NONE. */
struct frame stack_frame_cut(enum stack_detail detail, const struct frame *f);

/*
 * Returns true if a frame with this file belongs to CPython's own profiler. CPython 3.15's replay
 * leaves out these frames (Lib/profiling/sampling/collector.py), and so do we.
 */
bool stack_frame_internal(const struct string_ref *file);

#endif
