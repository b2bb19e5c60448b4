/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * look_holders.h - which threads, or asyncio tasks, are inside a `with` statement of certain locks,
 * or seem to have acquired them by hand. In the worker.
 *
 * Others may run meanwhile: a holder must be checked again at the end.
 */
#ifndef TACHBPF_LOOK_LOOK_HOLDERS_H
#define TACHBPF_LOOK_LOOK_HOLDERS_H

#include "base/u64map.h"
#include "look/look_locks.h"

/* Of one thread or task: deeper frames are ignored. */
#define LOOK_FRAMES_MAX 4096

/* Of one lock: the outermost frame of the first thread. */
struct look_holder {
	uint32_t thread_cnt;	/* number of threads */
	uint32_t thread;
	struct py_frame frame;
	struct py_frame importer;	/* of an import lock: the importer; otherwise code 0 */
	uint32_t since;		/* byte offset of the instruction that took it */
	bool by_hand;		/* of look_holders.by_hand */
	bool releases;		/* a function that it calls inside may release by hand */
};

struct look_holders {
	struct py_walk *walk;
	const struct py_frames_at *at;
	struct u64map locks;	/* address -> 1 + the number of the lock, as a pointer */
	bool cut;		/* frames of some thread could not be read */
	struct u64map quiet;	/* code objects that neither take nor release by hand */
	/* By the number of the lock. */
	struct look_holder by_with[LOOK_LOCKS_MAX], by_hand[LOOK_LOCKS_MAX];
};

/*
 * Examines cnt frames of a thread or task, innermost first. thread: a number for the caller; waits:
 * the lock that it waits for, 0: none. whole: these are all frames.
 */
void look_holders_add(struct look_holders *h, uint32_t thread, uint64_t waits,
		      const struct py_frame *frames, uint32_t cnt, bool whole);

/* Reads again: true if the frame is inside a statement of the lock, or acquired it by hand. */
bool look_holder_is(const struct look_holders *h, const struct look_holder *holder, uint64_t lock);

/* Sets the function, path and lines of a lock from its holder. */
void look_holder_place(const struct look_holders *h, const struct look_holder *holder,
		       struct look_lock *lock);

#endif
