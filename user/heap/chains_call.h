/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* chains_call.h - the search for chains in a process, in the worker (heap_worker.h). */
#ifndef TACHBPF_HEAP_CHAINS_CALL_H
#define TACHBPF_HEAP_CHAINS_CALL_H

#include "heap/chains.h"

/* Shared by both sides. */
struct heap_chains_call {
	struct heap_target target;
	struct heap_why why;
	struct heap_chains result;
};

/*
 * A worker_fn: read the process' mappings, and search. shared: a struct heap_chains_call. 0; -errno
 * of heap_chains_find(); -ESRCH: no such process; -EPERM: it may not be read.
 */
int heap_chains_run(void *shared, const int *fds);

/* The worker may be compromised: reduce counts to the arrays, and terminate all names. */
void heap_chains_check(struct heap_chains *chains);

#endif
