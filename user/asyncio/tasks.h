/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tasks.h - reads asyncio's tasks (3.8+) from a process: their names, where their coroutines are,
 * and which tasks await them.
 *
 * From 3.14 on each thread, and each interpreter for threads that have ended, has a circular list
 * of its tasks; before, each interpreter has one or two sets of all its tasks (home.h), which count
 * as lists here. A list is read in batches, so that a call takes limited time. Meanwhile the
 * process may run and change the list, and the memory is hostile: every loop, every size and the
 * number of reads are limited. A task is read until two reads agree, or TASK_TRIES times: then it
 * is TASK_MOVED.
 */
#ifndef TACHBPF_ASYNCIO_TASKS_H
#define TACHBPF_ASYNCIO_TASKS_H

#include "asyncio/home.h"
#include "base/time.h"
#include "bpf/abi_async.h"
#include "cpython/code.h"

/* A longer name is cut between characters. */
#define TASK_NAME_BYTES 256
/* Limits on coroutines of one task, and on tasks that await one task. */
#define TASK_FRAMES_MAX 256
#define TASK_WAITERS_MAX 16384
#define TASK_TRIES 3

/* Limits of one batch: tasks, and all of their frames and waiters. */
#define TASKS_BATCH 512
#define TASKS_BATCH_FRAMES 8192
#define TASKS_BATCH_WAITERS 32768
/* Limit on tasks that are asked for by their addresses. */
#define TASK_ONES_MAX 64
/* Limits on non-empty lists of a process, and on threads and interpreters examined for them. */
#define TASK_LISTS_MAX 4096
#define TASK_THREADS_MAX 16384
#define TASK_INTERPS_MAX 1024

enum task_flag {
	TASK_MOVED = 1,		/* it changed while it was read: its fields may be inconsistent */
	TASK_EXECUTING = 2,	/* its coroutine is running: what it awaits now is unknown */
	TASK_CUT = 4,		/* more coroutines or waiters than are listed */
	TASK_NAMELESS = 8,	/* its name is neither a str nor an int, or was unreadable */
	TASK_RUNS = 16,		/* its thread runs it now (of a mixed list) */
	TASK_OF_MAIN = 32,	/* of its interpreter's main thread (of a mixed list) */
	TASK_EAGER = 64,	/* it was begun eagerly, and has not been suspended yet */
	TASK_OTHERS = 128,	/* it has a callback of no known shape: more tasks may await it */
};

/* What a task waits for: waits_for.h. */
enum waits_for_kind {
	WAITS_UNKNOWN,
	WAITS_SLEEP,
	WAITS_LOCK, WAITS_SEMAPHORE, WAITS_CONDITION, WAITS_EVENT, WAITS_BARRIER,
	WAITS_QUEUE_GET, WAITS_QUEUE_PUT, WAITS_QUEUE_JOIN,
	WAITS_SOCKET,
	WAITS_PROCESS, WAITS_EXECUTOR,
	WAITS_FUTURE,			/* of concurrent.futures */
	WAITS_KINDS,
};

#define WAITS_NAME_BYTES 64
struct task_waits_for {
	uint64_t obj;		/* the lock, the queue; 0: unknown, or none */
	uint64_t inode;		/* SOCKET: its number in sockfs; 0: unknown */
	int32_t fd;		/* SOCKET: its descriptor in the process; -1: unknown */
	uint8_t kind;		/* enum waits_for_kind */
	uint8_t pad[3];
	char name[WAITS_NAME_BYTES];	/* who has it: "self.jobs"; valid UTF-8; "": unknown */
};

struct task_row {
	uint64_t addr;
	uint32_t frame_at, frame_cnt;	/* in frames[]: outermost coroutine first */
	uint32_t waiter_at, waiter_cnt;	/* in waiters[] */
	uint8_t flags;			/* enum task_flag */
	uint32_t tid;			/* of a mixed list: as task_list.tid; else 0 */
	uint64_t loop;			/* up to 3.13: address of its event loop; 0: unknown */
	uint64_t order;			/* of trio: the earlier made, the smaller; else 0 */
	struct task_waits_for waits;	/* if tasks_at.waits was set; else UNKNOWN */
	char name[TASK_NAME_BYTES];	/* valid UTF-8 without NULs, NUL-terminated */
};

/* How a batch ended. */
enum tasks_end {
	TASKS_DONE,	/* the list's end was reached */
	TASKS_MORE,	/* continue at next */
	TASKS_LOST,	/* the list changed so that its continuation is lost: start again */
};

struct tasks_batch {
	uint8_t end;			/* enum tasks_end */
	uint64_t next;			/* for TASKS_MORE: tasks_at.node of the next call */
	uint32_t row_cnt, frame_cnt, waiter_cnt;
	uint32_t reads;			/* number of reads, for the caller's limit */
	uint32_t counted;		/* number of tasks, if they were only counted */
	struct task_row rows[TASKS_BATCH];
	struct raw_frame frames[TASKS_BATCH_FRAMES];
	uint64_t waiters[TASKS_BATCH_WAITERS];	/* addresses of tasks */
};

/* Copy the valid part of a batch; counts that are too high are reduced to the space available. */
void tasks_batch_copy(struct tasks_batch *to, const struct tasks_batch *from);

/* Whose tasks: trio.h has what is different. */
enum tasks_library {
	TASKS_ASYNCIO,
	TASKS_TRIO,
};

/* Where to start. */
struct tasks_at {
	struct async_layout async;	/* 3.14+: valid; else only its coro is */
	struct async_homes homes;	/* 3.8 to 3.13: minor is set */
	struct py_layout l;
	struct py_object_layout objects;
	uint64_t interps;	/* of task_lists_read(): address of the pointer to the first one */
	uint64_t head;		/* of tasks_read(): struct task_list */
	uint64_t node;		/* where to continue; 0: at the list's beginning */
	uint64_t ones[TASK_ONES_MAX];	/* addresses of the only tasks to read */
	uint32_t one_cnt;	/* 0: read the list */
	uint32_t max;		/* limit on tasks of this call; 0: a full batch */
	uint8_t count;		/* 1: only count them, with one read each; *out has no rows */
	uint8_t waits;		/* 1: rows say what tasks wait for */
	uint8_t library;	/* enum tasks_library */
	uint8_t pad;
};

struct task_list {
	uint64_t head;		/* address of the list's node in the thread or interpreter; of
				 * the set up to 3.13 */
	uint64_t running;	/* the task that the thread runs now; 0: none */
	uint64_t interp_id;
	uint32_t tid;		/* in the process' own pid namespace; 0: of ended threads */
	uint8_t main;		/* 1: its interpreter's main thread */
	uint8_t mixed;		/* 1: of several threads: tid and flags of each row say which */
	uint8_t pad[2];
};

struct task_lists {
	uint32_t cnt;
	uint8_t cut;		/* there are more, or some were unreadable */
	struct task_list list[TASK_LISTS_MAX];
};

/*
 * The non-empty lists, in the order in which CPython 3.15 shows them: each interpreter's threads,
 * the newest first, then those that have ended. 0, also if out->cut; or -errno of mem if no
 * interpreter can be read.
 */
int task_lists_read(const struct target_mem *mem, const struct tasks_at *at,
		    struct task_lists *out);

/*
 * Read the next tasks of a list, in its order, until until_ns (of now_ns()); at least one, unless
 * they are only counted. *out is well-formed in any case. 0; -errno of mem: nothing was read.
 */
int tasks_read(const struct target_mem *mem, const struct tasks_at *at, uint64_t until_ns,
	       struct tasks_batch *out);

#endif
