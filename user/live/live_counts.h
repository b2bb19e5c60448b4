/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * live_counts.h - an observer (resolve/observer.h) that keeps counts only: for each process, and for
 * each of its functions, the CPU time in the present window and since the start.
 *
 * A window begins with live_begin_window(). What was counted in it is listed at its end.
 */
#ifndef TACHBPF_LIVE_LIVE_COUNTS_H
#define TACHBPF_LIVE_LIVE_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "live/live_sums.h"

struct live;
struct observer;
struct process;
struct stack_tree;

/* Of one process; the time of more functions is in the process' sums only. */
#define LIVE_FUNCTIONS_MAX 16384
/* Nodes of the call tree of one process, and of all; some 100 bytes each. */
#define LIVE_NODES_MAX 32768
#define LIVE_ALL_NODES_MAX 131072

/* How far back live_process.recent goes. */
#define LIVE_RECENT_S 10

/* A function of a process in a window; ids are those of process_tables(). */
struct live_function {
	uint32_t file, func;
	uint32_t window;	/* of the sums below: others count as 0 */
	uint32_t sample;	/* the last one that had it in its stack */
	uint64_t self_ns, total_ns;
};

/* One process; the members are valid until the capture is polled again. */
struct live_process {
	const struct process *process;
	struct live_sums last, all;	/* the window, and since the start */
	struct live_sums recent;	/* the last seconds: live_recent_ns() */
	const struct live_function *hottest;	/* by self in the window; NULL: it had no sample */
	uint64_t lost;			/* samples that were lost since the start */
	uint32_t threads;		/* that had samples since the start and were not forgotten */
};

/* All processes that had a sample in the window. */
struct live_total {
	struct live_sums last;	/* also of those that ended in the window */
	size_t processes;	/* that live */
	size_t ended;		/* in the window */
	uint64_t lost;		/* since the start, also by processes that have ended */
};

/*
 * NULL with errno. stacks: keep the distinct stacks of each process, too: live_stacks(). wait_ns: the time that
 * one sample of a wait stands for.
 */
struct live *live_new(bool stacks, uint64_t wait_ns);
void live_free(struct live *l);
/* To be given to capture_new(). It must live until capture_free(). */
struct observer *live_observer(struct live *l);

/* A second has passed; it is now now_ns (CLOCK_MONOTONIC). */
void live_second(struct live *l, uint64_t now_ns);
/* Of which time live_process.recent is: up to now_ns, LIVE_RECENT_S at most. In ns. */
uint64_t live_recent_ns(const struct live *l, uint64_t now_ns);

/*
 * The distinct stacks of a process since the start, with ns as weights; valid until the capture is polled
 * again. NULL: it has none, is not known, or live_new() was asked for none. *beyond_ns: time of stacks for
 * which there was no room.
 */
const struct stack_tree *live_stacks(const struct live *l, pid_t tgid, uint64_t *beyond_ns);

/* Begin the next window: the present counts are 0 again. */
void live_begin_window(struct live *l);
/* Fill *out with the sums of all processes in the present window. */
void live_total(struct live *l, struct live_total *out);
/*
 * The processes, those with the most CPU time in the window first, then by pid; to be freed. NULL with
 * errno.
 */
struct live_process *live_list(struct live *l, size_t *cnt);

#endif
