/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * stack_frame.h - which frames count in a stack, and how two of them are distinguished: the same
 * for the list of distinct stacks (stacks.h) and for the call tree (stack_tree.h). Which of them
 * has the self.
 */
#ifndef TACHBPF_STACK_FRAME_H
#define TACHBPF_STACK_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/common_end.h"
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

/*
 * The frame of a stack that gets a sample's self, where functions are listed.
 *
 * A frame on top of a function that is not a function itself tells what the function does at that
 * moment: <GC>, <blocked in read>, <exception KeyError>, <kernel schedule>, <native>. It is a
 * detail of the function, which gets the self. Functions in machine code are functions like any
 * other, or details of the Python function that called them: the caller chooses. Stacks keep all
 * their frames.
 */

/* The functions that are listed. */
enum self_of {
	SELF_OF_PYTHON,		/* Python functions: machine code is a detail */
	SELF_OF_FUNCTIONS,	/* functions of any language */
};

/*
 * Returns true if this frame is a detail. Frames that stand for one or several Python functions are
 * not (<unresolved>, <unreadable frame>, <lost frame>, <truncated>, <switching>), nor are those of
 * threads without a Python stack, nor functions of other profilers that have no file.
 */
bool frame_is_detail(const struct profile_tables *tables, uint32_t frame, enum self_of of);

/*
 * Returns the index of the frame that has the self of a stack, innermost frame first: the first one
 * that is no detail, otherwise the root. 0 for an empty stack.
 */
uint32_t self_frame(const struct profile_tables *tables, const uint32_t *frames, uint32_t n,
		    enum self_of of);

/*
 * Returns the number of frames that two stacks share at their roots. The root comes last, as in an
 * event; a stack without frames may be NULL.
 */
static inline uint32_t frames_shared(const uint32_t *a, uint32_t a_cnt, const uint32_t *b,
				     uint32_t b_cnt)
{
	uint32_t most = a_cnt < b_cnt ? a_cnt : b_cnt;

	return most ? (uint32_t)common_end(a + a_cnt, b + b_cnt, most, sizeof(*a)) : 0;
}

#endif
