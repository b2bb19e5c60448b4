/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * jit_watch.h - finds out whether a process runs machine code of CPython's own JIT (3.14 on).
 *
 * In such code a thread's instruction pointer is the one that the trace stored last: at its entry,
 * a call or an exit. Stacks are right, but lines may be those of another instruction of the trace.
 * No field of CPython leads from the machine code back to the instruction, so the profile carries a
 * remark.
 *
 * A code object that was compiled has a list of traces. The innermost frames of some threads are
 * checked, each second at first and then less and less often.
 */
#ifndef TACHBPF_JIT_WATCH_H
#define TACHBPF_JIT_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "cpython/code.h"
#include "resolve/threads.h"

struct jit_watch {
	bool found;
	uint32_t turns;		/* calls of jit_watch_look() so far */
};

/* Looks for a JIT. To be called once a second until found. mem reads the process. */
void jit_watch_look(struct jit_watch *w, const struct target_mem *mem,
		    const struct cpython_image *image, const struct threads *threads);
/*
 * Returns true if jit_watch_look() must also be called in the next second if no more records come.
 */
bool jit_watch_begins(const struct jit_watch *w, const struct cpython_image *image,
		      const struct threads *threads);

#endif
