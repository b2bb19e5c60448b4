/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * loop.h - how an asyncio event loop fares (3.8+): how much is queued, since when it is busy, how
 * late its timers are. Read from outside; no code of the process runs.
 *
 * BaseEventLoop._run_once() is one turn: it waits in select(), notes the time (its variable
 * end_time), and runs the callbacks that are ready. Each timer has its time, too; both are of
 * CLOCK_MONOTONIC, so the process' memory says for how long a callback has blocked the loop.
 * uvloop keeps its queues in Cython structs: they are unknown here, as is when it came back.
 *
 * The memory is hostile and may change while it is read: numbers and reads are limited. What would
 * be alarming (more than LOOP_SURE_NS) is told only if several reads agree.
 */
#ifndef TACHBPF_ASYNCIO_LOOP_H
#define TACHBPF_ASYNCIO_LOOP_H

#include "asyncio/tasks.h"

#define LOOPS_MAX 64
#define LOOP_UNKNOWN UINT64_MAX
#define LOOP_SURE_NS 10000000ull
/* Limit on reads of one call, and on frames of a thread: the loop of a deeper one is not timed. */
#define LOOP_READS_MAX 16384
#define LOOP_FRAMES_MAX 2048

struct loop_state {
	uint64_t addr;		/* of the loop object */
	uint64_t interp_id;
	uint32_t tid;		/* of its thread, in the process' own pid namespace */
	uint8_t main;		/* 1: the oldest thread of its interpreter */
	uint8_t in_task;	/* 1: a task runs */
	uint8_t pad[2];
	/* Each of the following may be LOOP_UNKNOWN. */
	uint64_t ready;		/* callbacks in _ready, without the one that runs */
	uint64_t timers;	/* entries of _scheduled, including cancelled ones */
	uint64_t busy_ns;	/* since it came back from select(); 0: it is in select() */
	uint64_t late_ns;	/* by how much its next timer is overdue; 0: it is not */
	/* Which callback runs: busy_ns is the time of all that ran in this turn. */
	uint64_t turn_ns;	/* when it came back from select(), on the clock of now_ns */
	uint64_t nth;		/* the callback's number in this turn, from 0 */
};

struct loop_states {
	uint32_t cnt;
	uint8_t cut;		/* there may be more: a limit was reached, or threads were
				 * unreadable */
	uint8_t pad[3];
	uint32_t reads;		/* number of reads, for the caller's limit */
	uint32_t pad2;
	struct loop_state loop[LOOPS_MAX];
};

/*
 * The loops that run in the process' threads: of at, async (3.14+) or homes (3.8 to 3.13) is set.
 * now_ns: CLOCK_MONOTONIC in the process' time namespace. 0, also without any; -ENOMEM; -errno of
 * py_get() if no interpreter can be read. *out is well-formed in any case.
 */
int loop_states_read(const struct target_mem *mem, const struct tasks_at *at, uint64_t now_ns,
		     struct loop_states *out);

#endif
