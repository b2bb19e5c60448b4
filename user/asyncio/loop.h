/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * loop.h - how an asyncio event loop fares (3.8+): how much is queued, since when it is busy, how
 * late its timers are. Read from outside; no code of the process runs.
 *
 * BaseEventLoop._run_once() notes the time when it comes back from select() (its variable
 * end_time), and every timer has its time, both of CLOCK_MONOTONIC: so the age of a callback that
 * blocks the loop is in the process. uvloop keeps its queues in Cython structs: unknown there.
 */
#ifndef TACHBPF_ASYNCIO_LOOP_H
#define TACHBPF_ASYNCIO_LOOP_H

#include "cpython/frames.h"

#define LOOPS_MAX 64
#define LOOP_UNKNOWN UINT64_MAX

struct loop_state {
	uint64_t addr;		/* of the loop object */
	uint64_t interp_id;
	uint32_t tid;		/* of its thread, in the process' own pid namespace */
	uint8_t main;		/* 1: its interpreter's main thread */
	uint8_t in_task;	/* 1: a task runs */
	uint8_t pad[2];
	uint64_t ready;		/* callbacks in _ready; LOOP_UNKNOWN */
	uint64_t timers;	/* entries of _scheduled; LOOP_UNKNOWN */
	/* Each may be LOOP_UNKNOWN. */
	uint64_t busy_ns;	/* since it came back from select(); 0: it is in select() */
	uint64_t late_ns;	/* by how much its next timer is overdue; 0: it is not */
};

struct loop_states {
	uint32_t cnt;
	uint8_t cut;
	uint8_t pad[3];
	struct loop_state loop[LOOPS_MAX];
};

/*
 * The loops that run in the process' threads. now_ns: CLOCK_MONOTONIC in its time namespace.
 * 0, also without any; -errno of py_get() if threads cannot be read.
 */
int loop_states_read(struct py_walk *w, const struct py_frames_at *at, uint64_t now_ns,
		     struct loop_states *out);

#endif
