/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rlock.h - finds out for which threading.RLock a thread waits, and who holds it.
 *
 * An RLock records who holds it. A threading.Lock does not, and a PyMutex does not either. The proof
 * is the futex that the thread waits on: up to 3.13 it is the semaphore that the RLock points to;
 * from 3.14 on it is in an entry on the thread's own stack, with the address of the RLock's mutex
 * beside it. So a lock that is found is the right one, or none is found.
 */
#ifndef TACHBPF_CPYTHON_RLOCK_H
#define TACHBPF_CPYTHON_RLOCK_H

#include "cpython/frames.h"

struct py_rlock {
	uint64_t addr;		/* of the object; 0: none was found */
	uint64_t owner;		/* pthread_self() of the thread that holds it; 0: none */
};

/*
 * Find the RLock whose futex a thread waits on. state: its thread state, which is needed up to 3.13
 * only: the RLock is in a variable or on the value stack of its innermost function. Valid if the
 * thread waits before and after the call. 0, -ENOENT: it waits for no RLock, or it is not found;
 * -errno of py_get().
 */
int py_rlock_find(struct py_walk *w, const struct py_frames_at *at, uint64_t state,
		  uint64_t futex, struct py_rlock *out);

/* Does py_rlock_find() need the thread state? */
bool py_rlock_needs_state(const struct py_object_layout *o);

#endif
