/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * jit_watch.h - finds out whether a process runs machine code of CPython's own JIT (3.14 on).
 *
 * In such code a thread's instruction pointer says where the trace has stored it last: at its
 * entry, at a call, at an exit. Stacks are right, lines may be those of another instruction of the
 * trace. No field of CPython leads from the machine code back to the instruction, so the profile
 * says that it is so.
 *
 * A code object that was compiled has a list of traces. The innermost frames of some threads are
 * looked at, in the first seconds and then ever more seldom.
 */
#ifndef TACHBPF_JIT_WATCH_H
#define TACHBPF_JIT_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "cpython/code.h"
#include "resolve/threads.h"

struct jit_watch {
	bool found;
	uint32_t turns;		/* so many calls of jit_watch_look() */
};

/*
 * To be called once a second while the process has records, until it is found. mem reads the
 * process.
 */
void jit_watch_look(struct jit_watch *w, const struct target_mem *mem,
		    const struct cpython_image *image, const struct threads *threads);
/* Is it to be called in the next second, too, even if no more records come? */
bool jit_watch_begins(const struct jit_watch *w, const struct cpython_image *image,
		      const struct threads *threads);

#endif
