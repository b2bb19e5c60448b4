/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * live_counts.h - an observer (resolve/observer.h) that keeps only counts: for each process, and
 * for each of its functions and lines, the CPU time in the current window and since the start.
 *
 * A window begins with live_begin_window(). Its counts are listed at its end.
 */
#ifndef TACHBPF_LIVE_LIVE_COUNTS_H
#define TACHBPF_LIVE_LIVE_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/event.h"

/* Sums of a process's time in ns, each that of samples. */
struct live_sums {
	uint64_t cpu_ns;	/* on a CPU */
	uint64_t gil_ns;	/* ... with the GIL */
	uint64_t gc_ns;		/* ... in a garbage collection */
	uint64_t wait_ns;	/* off-CPU: 0 in a mode without waits */
	uint64_t gil_wait_ns;	/* ... waiting for the GIL */
	uint64_t samples;	/* on a CPU */
};

/* Returns the sums that an event adds. t: of its process; ns: the total time that it stands for. */
struct live_sums live_sums_of(const struct profile_tables *t, const struct event *ev, uint64_t ns);
void live_sums_add(struct live_sums *to, const struct live_sums *more);

struct live;
struct observer;
struct process;
struct stack_tree;

/* Limit for one process; the time of others is only in its sums. So many lines, too. */
#define LIVE_FUNCTIONS_MAX 16384
/* Limits for the nodes of the call tree of one process, and of all; some 100 bytes each. */
#define LIVE_NODES_MAX 32768
#define LIVE_ALL_NODES_MAX 131072

/* The length of live_process.recent. */
#define LIVE_RECENT_S 10

/* A function of a process, or a line of one, in a window; ids are those of process_tables(). */
struct live_function {
	uint32_t file, func;
	int32_t line;		/* LINE_NONE: a function, or the line is unknown */
	uint32_t window;	/* of the sums below: in other windows they are 0 */
	uint32_t sample;	/* the last one that had it in its stack */
	uint64_t self_ns, total_ns;	/* total: only of functions */
	uint64_t before_ns;	/* self in the window before */
};

/* The line with the most self in a time. */
struct live_hot_line {
	const struct live_function *line;	/* NULL: there was no sample */
	uint64_t self_ns;
	uint64_t cpu_ns;	/* of the whole process */
};

/* One process; the members are valid until the capture is polled again. */
struct live_process {
	const struct process *process;
	struct live_sums last, all;	/* the window, and since the start */
	struct live_sums recent;	/* the last seconds: live_recent_ns() */
	const struct live_function *hottest;	/* by self in the window; NULL: there was no
						 * sample */
	struct live_hot_line hot;	/* in the window */
	struct live_hot_line recent_hot;	/* in the window and the one before */
	uint64_t lost;			/* samples that were lost since the start */
	uint32_t threads;		/* that had samples since the start and are still known */
};

/* All processes that had a sample in the window. */
struct live_total {
	struct live_sums last;	/* including those of processes that ended in the window */
	size_t processes;	/* that are alive */
	size_t ended;		/* in the window */
	uint64_t lost;		/* since the start, including processes that have ended */
};

/*
 * Returns NULL with errno. stacks: also keep the distinct stacks of each process: live_stacks().
 * wait_ns: the time that one sample of a wait stands for.
 */
struct live *live_new(bool stacks, uint64_t wait_ns);
void live_free(struct live *l);
/* Returns the observer for capture_new(). It must live until capture_free(). */
struct observer *live_observer(struct live *l);

/* A second has passed; it is now now_ns (CLOCK_MONOTONIC). */
void live_second(struct live *l, uint64_t now_ns);
/* Returns the length of live_process.recent: up to now_ns, at most LIVE_RECENT_S. In ns. */
uint64_t live_recent_ns(const struct live *l, uint64_t now_ns);

/*
 * Returns the distinct stacks of a process since the start, with ns as weights; valid until the
 * capture is polled again. NULL: none, unknown, or not requested of live_new(). *beyond_ns: time of
 * stacks for which there was no room.
 */
const struct stack_tree *live_stacks(const struct live *l, pid_t tgid, uint64_t *beyond_ns);

/* Begins the next window: its counts start at 0. */
void live_begin_window(struct live *l);
/* Fills *out with the sums of all processes in the current window. */
void live_total(struct live *l, struct live_total *out);
/*
 * Returns the processes, those with the most CPU time in the window first, then by pid; the caller
 * frees the list. NULL with errno.
 */
struct live_process *live_list(struct live *l, size_t *cnt);
/* Calls cb for each of these processes, in any order. */
void live_each(struct live *l, void (*cb)(void *ctx, const struct process *p), void *ctx);

#endif
