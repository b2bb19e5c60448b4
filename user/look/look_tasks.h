/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* look_tasks.h - the asyncio tasks of a process that is looked at, and the locks they wait for. */
#ifndef TACHBPF_LOOK_LOOK_TASKS_H
#define TACHBPF_LOOK_LOOK_TASKS_H

#include "look/look_locks.h"
#include "memory/task_walk.h"

struct process;

struct look_tasks {
	int err;		/* 0: set and frames are valid. -ENOENT: asyncio is not loaded.
				 * -EOPNOTSUPP: its CPython is below 3.14. Else they could not be read */
	struct task_set set;
	uint32_t *frames;	/* of each of set.frames: its id in process_tables() */
	struct look_wait *waits;	/* of each task; NULL: none waits for a lock */
	struct look_lock *locks;	/* that they point to */
};

/* Read them; names take up to a second. Always sets *out, which look_tasks_free() frees. */
void look_tasks_take(struct process *p, struct look_tasks *out);
void look_tasks_free(struct look_tasks *t);

#endif
