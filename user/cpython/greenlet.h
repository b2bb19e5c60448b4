/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * greenlet.h - one greenlet of a process (greenlet 1.0 to 3.5 in CPython 3.6 to 3.14): whether it
 * has begun, its parent, the frames that it has while it is suspended.
 *
 * The memory is hostile and may change while it is read.
 */
#ifndef TACHBPF_CPYTHON_GREENLET_H
#define TACHBPF_CPYTHON_GREENLET_H

#include "cpython/frames.h"

/* Words of greenlet's own data that are read: it has 24 or so. */
#define PY_GREENLET_WORDS 32

struct py_greenlet {
	uint64_t addr;		/* of the object */
	uint64_t data;		/* of its data: in the object up to 1.x */
	/* Of its C stack: where it is when it runs; how much, from start on, is in a copy. */
	uint64_t start, stop, copy, saved;
	uint64_t top;		/* frame object of its innermost function; 0: it runs, or none */
	bool early;		/* of 2.0 to 3.1.0 */
	uint8_t self_at;	/* then: the word of its data where it has itself */
	uint64_t words[PY_GREENLET_WORDS];	/* its data */
};

/* What is the same for all greenlets of a process. */
struct py_greenlet_kind {
	uint64_t type;		/* greenlet.greenlet */
	bool inside;		/* 1.x: the data is in the object */
	bool early;		/* 2.0 to 3.1.0 */
	uint8_t stack_at;	/* word of its data where the stack begins; early: one before it */
	uint8_t self_at;	/* word where a main greenlet has itself; 0: not known so far, and
				 * so is early */
};

/* type: that of greenlet.greenlet. 0; -EBADMSG: it has another form; -errno of py_get(). */
int py_greenlet_kind_of(struct py_walk *w, uint64_t type, struct py_greenlet_kind *out);

/*
 * Read the greenlet at addr, which is of that type or one below it. -EBADMSG: it is none, or was
 * freed; -errno of py_get().
 */
int py_greenlet_read(struct py_walk *w, const struct py_greenlet_kind *k, uint64_t addr,
		     struct py_greenlet *out);

/* The thread's own greenlet, which has its first functions. */
bool py_greenlet_is_main(const struct py_greenlet *g);
/* It is on a C stack: it runs, or is suspended. Else it has not begun, or has ended. */
bool py_greenlet_is_active(const struct py_greenlet *g);
bool py_greenlet_has_ended(const struct py_greenlet *g);

/* Learn from a main greenlet where others have their parent. Without effect for others. */
void py_greenlet_learn(struct py_greenlet_kind *k, const struct py_greenlet *main);
/* The parent; 0: none, or unknown. */
uint64_t py_greenlet_parent(const struct py_greenlet_kind *k, const struct py_greenlet *g);
/*
 * The frames of a suspended greenlet, as py_frames_list(). *whole is false also if the greenlet has
 * moved meanwhile: then they may be of two moments.
 */
int py_greenlet_frames(struct py_walk *w, const struct py_layout *l,
		       const struct py_greenlet_kind *k, const struct py_greenlet *g,
		       struct py_frame *out, uint32_t max, uint32_t *cnt, bool *whole);

#endif
