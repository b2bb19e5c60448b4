/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * heap_worker.h - the worker (worker.h) that takes censuses and looks for chains of references: it
 * reads and parses the memory of processes, and has the right to it and nothing else.
 */
#ifndef TACHBPF_HEAP_HEAP_WORKER_H
#define TACHBPF_HEAP_HEAP_WORKER_H

#include "heap/census.h"
#include "heap/chains.h"
#include "worker/worker.h"

/* "tachbpf-heap" */
extern const struct worker_kind heap_worker_kind;

/*
 * Take a census of a process. 0: *out is filled, and well-formed whatever the process or the worker
 * has done: names are terminated, counts are within the arrays. -ESRCH: no such process; -EPERM;
 * -ENOENT: no pool was found; -ETIMEDOUT: the process blocks those who read it; -EBUSY: try again
 * later.
 */
int heap_worker_census(const struct heap_target *target, const struct heap_limits *limits,
		       struct heap_census *out);

/*
 * The same without waiting: begin one, then poll until it is there. Only one can be open; nothing
 * else may be asked meanwhile. Begin: 0; -EBUSY: one is open, or try again later; other -errno, as
 * above. Poll: -EAGAIN: not yet; else as heap_worker_census(), and it is not open any more.
 */
int heap_worker_begin(const struct heap_target *target, const struct heap_limits *limits);
int heap_worker_poll(struct heap_census *out);

/*
 * Look for who keeps the objects of a type. As above; -ENOENT: no object of this type was found;
 * -ENOTUNIQ: objects of several types with this last part: out->names.
 */
int heap_worker_chains(const struct heap_target *target, const struct heap_why *why,
		       struct heap_chains *out);

/*
 * All greenlets of a process (greenlets.h). own_tgid: its pid in its own pid namespace. As above;
 * -ENOENT: greenlet is not loaded; -EBADMSG: of an unknown kind.
 */
struct heap_greenlets;
int heap_worker_greenlets(const struct heap_target *target, uint32_t own_tgid,
			  struct heap_greenlets *out);

/* End it. The next call starts another. */
void heap_worker_end(void);

#endif
