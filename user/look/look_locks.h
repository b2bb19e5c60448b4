/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * look_locks.h - for which locks threads wait, and asyncio tasks, who holds them, and whether they
 * wait for each other in a circle: a deadlock.
 *
 * Some locks record who holds them. A threading.Lock does not: it is held by the thread that is
 * inside of a `with` statement of it, if only one is. That is certain unless code that runs inside
 * of the statement may have released the lock by hand. Who has called acquire() is a guess.
 *
 * A deadlock is reported only if each of its threads waits for a lock that the next one holds, and
 * none of them has run between two readings of all of this. Of tasks: if each stands where it stood
 * before the holders were read.
 */
#ifndef TACHBPF_LOOK_LOOK_LOCKS_H
#define TACHBPF_LOOK_LOOK_LOCKS_H

#include "bpf/abi_async.h"
#include "cpython/lock.h"
#include "look/look_seen.h"

/* Threads of a deadlock; a longer one is not reported. */
#define LOOK_CONFIRMED_MAX 256
/* Locks of a process that are waited for; more are not known. */
#define LOOK_LOCKS_MAX 1024
/* Longer names and paths are cut. */
#define LOOK_FUNCTION_BYTES 128
#define LOOK_PATH_BYTES 512

/* A lock that a thread waits for. */
struct look_lock {
	uint64_t addr;		/* of the object */
	uint32_t kind;		/* enum py_lock_kind */
	uint32_t holder;	/* index of the thread, or task, that holds it; LOOK_NO_HOLDER */
	uint64_t holder_tid;	/* of a thread; 0: not known */
	bool sure;		/* it holds it for certain; else it may */
	bool foreign;		/* no thread of this process holds it */
	bool by_hand;		/* acquire() was called; else it is inside of a `with` */
	/* Where the holder's function is, and where it took it; of an import lock LINE_NONE. */
	int32_t line, since_line;
	char function[LOOK_FUNCTION_BYTES];	/* that holds it, any UTF-8; "": not known */
	char path[LOOK_PATH_BYTES];
	char module[PY_LOCK_MODULE_BYTES];	/* of PY_LOCK_IMPORT */
};
#define LOOK_NO_HOLDER UINT32_MAX

/* One question to the worker, and its answer. */
struct look_locks {
	int32_t tgid;
	bool confirm;		/* say who is steady, too; at most LOOK_CONFIRMED_MAX threads */
	bool tasks;		/* about tasks instead of threads; they always say who is steady */
	bool cut;		/* there are more tasks than these */
	bool nested;		/* the process is in a pid namespace of its own */
	struct py_frames_at at;
	struct async_layout async;	/* of tasks */
	uint32_t cnt;
	struct look_lock_of {
		uint32_t tid;
		union {
			uint64_t futex;	/* that it waits on; 0: none */
			uint64_t task;	/* its address */
		};
		uint32_t lock;		/* found: 1 + the index of the lock; 0: none */
		bool steady;		/* found: it has not run while all of this was read */
	} threads[LOOK_THREADS_MAX];	/* by tid; or tasks */
	uint32_t lock_cnt;		/* found */
	struct look_lock locks[LOOK_LOCKS_MAX];
};

/* In the worker: answer. The reads of memory and of /proc are bounded. */
void look_locks_answer(struct look_locks *s);

/*
 * Set lock and deadlock of a process' threads. Those that are not known stay 0. Returns what the
 * threads' locks point to, to be freed, or NULL.
 */
struct look_lock *look_locks_of(const struct process *p, struct look_thread *threads, size_t cnt);

/* What a task waits for. */
struct look_wait {
	const struct look_lock *lock;	/* NULL: no lock, or unknown */
	uint32_t deadlock;		/* as in struct look_thread */
};
struct task;
/* The same of tasks, of which LOOK_THREADS_MAX are looked at. waits: all 0, one of each. */
struct look_lock *look_task_locks_of(const struct process *p, const struct async_layout *async,
				     const struct task *tasks, size_t cnt, struct look_wait *waits);

#endif
