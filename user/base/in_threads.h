/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * in_threads.h - does independent jobs at the same time, one thread for each CPU.
 */
#ifndef TACHBPF_IN_THREADS_H
#define TACHBPF_IN_THREADS_H

#include <stddef.h>

/* Threads beyond this are not started, however many CPUs there are: each has memory of its own. */
#define IN_THREADS_MAX 8

/* How many jobs can run at the same time: the CPUs that we may use, at most IN_THREADS_MAX. */
size_t in_threads_most(void);

/*
 * Call job(ctx, i) for each i below cnt, each once, and return when all are done. The caller's
 * thread does its share; where no other can be started it does everything. Jobs must not change
 * what others use; which of them run at the same time, and in what order, is chance.
 */
void in_threads(size_t cnt, void (*job)(void *ctx, size_t i), void *ctx);

#endif
