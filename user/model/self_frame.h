/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * self_frame.h - the frame of a stack that gets a sample's self, where functions are listed.
 *
 * A frame on top of a function that is not a function itself tells what the function does at that
 * moment: <GC>, <blocked in read>, <exception KeyError>, <kernel schedule>, <native>. It is a
 * detail of the function, which gets the self. Functions in machine code are functions like any
 * other, or details of the Python function that called them: the caller chooses. Stacks keep all
 * their frames.
 */
#ifndef TACHBPF_SELF_FRAME_H
#define TACHBPF_SELF_FRAME_H

#include <stdbool.h>

#include "model/event.h"

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

#endif
