/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_life.h - the machine code of the profiled processes, from the begin of each to its end.
 * Without --native it does nothing.
 */
#ifndef TACHBPF_NATIVE_LIFE_H
#define TACHBPF_NATIVE_LIFE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct native;
struct process;

/* Zero-initialise; then set native, which outlives it, and chosen. */
struct native_life {
	struct native *native;		/* NULL: without --native */
	bool chosen;			/* only chosen processes are recorded, not all */
	uint64_t second_ns;		/* when the budget's current second began */
	uint64_t waited_ns;		/* in this second */
	bool stopped;			/* nothing is waited for any more */
};

/* A process begins. parent: the process that forked it; 0: none, or unknown. */
int native_life_begin(struct native_life *l, const struct process *p, pid_t parent);

/* A process may have mapped code. p: NULL: it is not profiled. */
void native_life_stale(struct native_life *l, const struct process *p);

/*
 * A process ends. Waits for the names of its machine code, for at most 100 ms and 200 ms in a
 * second, because samples wait meanwhile; then names its frames (process_retry_names()), even
 * without --native. last: no other process is profiled, so if only chosen ones are, it waits while
 * names are being read, for at most 2 s.
 */
void native_life_end(struct native_life *l, struct process *p, bool last);

/*
 * The capture ends: waits for mappings that were not read when samples were in them, for at most
 * 1 s. Names of these samples can be requested then (process_retry_names()).
 */
void native_life_catch_up(struct native_life *l);
/*
 * The capture ends: waits for the names of all processes, for at most 2 s, and for debug files that
 * were requested from servers, for at most 60 s; then no more.
 */
void native_life_stop(struct native_life *l);

#endif
