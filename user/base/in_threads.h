/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* in_threads.h - does independent jobs in parallel, one thread for each CPU. */
#ifndef TACHBPF_IN_THREADS_H
#define TACHBPF_IN_THREADS_H

#include <stddef.h>

/* More threads are not started, however many CPUs there are: each has its own memory. */
#define IN_THREADS_MAX 8

/* Returns how many jobs can run in parallel: one per usable CPU, at most IN_THREADS_MAX. */
size_t in_threads_most(void);

/*
 * Calls job(ctx, i) once for each i below cnt, and returns when all are done. The caller's thread
 * takes part; if no other can be started it does everything. Jobs must not change data that others
 * use; which of them run in parallel, and in what order, is undefined.
 */
void in_threads(size_t cnt, void (*job)(void *ctx, size_t i), void *ctx);

#endif
