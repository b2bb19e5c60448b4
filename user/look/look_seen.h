/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * look_seen.h - what a look keeps of one process until its end: the last stack of each thread, and
 * what was found out about the thread afterwards.
 */
#ifndef TACHBPF_LOOK_LOOK_SEEN_H
#define TACHBPF_LOOK_LOOK_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/u64map.h"
#include "look/look_thread.h"

struct process;

/* Of one process; more threads are counted, and not kept. */
#define LOOK_THREADS_MAX 16384

struct look_seen {
	struct look_seen *next;	/* for the owner */
	struct process *process;
	struct u64map by_tid;	/* of struct kept (look_seen.c) */
	size_t cnt;
	uint64_t beyond;	/* events of threads beyond LOOK_THREADS_MAX, or without memory */
	uint64_t interval_us;	/* what the weight of a wait's event counts */
	size_t moved;		/* threads that had moved on at the last look_seen_detail() */
};

/* NULL: no memory. */
struct look_seen *look_seen_new(struct process *p, uint64_t interval_us);
void look_seen_free(struct look_seen *seen);

/*
 * Take an event. Of a thread whose details are known, and which had not moved when they were read,
 * the stack stays as it is: the two belong together.
 */
void look_seen_event(struct look_seen *seen, const struct event *ev);

/*
 * Find out more (look_worker_details()) about the threads that have got a new stack since the last
 * call. 0 or -ENOMEM.
 */
int look_seen_detail(struct look_seen *seen);

/* All threads, the main thread first, then by tid; to be freed, valid until look_seen_free(). NULL:
 * no memory. */
struct look_thread *look_seen_list(const struct look_seen *seen);

#endif
