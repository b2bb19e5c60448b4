/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * lock.h - determines which Python lock a thread waits for, and what the lock knows of its holder.
 *
 * The proof is the futex that the thread waits on: up to 3.13, and for multiprocessing's locks, it
 * is the semaphore that the lock points to; from 3.14 on (a Lock: from late releases of 3.13 on) it
 * is in an entry on the thread's own stack, next to the address of the lock's mutex. So a lock that
 * is found is the right one, or none is found. Neither threading.Lock nor asyncio.Lock knows who
 * holds it: see with.h.
 */
#ifndef TACHBPF_CPYTHON_LOCK_H
#define TACHBPF_CPYTHON_LOCK_H

#include "cpython/frames.h"

enum py_lock_kind {
	PY_LOCK_PLAIN,		/* threading.Lock */
	PY_LOCK_RLOCK,
	PY_LOCK_SEMAPHORE,	/* multiprocessing's Lock and RLock */
	PY_LOCK_CONDITION,	/* not a lock: the thread waits to be notified */
	PY_LOCK_IMPORT,		/* of a module that is being imported */
	PY_LOCK_ASYNCIO,	/* asyncio.Lock: a task waits for it, not a thread */
	PY_LOCK_PERMITS,	/* asyncio.Semaphore: likewise, and several tasks can have it */
	PY_LOCK_KINDS,
};

#define PY_LOCK_MODULE_BYTES 128

struct py_lock {
	uint64_t addr;		/* of the object; 0: not found */
	enum py_lock_kind kind;
	uint64_t owner;		/* pthread_self() of the thread that holds it; 0: unknown */
	bool foreign;		/* no thread of this process holds it (SEMAPHORE) */
	char module[PY_LOCK_MODULE_BYTES];	/* of IMPORT: its name, UTF-8, cut; "": unknown */
};

/*
 * Find the lock whose futex a thread waits on. state: its thread state. Valid if the thread waits
 * before and after the call. 0; -ENOENT: it waits for no such lock, or the lock is not found;
 * -errno of py_get().
 */
int py_lock_find(struct py_walk *w, const struct py_frames_at *at, uint64_t state,
		 uint64_t futex, struct py_lock *out);

/*
 * The asyncio.Lock or asyncio.Semaphore awaited by the task with this innermost frame, which is
 * that of its acquire(). *out is valid, with address 0, if there is none.
 */
void py_lock_awaited(struct py_walk *w, const struct py_frames_at *at,
		     const struct py_frame *innermost, struct py_lock *out);

/*
 * The lock, or asyncio.Semaphore, that `with obj` holds: obj itself, or that of a Condition; 0: obj
 * is of another kind.
 */
uint64_t py_lock_of(struct py_walk *w, uint64_t obj);
/* Returns true if this threading.Lock or asyncio.Lock is locked; false if it is unreadable. */
bool py_lock_is_held(struct py_walk *w, uint64_t lock);

/*
 * The lock of the Condition that waits in this frame, one of the two innermost ones: the thread or
 * task has released it, whatever `with` statement it is inside of. 0: there is none.
 */
uint64_t py_lock_given_up(struct py_walk *w, const struct py_frames_at *at,
			  const struct py_frame *frame);

#endif
