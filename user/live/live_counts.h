/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * live_counts.h - an observer (resolve/observer.h) that keeps counts only: for each process, and for
 * each of its functions, the CPU time in the present window and since the start.
 *
 * A window begins with live_begin_window(). What was counted in it is listed at its end.
 */
#ifndef TACHBPF_LIVE_LIVE_COUNTS_H
#define TACHBPF_LIVE_LIVE_COUNTS_H

#include <stddef.h>
#include <stdint.h>

struct live;
struct observer;
struct process;

/* Of one process; the time of more functions is in the process' sums only. */
#define LIVE_FUNCTIONS_MAX 16384

/* Sums of time in ns, each that of samples. */
struct live_sums {
	uint64_t cpu_ns;	/* on a CPU */
	uint64_t gil_ns;	/* ... with the GIL */
	uint64_t gc_ns;		/* ... in a garbage collection */
	uint64_t samples;
};

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

/* NULL with errno. */
struct live *live_new(void);
void live_free(struct live *l);
/* To be given to capture_new(). It must live until capture_free(). */
struct observer *live_observer(struct live *l);

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
