/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * python_names.h - the names that Python gives to the threads of one process, up to 3.13.
 *
 * The names of all threads are read at once when a thread is first seen. A thread that threading
 * does not list yet, or for which there was no time, is retried with the next ones, and a few more
 * times, once a second. Reading takes at most one percent of the time; after a slow read, the next
 * one comes a second later. A thread that has ended by then has no name here. Later changes of a
 * name are not seen.
 */
#ifndef TACHBPF_PYTHON_NAMES_H
#define TACHBPF_PYTHON_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cpython/python_threads.h"
#include "model/thread_names.h"

/* At most this many threads are retried. */
#define PYTHON_NAMES_AGAIN 64

/* Receives a thread's name. given: the program chose it; otherwise threading has numbered it. */
typedef void (*python_named_fn)(void *ctx, uint32_t tid, const char *name, bool given);
/* Returns where the pointer to the process' first interpreter is; 0: not known yet. */
typedef uint64_t (*python_interps_fn)(void *ctx);

/* A thread whose name is read again later. */
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
	struct thread_names *found;	/* names by the process' own tids, from the last read */
	uint64_t found_ns;	/* time of the last read; 0: never */
	uint64_t next_ns;	/* earliest time of the next read */
	struct python_names_again *again;	/* PYTHON_NAMES_AGAIN of them; NULL: none yet */
	uint32_t again_cnt;
};

/* Initialises n. at: interps is not used. Allocates nothing until there is a thread. */
void python_names_init(struct python_names *n, pid_t tgid, const struct python_threads_at *at,
		       python_named_fn named, python_interps_fn interps, void *ctx);
void python_names_free(struct python_names *n);

/* Call this when a thread is first seen: named() is called if it has a name, now or later. */
void python_names_thread(struct python_names *n, uint32_t tid);
/* Retries threads without a name. To be called once a second. */
void python_names_retry(struct python_names *n);

#endif
