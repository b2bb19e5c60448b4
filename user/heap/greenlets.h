/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * greenlets.h - all greenlets of a process, with the frames of those that do not run now.
 *
 * Nothing lists them: gevent's loop knows watchers, and a greenlet knows its parent only. So the
 * memory in which objects are is searched for words that are the address of their types, once: some
 * 0.3 s for 1 GB. What refers to itself in the right place is a greenlet.
 */
#ifndef TACHBPF_HEAP_GREENLETS_H
#define TACHBPF_HEAP_GREENLETS_H

#include "heap/census.h"

/* Limits: greenlets, all of their frames, frames of one, and types. */
#define GREENLETS_MAX 16384u
#define GREENLETS_FRAMES_MAX 131072u
#define GREENLET_DEPTH_MAX 256u
#define GREENLET_TYPES_MAX 256u
#define GREENLET_NAME_BYTES 64
/* Limits on the search: bytes of memory that are read, and time. */
#define GREENLETS_BYTES_MAX (8ull << 30)
#define GREENLETS_NS_MAX 3000000000ull

enum greenlet_state {
	GREENLET_NEW,		/* it has not begun */
	GREENLET_SUSPENDED,
	GREENLET_RUNNING,	/* the thread's stack is its own */
	GREENLET_ENDED,
	GREENLET_STATE_CNT,
};

struct greenlet_row {
	uint64_t addr;
	uint64_t parent;		/* address; 0: none, or unknown */
	uint32_t tid;			/* in the process' own pid namespace; 0: unknown */
	uint32_t frame_at, frame_cnt;	/* in frames[], innermost first */
	uint16_t type;			/* in types[] */
	uint8_t state;			/* enum greenlet_state */
	uint8_t is_main;		/* 1: it has the thread's first functions */
	uint8_t is_hub;			/* 1: gevent's hub */
	uint8_t incomplete;		/* 1: not all frames could be read, or it has moved */
	uint8_t pad[2];
};

struct heap_greenlets {
	uint32_t cnt, frame_cnt, type_cnt;
	uint8_t gevent;			/* 1: gevent is loaded */
	uint8_t cut;			/* 1: a limit was reached: there may be more */
	uint8_t pad[2];
	char types[GREENLET_TYPES_MAX][GREENLET_NAME_BYTES];	/* hostile; NUL-terminated */
	struct greenlet_row rows[GREENLETS_MAX];	/* by address */
	struct raw_frame frames[GREENLETS_FRAMES_MAX];
};

/* A question to the worker, and its answer. */
struct heap_greenlets_call {
	struct heap_target target;
	uint32_t own_tgid;		/* in the process' own pid namespace */
	struct heap_greenlets found;
};

/* A worker_fn. 0; -ENOENT: greenlet is not loaded; -EBADMSG: of an unknown kind; other -errno. */
int heap_greenlets_run(void *shared, const int *fds);

/* The worker may be compromised: a valid copy. */
void heap_greenlets_copy(struct heap_greenlets *to, const struct heap_greenlets *from);

#endif
