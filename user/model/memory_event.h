/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory_event.h - an event of a process's memory: an allocation, a free, a garbage collection, or
 * a measurement of its size.
 *
 * With sampled page faults an ALLOC stands for more bytes than its page has; the sum of all that
 * are not freed is what the process holds. Each stack of the process has a number.
 */
#ifndef TACHBPF_MEMORY_EVENT_H
#define TACHBPF_MEMORY_EVENT_H

#include <stdint.h>

enum memory_change {
	MEMORY_ALLOC,		/* the process got memory */
	MEMORY_FREE,		/* an ALLOC's memory is gone; the ALLOC was passed on */
	MEMORY_COLLECTION,	/* CPython's garbage collector has run */
	MEMORY_CHECK,		/* the remaining blocks were checked; kernel's figures */
};

/* MEMORY_COLLECTION. */
struct memory_collection {
	uint8_t generation;
	uint64_t runs;		/* number of collections of this generation since the last event */
	uint64_t collected, uncollectable;	/* objects, in all these runs */
	uint64_t duration_us;	/* 0: unknown */
};

/* MEMORY_CHECK: bytes at one time, and what the kernel counted then. */
struct memory_check {
	uint64_t rss_anon;	/* /proc/PID/status, RssAnon */
	uint64_t swapped;	/* VmSwap */
	uint64_t held;		/* of ALLOCs, when the kernel's figures were read: includes a
				 * page that was touched before but is not passed on yet */
	uint64_t unchecked;	/* of these, not checked: table full, pagemap denied */
};

struct memory_event {
	enum memory_change change;
	uint64_t time_us;	/* CLOCK_MONOTONIC; never decreases within a process */
	uint64_t addr;		/* ALLOC, FREE: identifies the block as long as it exists */
	uint64_t bytes;		/* ALLOC: bytes that it stands for, not 0; FREE: the same */
	uint32_t stack;		/* ALLOC, FREE: the stack's number, dense from 0 in the process */
	uint32_t nframes;	/* that stack; 1 to EVENT_MAX_FRAMES */
	const uint32_t *frames;	/* ids in process_tables(), innermost first; valid in the call. A
				 * name may become known later (process_retry_names()) */
	uint64_t thread_id;	/* ALLOC: kernel tid in the host's pid namespace */
	union {
		struct memory_collection collection;
		struct memory_check check;
	};
};

#endif
