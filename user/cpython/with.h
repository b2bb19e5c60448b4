/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * with.h - the `with` statements that a frame is inside of.
 *
 * Their __exit__ is on the frame's value stack. Which entries of the stack are in use is shown by
 * the block stack up to 3.10, and from 3.11 on by the exception table: the handlers that the
 * current instruction would reach, and the number of values below each. A statement counts from the
 * return of its __enter__ until just before the call of its __exit__.
 */
#ifndef TACHBPF_CPYTHON_WITH_H
#define TACHBPF_CPYTHON_WITH_H

#include "cpython/frames.h"

/* Limit on nested statements: CPython allows 20, of all kinds. */
#define PY_WITHS_MAX 20
/*
 * Up to 3.10: the bytes of f_blockstack, which ends where the frame's slots begin, and how many
 * bytes before it f_iblock is.
 */
#define PY_BLOCKS_BYTES (20 * 12)
#define PY_IBLOCK_BEFORE 8

struct py_with {
	uint64_t self;		/* the object whose __exit__ the statement will call */
	uint32_t lasti;		/* byte offset of the instruction that entered it */
};

/* List them, innermost first. 0, or -errno of py_frame_variables(); *cnt are valid in any case. */
int py_frame_withs(struct py_walk *w, const struct py_frames_at *at, const struct py_frame *frame,
		   struct py_with out[PY_WITHS_MAX], uint32_t *cnt);

/* An entry of an exception table: byte offsets of the first instruction and after the last one. */
struct py_handler {
	uint32_t start, end, target;
	uint32_t depth;		/* number of values below it on the stack */
	bool of_with;		/* handler of a `with`, or cleanup after another handler */
};

#endif
