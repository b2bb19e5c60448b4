/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* task_read.h - reads one task: as part of a list (tasks.c), or only its frames. */
#ifndef TACHBPF_ASYNCIO_TASK_READ_H
#define TACHBPF_ASYNCIO_TASK_READ_H

#include <stdbool.h>

#include "asyncio/section.h"
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
};

/* The fields of a task that are needed here. */
struct task_fields {
	uint64_t name, awaited_by, coro, next, prev;
	uint8_t is_task, is_set;
};

int task_get(struct task_reader *r, uint64_t addr, void *buf, size_t len);
/* Read them from the task whose list node is at node. 0 or -errno. */
int task_fields_read(struct task_reader *r, uint64_t node, struct task_fields *f);

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
