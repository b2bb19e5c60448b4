/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * task_walk.h - the asyncio tasks of a process: all that are listed at the time of the walk.
 *
 * The process is never stopped. A task is in the result once, though the lists may be walked again
 * because they changed. Tasks that began or ended during the walk may be in it or not.
 */
#ifndef TACHBPF_MEMORY_TASK_WALK_H
#define TACHBPF_MEMORY_TASK_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cpython/tasks.h"

/* Of a process: more tasks are not listed; of all of them together, more frames and waiters. */
#define TASKS_MAX 100000
#define TASKS_FRAMES_MAX 2000000
#define TASKS_WAITERS_MAX 2000000
/*
 * A list whose way on is lost is walked so often again. All of a process' lists together take so
 * many reads, and at most the rest of a batch (TASK_READS_MAX) more: 10,000 tasks take 100,000.
 */
#define TASKS_AGAIN 8
#define TASKS_READS_MAX 4000000

struct task {
	uint64_t addr;
	const char *name;		/* hostile; "": TASK_NAMELESS */
	uint64_t interp_id;
	uint32_t tid;			/* as struct task_list */
	uint32_t frame_at, frame_cnt;	/* in frames[], outermost coroutine first */
	uint32_t waiter_at, waiter_cnt;	/* in waiters[] */
	bool running;			/* its thread runs it now */
	bool main_thread;
	bool cycle;			/* it awaits itself, by way of others: task_tree_new() */
	uint8_t flags;			/* enum task_flag */
};

struct task_set {
	struct task *tasks;
	size_t cnt;
	struct raw_frame *frames;
	size_t frame_cnt;
	uint64_t *waiters;		/* addresses; task_set_find() */
	size_t waiter_cnt;
	bool cut;	/* there are more tasks, threads, frames or waiters, or too many reads */
	bool changed;	/* a list changed all the time, or is no list: some may be missing */
	bool unread;	/* ... or could not be read to its end */
	void *own;	/* task_walk.c's */
};

/* How a process is read: reader's functions, or a test's. */
struct task_source {
	int (*lists)(pid_t tgid, const struct tasks_at *at, const struct task_lists **out);
	int (*tasks)(pid_t tgid, const struct tasks_at *at, const struct tasks_batch **out);
};
extern const struct task_source task_source_remote;	/* remote_mem.h */

/*
 * Walk all lists. at: all but head, node and max is set. 0 and *out, which task_set_free() frees; it
 * may have no task. -errno of the source if nothing could be read, -ENOMEM.
 */
int task_walk(const struct task_source *source, pid_t tgid, const struct tasks_at *at,
	      struct task_set *out);
void task_set_free(struct task_set *set);

/* The number of the task at this address; UINT32_MAX: it is in no list. */
uint32_t task_set_find(const struct task_set *set, uint64_t addr);

#endif
