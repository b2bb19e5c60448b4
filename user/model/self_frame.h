/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * self_frame.h - to which frame of a stack a sample's self belongs, where functions are listed.
 *
 * What is on top of a function and is none itself says what the function does at that moment: <GC>,
 * <blocked in read>, <exception KeyError>, <kernel schedule>, <native>. It is a detail of the
 * function, whose self the sample is. Functions in machine code are functions as any other, or
 * details of the Python function that called them: that is the caller's choice. Stacks keep all
 * their frames.
 */
#ifndef TACHBPF_SELF_FRAME_H
#define TACHBPF_SELF_FRAME_H

#include <stdbool.h>

#include "model/event.h"

/* What is listed. */
enum self_of {
	SELF_OF_PYTHON,		/* Python functions: machine code is a detail */
	SELF_OF_FUNCTIONS,	/* functions of any language */
};

/*
 * Is this frame a detail? Those that stand for a Python function or for several are not
 * (<unresolved>, <unreadable frame>, <lost frame>, <truncated>, <switching>), nor those of threads
 * without a Python stack, nor functions of other profilers that have no file.
 */
bool frame_is_detail(const struct profile_tables *tables, uint32_t frame, enum self_of of);

/*
 * The index of the frame that has the self of a stack, innermost frame first: the first that is
 * no detail, else the root. 0 of an empty stack.
 */
uint32_t self_frame(const struct profile_tables *tables, const uint32_t *frames, uint32_t n,
		    enum self_of of);

#endif
