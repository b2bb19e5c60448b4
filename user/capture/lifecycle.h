/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * lifecycle.h - the life of a process as a capture sees it: one state, and one table that says
 * which event leads to which state.
 *
 * A transition does three things together: the kernel's table of processes gets what the kernel
 * must know, the observer learns that a process begins or ends, the state changes. Nothing else
 * calls the observer's begin() and end().
 *
 * Nobody looks at a process here, and nothing is decided: capture_inspect.c, capture_filter.c and
 * capture_records.c find out what has happened.
 */
#ifndef TACHBPF_LIFECYCLE_H
#define TACHBPF_LIFECYCLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/u64map.h"
#include "bpf/abi.h"
#include "resolve/process.h"
#include "target/inspect_schedule.h"

struct bpf_map;
struct observer;

enum proc_state {
	PROC_UNKNOWN,		/* there is no struct tracked of it                      */
	PROC_SEEN,		/* it runs, and nobody has looked at its program yet     */
	PROC_OTHER,		/* a look found no Python; the next look comes later     */
	PROC_UNREADY,		/* a Python that cannot be walked yet; looked at again soon */
	PROC_REFUSED,		/* a Python that cannot be walked                        */
	PROC_PROFILED,		/* the kernel walks its threads                          */
	PROC_PAUSED,		/* it was profiled; the kernel does not walk it now      */
	PROC_STATE_CNT,
};

enum proc_event {
	PROC_EV_ASKED,		/* it runs and the kernel does not know it; or it was listed */
	PROC_EV_EXEC,		/* it executes a program that the kernel did not admit   */
	PROC_EV_ADMITTED,	/* the kernel admitted it: a known program, or its parent's */
	PROC_EV_EXCLUDED,	/* it does not meet the user's conditions                */
	PROC_EV_FOUND,		/* a look found a Python, not the one that is profiled   */
	PROC_EV_FOUND_SAME,	/* a look found the Python that is profiled              */
	PROC_EV_FOUND_NOTHING,	/* a look found no Python                                */
	PROC_EV_FOUND_UNCHANGED,	/* a look found the files that the last one had found */
	PROC_EV_FOUND_UNREADY,	/* a look found a Python that cannot be walked yet       */
	PROC_EV_FOUND_UNSUPPORTED,	/* a look found a Python that cannot be walked   */
	PROC_EV_INSPECT_FAILED,	/* the look was not possible                             */
	PROC_EV_ENDED,		/* it is gone, or its pid is another process'            */
	PROC_EVENT_CNT,
};

/* A process. Its state changes in lifecycle_step() only. */
struct tracked {
	pid_t tgid;
	uint64_t start_ns;		/* start_boottime; 0: not known yet */
	enum proc_state state;
	struct process *process;	/* NULL but for PROC_PROFILED and PROC_PAUSED */
	struct inspect_schedule schedule;
	bool selected;			/* the user's conditions were checked and are met */
	bool orphan;			/* the kernel sends samples of it, though it is not profiled */
	uint64_t asked;			/* ticks that the kernel has asked about */
	uint64_t kernel_ticks;		/* the kernel's count of its ticks at the last look */
	uint64_t files;			/* discovery_inspect()'s: what was mapped at the last look */
	uint64_t exec_pages;		/* the kernel's count of pages with code; 0: not known */
};

/* What a step needs besides the event. */
struct step {
	const struct process_args *args;	/* ADMITTED, FOUND: the process that begins */
	uint64_t inspected_ns;	/* FOUND: when the look began (CLOCK_MONOTONIC) */
	uint64_t end_ns;	/* of a process that ends (CLOCK_MONOTONIC); 0: now */
	uint8_t unselected;	/* EXCLUDED: UNSELECTED_* bits */
};

/* Zero-initialise; then set table and observer, which outlive it. */
struct lifecycle {
	struct bpf_map *table;		/* py_procs: what the kernel knows */
	struct observer *observer;
	struct u64map tracked;		/* tgid -> struct tracked */
	uint32_t begun_cnt, live_cnt;	/* processes profiled so far, and now */
	uint64_t table_full;		/* times that a process did not fit into the table */
	uint64_t stop_ns;		/* sampling ended then; 0: it goes on */
	int err;			/* the first error that ends the capture; 0: none */
};

/* Every process ends without its observer. */
void lifecycle_free(struct lifecycle *l);

/* An error that ends the capture: the first one counts. 0 is none. */
void lifecycle_fail(struct lifecycle *l, int err);

/* NULL: the process is unknown. */
struct tracked *lifecycle_find(struct lifecycle *l, pid_t tgid);

/* Its struct process if it is profiled or paused; else NULL. */
struct process *lifecycle_process(struct lifecycle *l, pid_t tgid);

/*
 * Does what began at start_ns (start_boottime) have this struct tracked? If its start was not
 * known yet, this is it.
 */
bool lifecycle_confirm_start(struct tracked *t, uint64_t start_ns);

/*
 * The process that began at start_ns (0: not known), tracked from now on (PROC_EV_ASKED). One
 * that had its pid before has ended. NULL: no memory, which ends the capture.
 */
struct tracked *lifecycle_ask(struct lifecycle *l, pid_t tgid, uint64_t start_ns);

/*
 * The process may be unknown so far: ADMITTED. step->args says which one. NULL: no memory, or the
 * observer refused it: that ends the capture.
 */
struct tracked *lifecycle_admit(struct lifecycle *l, const struct step *step);

/*
 * An event. 0; or -errno: the kernel's table has no room, and nothing has changed. In state
 * PROC_UNKNOWN afterwards, t is freed.
 */
int lifecycle_step(struct lifecycle *l, struct tracked *t, enum proc_event event,
		   const struct step *step);

/* The kernel is told of a process by these numbers; it makes odd ones itself. */
uint64_t lifecycle_new_ident(pid_t tgid);

/* The next process with a struct process. Start with *pos = 0. It may end before the next call. */
struct tracked *lifecycle_next_profiled(struct lifecycle *l, size_t *pos);

/* The next process whose look is due at now_ns, in no order. Likewise. */
struct tracked *lifecycle_next_due(struct lifecycle *l, uint64_t now_ns, size_t *pos);
/* Nanoseconds until the look at a process is due that may become Python soon; at most limit_ns. */
uint64_t lifecycle_wait_ns(struct lifecycle *l, uint64_t now_ns, uint64_t limit_ns);
/* How many processes were looked at so few times that they may well become Python yet. */
uint32_t lifecycle_young_cnt(struct lifecycle *l);

#endif
