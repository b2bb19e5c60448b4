/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * look_seen.h - what a look keeps of one process until its end: the last stack of each thread, and
 * the details that were found afterwards.
 */
#ifndef TACHBPF_LOOK_LOOK_SEEN_H
#define TACHBPF_LOOK_LOOK_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/u64map.h"
#include "look/look_thread.h"

struct capture;
struct process;

/* Of one process; more threads are only counted. */
#define LOOK_THREADS_MAX 16384

struct look_seen {
	struct look_seen *next;	/* for the owner */
	struct process *process;
	struct u64map by_tid;	/* of struct kept (look_seen.c) */
	size_t cnt;
	uint64_t beyond;	/* events of threads beyond LOOK_THREADS_MAX, or without memory */
	uint64_t interval_us;	/* unit of the weight of a wait's event */
	size_t moved;		/* threads that had moved on at the last look_seen_detail() */
};

/* Returns NULL without memory. */
struct look_seen *look_seen_new(struct process *p, uint64_t interval_us);
void look_seen_free(struct look_seen *seen);

/*
 * Takes an event. If a thread's details are known, and it had not moved when they were read, its
 * stack is kept: the two belong together.
 */
void look_seen_event(struct look_seen *seen, const struct event *ev);

/*
 * Gets details of the threads that have a new stack since the last call: from the scan that found
 * it, otherwise by look_worker_details(). Returns 0 or -ENOMEM.
 */
int look_seen_detail(struct look_seen *seen, const struct capture *capture);

/*
 * Returns all threads, the main thread first, then by tid; the caller frees the list, which is
 * valid until look_seen_free(). NULL: no memory.
 */
struct look_thread *look_seen_list(const struct look_seen *seen);

#endif
