/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * frames.h - reads from a process the threads of its interpreters, their frames, and where a frame
 * keeps its variables.
 *
 * The memory is hostile and may change while it is read: all lists are limited, and what was read
 * is valid only if the threads did not run meanwhile.
 */
#ifndef TACHBPF_CPYTHON_FRAMES_H
#define TACHBPF_CPYTHON_FRAMES_H

#include "cpython/layout.h"
#include "cpython/walk.h"

/* Limits on thread states of an interpreter, and on slots of a frame. */
#define PY_THREADS_MAX 16384
#define PY_SLOTS_MAX 4096

/* Where to start. */
struct py_frames_at {
	uint64_t interps;	/* address of the pointer to the first interpreter */
	struct py_layout layout;
	struct py_object_layout objects;
	bool musl;		/* the C library; else glibc */
};

struct py_thread {
	uint64_t state;		/* address of the PyThreadState */
	uint64_t ident;		/* pthread_self() */
	uint32_t tid;		/* in the process' own pid namespace */
	uint32_t order;		/* position in the lists, which begin with the newest interpreter */
};

struct py_frame {
	uint64_t addr, code;
};

/* A code object's variables. A slot is one variable, or one entry of the value stack. */
struct py_variables {
	uint64_t slots;		/* address of the frame's first slot */
	uint32_t cnt;		/* number of variables: the first slots */
	uint32_t arguments;	/* number of arguments: the first variables */
	uint32_t stack;		/* number of value stack entries, which follow */
	uint64_t names[3];	/* tuples of str: their names, one tuple after another; 0: none */
	uint64_t kinds;		/* bytes: CO_FAST_* of each variable (3.11+) */
	uint32_t plain;		/* number of variables that are not cells: the first (up to 3.10) */
};

/* Find the id of the thread with this pthread_self(), in the process' own pid namespace. */
int py_thread_tid(struct py_walk *w, bool musl, uint64_t ident, uint32_t *tid);

/* List the thread states. 0, or -errno of py_get(); *cnt are valid in any case. */
int py_threads_list(struct py_walk *w, const struct py_frames_at *at, struct py_thread *out,
		    uint32_t max, uint32_t *cnt);

/* Sort a list by tid, preserving the order otherwise, for py_threads_find(). */
void py_threads_sort(struct py_thread *list, uint32_t cnt);
/*
 * The first state of this thread in a sorted list; NULL: it has none. If it runs several
 * interpreters, its other states follow.
 */
const struct py_thread *py_threads_find(const struct py_thread *list, uint32_t cnt, uint32_t tid);

/*
 * List the frames of a thread state, innermost first, at most max, except those that are not
 * functions. *whole: the list was read completely. 0 or -errno of py_get(); *cnt are valid in any
 * case.
 */
int py_frames_list(struct py_walk *w, const struct py_frames_at *at, uint64_t state,
		   struct py_frame *out, uint32_t max, uint32_t *cnt, bool *whole);

/* The same from the frame at addr on, which no thread need have; 0: there is none. */
int py_frames_from(struct py_walk *w, const struct py_layout *l, uint64_t addr,
		   struct py_frame *out, uint32_t max, uint32_t *cnt, bool *whole);

/*
 * Find the byte offset of the instruction that a frame is at, or of a cache after it. 0; -ENOENT:
 * it has not begun, or is not a function; -errno of py_get().
 */
int py_frame_lasti(struct py_walk *w, const struct py_frames_at *at, const struct py_frame *frame,
		   uint32_t *lasti);

/* The copy of the bytecode that a thread of a free-threaded build executes; 0: it is gone. */
uint64_t py_own_bytecode(struct py_walk *w, const struct py_layout *l, uint64_t code,
			 uint32_t index);

/* Find the variables of a frame. 0; -EBADMSG: impossible numbers; -errno of py_get(). */
int py_frame_variables(struct py_walk *w, const struct py_frames_at *at,
		       const struct py_frame *frame, struct py_variables *out);

/* The object in a slot whose word is `bits`, without tags; 0: none. */
uint64_t py_slot_object(const struct py_frames_at *at, uint64_t bits);

#endif
