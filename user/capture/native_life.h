/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_life.h - the machine code of the processes that a capture profiles, from the begin of
 * each to its end. Without --native it does nothing.
 */
#ifndef TACHBPF_NATIVE_LIFE_H
#define TACHBPF_NATIVE_LIFE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct native;
struct process;

/* Zero-initialise; then set native, which outlives it. */
struct native_life {
	struct native *native;		/* NULL: without --native */
	uint64_t second_ns;		/* when the budget's current second began */
	uint64_t waited_ns;		/* in this second */
	bool stopped;			/* nothing is waited for any more */
};

/* A process begins. parent: it was forked by that process; 0: it was not, or nobody knows. */
int native_life_begin(struct native_life *l, const struct process *p, pid_t parent);

/* A process may have mapped code. p: NULL: it is not profiled. */
void native_life_stale(struct native_life *l, const struct process *p);

/*
 * A process ends. Wait for the names of its machine code, for 100 ms at most and 200 ms in a
 * second, because samples wait meanwhile; then name its frames (process_retry_names()), which
 * happens without --native, too.
 */
void native_life_end(struct native_life *l, struct process *p);

/* The capture ends: wait for the names of all processes, for 2 s at most, and then no more. */
void native_life_stop(struct native_life *l);

#endif
