/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * taken.h - the locks that a frame has acquired or released explicitly, as far as its code shows.
 *
 * This is an estimate: it assumes that the code up to the frame's position was executed once, from
 * top to bottom, and that variables and attributes had the values that they have now.
 */
#ifndef TACHBPF_CPYTHON_TAKEN_H
#define TACHBPF_CPYTHON_TAKEN_H

#include "cpython/frames.h"

/* Limit on locks of one frame. */
#define PY_TAKEN_MAX 8

struct py_taken {
	uint64_t lock;		/* as py_lock_of() */
	uint32_t lasti;		/* byte offset of its last acquire() or release() */
	bool held;		/* it was acquire() */
};

/* Returns true if the code uses the name acquire or release; false also if it cannot be read. */
bool py_code_takes(struct py_walk *w, uint64_t code);
/* Returns true if the code uses the name release, or cannot be read. */
bool py_code_releases(struct py_walk *w, uint64_t code);

/* List them. 0, or -errno of py_frame_variables(); *cnt are valid in any case. */
int py_frame_taken(struct py_walk *w, const struct py_frames_at *at, const struct py_frame *frame,
		   struct py_taken out[PY_TAKEN_MAX], uint32_t *cnt);

#endif
