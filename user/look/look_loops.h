/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* look_loops.h - the event loops that run in the threads of a process that is looked at. */
#ifndef TACHBPF_LOOK_LOOK_LOOPS_H
#define TACHBPF_LOOK_LOOK_LOOPS_H

#include <stddef.h>

#include "asyncio/loop.h"

struct look_thread;
struct process;

/* A loop that is busy for longer is worth a word. */
#define LOOK_LOOP_BLOCKED_NS 1000000000ull

/* Read twice, before its tasks and after them. */
struct look_loops {
	int err;		/* 0: s is valid; or as look_tasks.err */
	struct loop_states s;
};

/* Read them. at: as for its tasks. Always sets *out. */
void look_loops_take(const struct process *p, const struct tasks_at *at, struct look_loops *out);
/*
 * Read them again: where a loop has gone on meanwhile, or its clock is not known, its busy_ns and
 * late_ns become LOOP_UNKNOWN.
 */
void look_loops_check(const struct process *p, const struct tasks_at *at, struct look_loops *l);

/* Set look_thread.loop of threads: l must outlive them. */
void look_loops_of_threads(const struct process *p, const struct look_loops *l,
			   struct look_thread *threads, size_t cnt);

/* The loop of the thread with this tid, in the process' own pid namespace; NULL: none is known. */
const struct loop_state *look_loop_of(const struct look_loops *l, uint32_t tid);

#endif
