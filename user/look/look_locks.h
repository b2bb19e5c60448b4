/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * look_locks.h - for which locks threads and asyncio tasks wait, who holds them, and whether they
 * wait for each other in a circle: a deadlock.
 *
 * Some locks record their holder. A threading.Lock does not: the holder is the thread inside a
 * `with` statement of it, if there is only one. That is certain unless code that runs inside the
 * statement may have released the lock by hand. The caller of acquire() is a guess.
 *
 * A deadlock is reported only if each of its threads waits for a lock that the next one holds, and
 * none of them has run between two readings of all of this. For tasks: if each is at the same place
 * as before the holders were read.
 */
#ifndef TACHBPF_LOOK_LOOK_LOCKS_H
#define TACHBPF_LOOK_LOOK_LOCKS_H

#include "asyncio/tasks.h"
#include "cpython/lock.h"
#include "look/look_seen.h"

/* Threads of a deadlock; a longer one is not reported. */
#define LOOK_CONFIRMED_MAX 256
/* Locks of a process with waiters; more are ignored. */
#define LOOK_LOCKS_MAX 1024
/* Longer names and paths are cut. */
#define LOOK_FUNCTION_BYTES 128
#define LOOK_PATH_BYTES 512

/* A lock that a thread waits for. */
struct look_lock {
	uint64_t addr;		/* of the object */
	uint32_t kind;		/* enum py_lock_kind */
	uint32_t holder;	/* index of the thread, or task, that holds it; LOOK_NO_HOLDER */
	uint64_t holder_tid;	/* of a thread; 0: unknown */
	bool sure;		/* it certainly holds it; otherwise it may */
	bool foreign;		/* no thread of this process holds it */
	bool by_hand;		/* acquire() was called; otherwise it is inside a `with` */
	/* Lines of the holder's function, and where it took the lock; import lock: LINE_NONE. */
	int32_t line, since_line;
	char function[LOOK_FUNCTION_BYTES];	/* that holds it, any UTF-8; "": unknown */
	char path[LOOK_PATH_BYTES];
	char module[PY_LOCK_MODULE_BYTES];	/* of PY_LOCK_IMPORT */
	/* Of PY_LOCK_PERMITS, which has no holder: tasks inside of an `async with`, and one. */
	uint32_t holders, first;
};
#define LOOK_NO_HOLDER UINT32_MAX

/* One request to the worker, and its answer. */
struct look_locks {
	int32_t tgid;
	bool confirm;		/* find the steady ones, too; at most LOOK_CONFIRMED_MAX */
	bool tasks;		/* about tasks instead of threads; always with steady */
	bool cut;		/* some tasks were left out */
	bool nested;		/* the process is in its own pid namespace */
	struct py_frames_at at;
	struct tasks_at where;	/* of tasks */
	uint32_t cnt;
	struct look_lock_of {
		uint32_t tid;
		union {
			uint64_t futex;	/* that it waits on; 0: none */
			uint64_t task;	/* its address */
		};
		bool stands;	/* the caller sees whether it still waits on the futex */
		uint32_t lock;		/* found: 1 + the index of the lock; 0: none */
		bool steady;		/* found: it has not run while all this was read */
	} threads[LOOK_THREADS_MAX];	/* by tid; or tasks */
	uint32_t lock_cnt;		/* found */
	struct look_lock locks[LOOK_LOCKS_MAX];
};

/* In the worker: fills in the answer. The reads of memory and of /proc are limited. */
void look_locks_answer(struct look_locks *s);

/*
 * Sets lock and deadlock of a process's threads. Unknown ones stay 0. Returns the array that the
 * threads' locks point to, which the caller frees, or NULL. That a thread has waited all the time
 * is seen by a list of all threads (capture_check_scanned()) if a scan has found its futex, and in
 * /proc otherwise, or if one of them has not.
 */
struct look_lock *look_locks_of(const struct process *p, struct capture *capture,
				struct look_thread *threads, size_t cnt);

/* The lock that a task waits for. */
struct look_wait {
	const struct look_lock *lock;	/* NULL: no lock, or unknown */
	uint32_t deadlock;		/* as in struct look_thread */
};
struct task;
/*
 * The same for tasks: the first LOOK_THREADS_MAX are examined. at: as that of task_walk(). waits:
 * all 0, one for each.
 */
struct look_lock *look_task_locks_of(const struct process *p, const struct tasks_at *at,
				     const struct task *tasks, size_t cnt, struct look_wait *waits);

#endif
