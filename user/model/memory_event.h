/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory_event.h - what happened to a process' memory: it got some, gave some back, collected
 * garbage; or how much it has was measured.
 *
 * With sampled page faults an ALLOC stands for more bytes than its page has; the sum over all that
 * are not freed is what the process holds. The process' stacks have numbers.
 */
#ifndef TACHBPF_MEMORY_EVENT_H
#define TACHBPF_MEMORY_EVENT_H

#include <stdint.h>

enum memory_change {
	MEMORY_ALLOC,		/* the process got memory */
	MEMORY_FREE,		/* what an ALLOC gave is gone; always of an ALLOC that was passed on */
	MEMORY_COLLECTION,	/* CPython's garbage collector has run */
	MEMORY_CHECK,		/* what is still there was looked at, and the kernel's figures */
};

/* MEMORY_COLLECTION. */
struct memory_collection {
	uint8_t generation;
	uint64_t runs;		/* so many collections of this generation since the last event */
	uint64_t collected, uncollectable;	/* objects, of all these runs */
	uint64_t duration_us;	/* 0: not known */
};

/* MEMORY_CHECK: bytes at one time, and what the kernel counted then. */
struct memory_check {
	uint64_t rss_anon;	/* /proc/PID/status, RssAnon */
	uint64_t swapped;	/* VmSwap */
	uint64_t held;		/* of ALLOCs, when the kernel's figures were read: a page that was
				 * touched before and is not passed on yet counts, too */
	uint64_t unchecked;	/* of these, what could not be looked at: table full, pagemap denied */
};

struct memory_event {
	enum memory_change change;
	uint64_t time_us;	/* CLOCK_MONOTONIC; never goes back within a process */
	uint64_t addr;		/* ALLOC, FREE: names the block while it is there */
	uint64_t bytes;		/* ALLOC: what it stands for, not 0; FREE: the same again */
	uint32_t stack;		/* ALLOC, FREE: the stack's number, dense from 0 in the process */
	uint32_t nframes;	/* that stack; 1 to EVENT_MAX_FRAMES */
	const uint32_t *frames;	/* ids in process_tables(), innermost first; valid in the call. A
				 * frame's name may become known later (process_retry_names()) */
	uint64_t thread_id;	/* ALLOC: kernel tid as the host sees it */
	union {
		struct memory_collection collection;
		struct memory_check check;
	};
};

#endif
