/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* task_read.h - reads one task: as part of a list (tasks.c), or only its frames. */
#ifndef TACHBPF_ASYNCIO_TASK_READ_H
#define TACHBPF_ASYNCIO_TASK_READ_H

#include <stdbool.h>

#include "asyncio/coroutine.h"
#include "asyncio/section.h"
#include "cpython/callable.h"
#include "cpython/frames.h"
#include "asyncio/tasks.h"

/*
 * Limit on slots of a set of tasks that are examined, and slots read at a time. asyncio makes the
 * set no larger than four times its entries.
 */
#define TASK_SLOTS_MAX (4 * TASK_WAITERS_MAX)
#define TASK_SLOTS_A_READ 256
/*
 * Limits on reads: of one call, and of a task. A task takes about 10, and at most: for each
 * coroutine itself, the slot of what it awaits, its bytecode (4), code object (7) and itself again.
 */
#define TASK_READS_MAX 65536
#define TASK_READS_OF_ONE (TASK_TRIES * (14 * TASK_FRAMES_MAX + \
					 TASK_SLOTS_MAX / TASK_SLOTS_A_READ + 32))

#define TASK_TYPES 8

enum task_type {
	TASK_TYPE_OTHER,
	TASK_TYPE_COROUTINE,	/* coroutine, or a generator used as one */
	TASK_TYPE_ASYNC_GEN,
	TASK_TYPE_STEP,		/* step of an asynchronous generator: async_generator_asend */
	TASK_TYPE_WRAPPER,	/* coro.__await__(), anext(): what it wraps is its first member */
	TASK_TYPE_FUTURE,	/* iterator of a future that C made, which is its first member */
};

#define TASK_CODES 64		/* a power of two */

/* The caller begins walk (py_walk_init()), and at outlives it; the rest is 0. */
struct task_reader {
	struct py_walk walk;
	const struct tasks_at *at;
	/* Cache of types and code objects: most tasks share them. */
	struct {
		uint64_t addr;
		uint64_t flags;		/* tp_flags */
		enum task_type what;
	} types[TASK_TYPES];
	uint32_t next_type;
	struct {
		uint64_t addr;
		uint32_t id;
	} codes[TASK_CODES];
	/* Of waits_for.c: what code objects of asyncio are, and names of what is waited for. */
	struct {
		uint64_t code;
		uint8_t place;
		bool ours;
	} places[TASK_CODES];
	struct {
		uint64_t obj, code;	/* the caller's */
		char name[WAITS_NAME_BYTES];
	} names[TASK_CODES];
	uint64_t cell_type;
	struct py_callable_types callables;
};

/* The fields of a task that are needed here. */
struct task_fields {
	uint64_t name, awaited_by, coro, next, prev;
	uint8_t is_task, is_set;
};

/* State of a coroutine that must be the same after everything was read. */
struct coro_state {
	uint64_t addr, frame, code, ip;
	int8_t state;
};

/* A task that is being read. */
struct task_read {
	struct raw_frame *frames;	/* of the row, TASK_FRAMES_MAX; NULL: none are wanted */
	uint64_t *waiters;		/* of the row, TASK_WAITERS_MAX; NULL: none are wanted */
	struct task_row *row;
	uint64_t type;		/* of the outermost coroutine */
	struct coro_state coros[TASK_FRAMES_MAX];
	uint32_t coro_cnt;
	uint64_t awaits;	/* what the last of them awaits; 0: unknown */
	uint64_t future;	/* the future that this is, if C made it; else 0 */
};

int task_get(struct task_reader *r, uint64_t addr, void *buf, size_t len);
/* Read them from the task whose list node is at node. 0 or -errno. */
int task_fields_read(struct task_reader *r, uint64_t node, struct task_fields *f);

/* A task's name from its object. 0; -EBADMSG: neither a str nor an int; -errno: unreadable. */
int task_name_read(struct task_reader *r, uint64_t obj, char name[TASK_NAME_BYTES]);
/*
 * Add a task's coroutines, from the outermost one on, to t->coros, and their frames to its
 * row's. What cannot be read ends them.
 */
void task_coros_read(struct task_reader *r, struct task_read *t, uint64_t coro);
/* Returns true if the coroutines have not moved since they were read. */
bool task_coros_still(struct task_reader *r, const struct task_read *t);
/* Add a task that awaits it. Beyond TASK_WAITERS_MAX the row is TASK_CUT. */
void task_waiter_add(struct task_read *t, uint64_t task);

/*
 * Read the task into the next row, frames and waiters of *out, which has room for them. f: the
 * fields as read before; set to what they are now. 0, or -errno: the task is gone; no row was
 * added.
 */
int task_row_read(struct task_reader *r, uint64_t node, struct task_fields *f,
		  struct tasks_batch *out);

/*
 * The frames of a task's coroutines, innermost first. Returns their number. *whole: these are all,
 * and the task is not running; *where: a number that changes when one of them has continued.
 */
uint32_t task_frames_read(struct task_reader *r, uint64_t task,
			  struct py_frame out[TASK_FRAMES_MAX], bool *whole, uint64_t *where);

#endif
