/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * trio.h - the tasks of trio (0.22+) in CPython 3.8 to 3.15: as tasks.h has asyncio's.
 *
 * Each thread that runs trio has a Runner in trio's thread-local GLOBAL_RUN_CONTEXT, and that has a
 * set of all its tasks: one list. A task is in the nursery of another one, its parent, which cannot
 * end before it does: that one counts as the task that awaits it.
 *
 * The memory is hostile and may change while it is read.
 */
#ifndef TACHBPF_ASYNCIO_TRIO_H
#define TACHBPF_ASYNCIO_TRIO_H

#include "asyncio/task_read.h"
#include "asyncio/tasks.h"

/* Limit on threads that run trio, or have done so. */
#define TRIO_THREADS_MAX 1024

/* The parts of a task that are needed here. */
struct trio_task {
	uint64_t coro, name, nursery, counter;
};

/* Where a type's objects have these slots. The caller zeroes it. */
struct trio_slots {
	uint64_t type;		/* Task; 0: none was read so far */
	uint16_t coro, name, nursery, counter;
	uint32_t bytes;		/* of a task up to the last of them */
};

/* Read a task: with one read, unless it is of another type than the one before. 0 or -errno. */
int trio_task_read(struct task_reader *r, struct trio_slots *slots, uint64_t addr,
		   struct trio_task *out);
/* The task in whose nursery it is. 0; *parent 0: none, as of the first task; or -errno. */
int trio_parent_read(struct task_reader *r, uint64_t nursery, uint64_t *parent);

/*
 * What task_lists_read() and tasks_read() do with at->library TASKS_TRIO. -ENOENT: trio is not
 * loaded. A list's node is 1 + the number of the set's slot to continue at.
 */
int trio_lists_read(const struct target_mem *mem, const struct tasks_at *at,
		    struct task_lists *out);
int trio_tasks_read(const struct target_mem *mem, const struct tasks_at *at, uint64_t until_ns,
		    struct tasks_batch *out);

#endif
