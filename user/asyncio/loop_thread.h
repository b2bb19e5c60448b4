/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * loop_thread.h - which thread runs an event loop in CPython 3.8 to 3.13.
 *
 * asyncio's own loops say it (_thread_id). Others, like uvloop's, are found from their thread: its
 * state's dict has what _asyncio notes of the loop that runs in it.
 */
#ifndef TACHBPF_ASYNCIO_LOOP_THREAD_H
#define TACHBPF_ASYNCIO_LOOP_THREAD_H

#include "asyncio/home.h"

/* Loops whose threads are remembered, and threads whose loops are. */
#define LOOP_THREADS_CACHED 16
#define LOOP_THREADS_MAX 1024

struct loop_thread {
	uint64_t loop;
	uint64_t ident;		/* pthread_self(); 0: no thread runs it */
	uint32_t tid;		/* in the process' own pid namespace; 0: no thread runs it */
	bool main;		/* its interpreter's main thread */
};

/* A cache, which the caller zeroes, for one batch. */
struct loop_threads {
	struct loop_thread known[LOOP_THREADS_CACHED];
	uint32_t next;
	uint64_t main;		/* pthread_self() of the main thread; 0: unknown */
	bool listed;		/* of runs: the threads were looked at */
	uint32_t run_cnt;
	struct {
		uint64_t loop, ident;
	} runs[LOOP_THREADS_MAX];
};

/*
 * The thread that runs a loop of this interpreter. l: of the process' CPython. Never fails: an
 * unreadable loop has no thread.
 */
const struct loop_thread *loop_thread_of(struct py_walk *w, const struct py_layout *l,
					 const struct async_homes *h,
					 const struct async_home *home, struct loop_threads *cache,
					 uint64_t loop);

/*
 * The loop that runs in the thread with this PyThreadState, as _asyncio notes it. 0; -ENOENT: none;
 * -errno of py_get().
 */
int loop_of_thread(struct py_walk *w, uint64_t ts, uint64_t *loop);

#endif
