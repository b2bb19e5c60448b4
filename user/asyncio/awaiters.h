/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * awaiters.h - which tasks await a future or task in CPython 3.8 to 3.13.
 *
 * They are not written down; but a future that is done calls its callbacks, and those of an
 * awaiting task are of few shapes: its wakeup, the closure of gather(), wait(), shield(),
 * wait_for(), a TaskGroup's method, anyio's. Some lead to another future, whose callbacks are
 * followed in turn. A callback that is known to wake nobody (set.discard, the end of
 * run_until_complete()) is left out; one of no known shape is counted and named.
 */
#ifndef TACHBPF_ASYNCIO_AWAITERS_H
#define TACHBPF_ASYNCIO_AWAITERS_H

#include "asyncio/future.h"

/* Limits of one call: futures that are followed, and callbacks that are examined. */
#define AWAITERS_FUTURES_MAX 64
#define AWAITERS_CALLBACKS_MAX 16384
#define AWAITERS_NAME_BYTES 96

struct awaiters {
	uint32_t cnt;		/* tasks that were passed on; each once */
	uint32_t others;	/* callbacks of no known shape */
	bool cut;		/* a limit was reached, or something was unreadable */
	bool root;		/* the loop runs until it is done: run_until_complete() */
	bool woken;		/* a future that was followed is done: the task that awaited it
				 * will run, or has run without awaiting the others of a gather() */
	char other[AWAITERS_NAME_BYTES];	/* the first of others: its qualified name, UTF-8 */
};

/* What a future calls when it is done; 0: nothing. */
struct awaiters_callbacks {
	uint64_t callback0, callbacks;
};

/*
 * Pass on the tasks that await this future: found() returns false to end. 0; -EBADMSG: it is no
 * future; -errno of py_get() if it is unreadable. *out is valid in any case.
 */
int awaiters_read(struct py_walk *w, const struct async_homes *h, struct future_types *types,
		  uint64_t future, bool (*found)(void *ctx, uint64_t task), void *ctx,
		  struct awaiters *out);
/* Likewise, for a future whose callbacks are known. Never fails: out->cut says what does. */
void awaiters_of(struct py_walk *w, const struct async_homes *h, struct future_types *types,
		 const struct awaiters_callbacks *callbacks,
		 bool (*found)(void *ctx, uint64_t task), void *ctx, struct awaiters *out);

#endif
