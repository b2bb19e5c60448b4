/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * look_holders.h - which threads are inside of a `with` statement of certain locks. In the worker.
 *
 * Other threads may run meanwhile: a holder that was found is to be checked at the end.
 */
#ifndef TACHBPF_LOOK_LOOK_HOLDERS_H
#define TACHBPF_LOOK_LOOK_HOLDERS_H

#include "base/u64map.h"
#include "look/look_locks.h"

/* Of one lock: the outermost statement of the first thread that is inside of one. */
struct look_holder {
	uint32_t thread_cnt;	/* how many threads are */
	uint32_t thread;
	struct py_frame frame;
	uint32_t with_lasti;
	bool releases;		/* a function that it runs inside of it may release by hand */
};

struct look_holders {
	struct py_walk *walk;
	const struct py_frames_at *at;
	struct u64map locks;	/* address -> 1 + the number of the lock, as a pointer */
	bool cut;		/* frames of some thread could not be read */
	struct look_holder list[LOOK_LOCKS_MAX];	/* by the number of the lock */
};

/* Look at all frames of a thread state. thread: a number for the caller. */
void look_holders_add(struct look_holders *h, uint32_t thread, uint64_t state);

/* Read again: is this frame inside of a statement of the lock? */
bool look_holder_is(const struct look_holders *h, const struct look_holder *holder, uint64_t lock);

/* Set the function, path and lines of a lock from its holder. */
void look_holder_place(const struct look_holders *h, const struct look_holder *holder,
		       struct look_lock *lock);

#endif
