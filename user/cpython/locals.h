/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* locals.h - the arguments and local variables of a frame, as text. */
#ifndef TACHBPF_CPYTHON_LOCALS_H
#define TACHBPF_CPYTHON_LOCALS_H

#include "cpython/frames.h"
#include "cpython/value.h"

/* Limits on variables of one frame, and on names, which are cut between characters. */
#define LOCALS_MAX 50
#define LOCALS_NAME_BYTES 100

/* name: len arbitrary bytes of UTF-8. Returns false if no more are wanted. */
typedef bool (*py_local_fn)(void *ctx, const char *name, uint32_t len, bool argument,
			    const struct py_value *value);

/*
 * Call fn for each variable that has a value, in the order of the code object; at most LOCALS_MAX.
 * A variable that inner functions use, too, has its value in a cell. 0, or -errno of
 * py_frame_variables().
 */
int py_locals_read(struct py_walk *w, const struct py_frames_at *at, const struct py_frame *frame,
		   py_local_fn fn, void *ctx);

#endif
