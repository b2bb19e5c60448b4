/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * look.h - one look at Python processes: the last stack of each of their threads.
 *
 * A capture runs for some milliseconds. Its ticks see running threads, its scan sees sleeping ones,
 * and no process is stopped. The reason for a wait comes from the thread's stack and from the
 * arguments of its system call: as the scan found them, otherwise from /proc/PID/task/TID/syscall.
 */
#ifndef TACHBPF_LOOK_LOOK_H
#define TACHBPF_LOOK_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "look/look_greenlets.h"
#include "look/look_locks.h"
#include "look/look_seen.h"
#include "look/look_loops.h"
#include "memory/task_walk.h"

struct identities;
struct process;
struct proc_filter;

/* One process and its threads, the main thread first, then by tid. */
struct look_process {
	const struct process *process;	/* its names and tables */
	const struct look_thread *threads;
	size_t cnt;
	uint64_t gil_holder;	/* the only thread that holds a GIL; 0: none, or several */
	uint64_t beyond;	/* threads beyond LOOK_THREADS_MAX, or without memory for them */
	uint32_t unseen;	/* threads that have no Python stack, or were not seen */
	bool locals_cut;	/* with locals: some were not read */
	bool ended;		/* the process has ended since */
	struct look_tasks *tasks;	/* its asyncio tasks; NULL: not requested */
	struct look_tasks *trio;	/* its tasks of trio (look_trio.h); NULL: not requested */
	struct look_greenlets *greenlets;	/* NULL: not requested */
};

struct look_args {
	bool all;			/* every process on the host */
	const pid_t *pids;		/* otherwise these; pid_cnt of them */
	size_t pid_cnt;
	struct proc_filter *proc_filter;	/* conditions; NULL: none. Outlives the look */
	struct identities *identities;	/* outlives the look */
	uint32_t watch_ms;		/* duration of the look; 0: 30 ms */
	bool native;			/* stacks have functions of machine code */
	bool native_full, native_lines;	/* as in struct capture_args */
	bool locals;			/* threads get their variables, data of the process */
	bool tasks;			/* list asyncio's tasks, too */
	bool workers;			/* there is a keeper: this process gives up its rights */
	/* Called for each process; *p is valid in the call. Returns 0, or -errno to end. */
	int (*show)(void *ctx, const struct look_process *p);
	void *ctx;
};

struct look_counts {
	size_t shown;		/* processes */
	size_t failed;		/* of pids: not Python, gone, refused; each was logged */
};

/*
 * Looks at the processes, for watch_ms after they were found. Fills *counts. Returns 0 or -errno,
 * which was logged.
 */
int look_run(const struct look_args *args, struct look_counts *counts);

/* The asyncio tasks of a process, and the locks that they wait for. */

struct process;

struct look_tasks {
	int err;		/* 0: set and frames are valid. -ENOENT: asyncio is not loaded.
				 * -EOPNOTSUPP: CPython is older than 3.14. Otherwise unreadable */
	struct task_set set;
	uint32_t *frames;	/* of each of set.frames: its id in process_tables() */
	struct look_wait *waits;	/* of each task; NULL: none waits for a lock */
	struct look_lock *locks;	/* that waits point to */
	struct look_loops loops;	/* of asyncio */
};

#endif
