/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * taken.h - the locks that a frame has acquired or released by hand, as far as its code shows.
 *
 * A guess. The code up to where the frame is, is taken to have been executed once, from top to
 * bottom, and variables and attributes to have the values that they have now.
 */
#ifndef TACHBPF_CPYTHON_TAKEN_H
#define TACHBPF_CPYTHON_TAKEN_H

#include "cpython/frames.h"

/* Locks of one frame; more are not listed. */
#define PY_TAKEN_MAX 8

struct py_taken {
	uint64_t lock;		/* as py_lock_of() */
	uint32_t lasti;		/* byte offset of its last acquire() or release() */
	bool held;		/* that was acquire() */
};

/* Does the code use one of the names acquire and release? False also if it cannot be read. */
bool py_code_takes(struct py_walk *w, uint64_t code);
/* Does it use the name release? True also if it cannot be read. */
bool py_code_releases(struct py_walk *w, uint64_t code);

/* List them. 0, or -errno of py_frame_variables(); *cnt are valid in any case. */
int py_frame_taken(struct py_walk *w, const struct py_frames_at *at, const struct py_frame *frame,
		   struct py_taken out[PY_TAKEN_MAX], uint32_t *cnt);

#endif
