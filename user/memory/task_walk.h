/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * task_walk.h - the asyncio tasks of a process: all that are listed at the time of the walk.
 *
 * The process is never stopped. Each task is in the result once, even if lists are walked again
 * because they changed. Tasks that began or ended during the walk may be missing.
 */
#ifndef TACHBPF_MEMORY_TASK_WALK_H
#define TACHBPF_MEMORY_TASK_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "asyncio/tasks.h"
#include "host/socket_peers.h"

/* Limits for a process: on its tasks, and on all their frames and waiters. */
#define TASKS_MAX 100000
#define TASKS_FRAMES_MAX 2000000
#define TASKS_WAITERS_MAX 2000000
/*
 * How often a list is walked again whose continuation was lost, and the limit on reads for all
 * lists of a process, which a batch can exceed by TASK_READS_MAX: 10,000 tasks take 100,000.
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
	uint64_t order;			/* as struct task_row */
	bool running;			/* its thread runs it now */
	bool main_thread;
	bool cycle;			/* it awaits itself, through others: task_tree_new() */
	uint8_t flags;			/* enum task_flag */
	uint64_t loop;			/* as struct task_row */
	struct task_waits_for waits;
	char peer[SOCKET_PEER_BYTES];	/* of the socket that it waits for; "": unknown */
};

struct task_set {
	struct task *tasks;
	size_t cnt;
	struct raw_frame *frames;
	size_t frame_cnt;
	uint64_t *waiters;		/* addresses; see task_set_find() */
	size_t waiter_cnt;
	bool cut;	/* a limit on tasks, threads, frames, waiters or reads was exceeded */
	bool changed;	/* a list kept changing, or is not a list: tasks may be missing */
	bool unread;	/* ... or could not be read completely */
	void *own;	/* private to task_walk.c */
};

/* How a process is read: by the reader's functions, or by a test's. */
struct task_source {
	int (*lists)(pid_t tgid, const struct tasks_at *at, const struct task_lists **out);
	int (*tasks)(pid_t tgid, const struct tasks_at *at, const struct tasks_batch **out);
};
extern const struct task_source task_source_remote;	/* remote_mem.h */

/*
 * Walk all lists. at: everything except head, node and max is set. 0 and *out, which
 * task_set_free() frees; it may have no tasks. -errno of the source if nothing was readable;
 * -ENOMEM.
 */
int task_walk(const struct task_source *source, pid_t tgid, const struct tasks_at *at,
	      struct task_set *out);
void task_set_free(struct task_set *set);

/* Sort the tasks by their order. 0 or -ENOMEM: then the set can only be freed. */
int task_set_sort(struct task_set *set);

/* The index of the task at this address; UINT32_MAX: it is in no list. */
uint32_t task_set_find(const struct task_set *set, uint64_t addr);

#endif
