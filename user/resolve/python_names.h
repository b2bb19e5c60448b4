/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * python_names.h - what Python calls the threads of one process, up to 3.13.
 *
 * The names are read when a thread is seen for the first time, of all threads at once; a thread
 * that threading does not have yet, or for which there was no time, is asked about again with the
 * next ones, and a few times more, once a second. Reading takes a hundredth of the time; after a
 * slow read, the next one comes a second later. A thread that has ended by then has no name here.
 * Later changes of a name are not seen.
 */
#ifndef TACHBPF_PYTHON_NAMES_H
#define TACHBPF_PYTHON_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cpython/python_threads.h"
#include "model/thread_names.h"

/* So many threads are asked about again. */
#define PYTHON_NAMES_AGAIN 64

/*
 * A thread's name. given: the program has chosen it; otherwise threading has numbered its threads.
 */
typedef void (*python_named_fn)(void *ctx, uint32_t tid, const char *name, bool given);
/* Where the pointer to the process' first interpreter is; 0: not known yet. */
typedef uint64_t (*python_interps_fn)(void *ctx);

/* A thread that is asked about again. */
struct python_names_again {
	uint32_t tid;
	uint32_t tries;
};

struct python_names {
	pid_t tgid;
	python_named_fn named;
	python_interps_fn interps;
	void *ctx;
	struct python_threads_at at;
	int nested;		/* 1: it has a pid namespace of its own; -1: not known yet */
	struct thread_names *found;	/* what was read last: names by the process' own tids */
	uint64_t found_ns;	/* when; 0: never */
	uint64_t next_ns;	/* not read before that time */
	struct python_names_again *again;	/* PYTHON_NAMES_AGAIN of them; NULL: none yet */
	uint32_t again_cnt;
};

/* at: interps is not used. Holds nothing that must be freed, until there is a thread. */
void python_names_init(struct python_names *n, pid_t tgid, const struct python_threads_at *at,
		       python_named_fn named, python_interps_fn interps, void *ctx);
void python_names_free(struct python_names *n);

/* A thread was seen for the first time: named() is called if it has a name, now or later. */
void python_names_thread(struct python_names *n, uint32_t tid);
/* Ask again about threads without a name. To be called once a second. */
void python_names_retry(struct python_names *n);

#endif
