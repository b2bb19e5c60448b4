/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * look_locks.h - for which RLocks threads wait, who holds them, and whether they wait for each
 * other in a circle: a deadlock.
 *
 * A deadlock is reported only if it is certain: each of its threads waits for a lock that the next
 * one holds, and none of them has run between two readings of all of this.
 */
#ifndef TACHBPF_LOOK_LOOK_LOCKS_H
#define TACHBPF_LOOK_LOOK_LOCKS_H

#include "cpython/frames.h"
#include "look/look_seen.h"

/* Threads of a deadlock; a longer one is not reported. */
#define LOOK_CONFIRMED_MAX 256

/* One question to the worker, and its answer. */
struct look_locks {
	int32_t tgid;
	bool confirm;		/* say who is steady, too; at most LOOK_CONFIRMED_MAX threads */
	bool nested;		/* the process is in a pid namespace of its own */
	struct py_frames_at at;
	uint32_t cnt;
	struct look_lock_of {
		uint32_t tid;
		uint64_t futex;		/* that it waits on; 0: none */
		uint64_t lock;		/* found: the RLock; 0: none */
		uint32_t holder;	/* found: the index of the thread that holds it; or NONE */
		bool steady;		/* found: it has not run while all of this was read */
	} threads[LOOK_THREADS_MAX];	/* by tid */
};
#define LOOK_NO_HOLDER UINT32_MAX

/* In the worker: answer. The reads of memory and of /proc are bounded. */
void look_locks_answer(struct look_locks *s);

/*
 * Number the circles, from 1 on, of a graph in which each of cnt nodes leads to one other, or to
 * LOOK_NO_HOLDER: circle[i] is the number of the one that node i is in; 0: none. Returns how many
 * there are.
 */
uint32_t look_circles(const uint32_t *next, uint32_t cnt, uint32_t *circle);

/* Set lock, lock_holder and deadlock of a process' threads. Those that are not known stay 0. */
void look_locks_of(const struct process *p, struct look_thread *threads, size_t cnt);

#endif
