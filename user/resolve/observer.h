/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * observer.h - who receives what a capture sees.
 *
 * A capture has one observer, and calls it from one thread, in this order: start() once; then
 * for each process begin(), event()..., end(); tick() about once a second meanwhile; stop()
 * once, before the processes that still live are ended. Some processes may begin before start().
 *
 * A recording to files is an observer (recording.h); what shows samples or sends them elsewhere
 * is another.
 */
#ifndef TACHBPF_OBSERVER_H
#define TACHBPF_OBSERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/event.h"

struct observer;
struct process;

/*
 * Functions that return an int return 0, or a -errno that ends the capture: the observer has
 * logged why. All but event() may be NULL.
 */
struct observer_ops {
	/* Sampling begins at now_ns (CLOCK_MONOTONIC). */
	void (*start)(struct observer *o, uint64_t now_ns);
	/*
	 * A process is profiled from now on. p lives until its end(); process_set_observed() may
	 * attach something to it.
	 */
	int (*begin)(struct observer *o, struct process *p);
	/*
	 * A sample, or time that a thread has waited, of p. ev and its frames, which are ids of
	 * process_tables(p), are valid during the call. On an error the event counts as lost.
	 */
	int (*event)(struct observer *o, struct process *p, const struct event *ev);
	/* No event of p comes any more. It ended at end_ns (CLOCK_MONOTONIC); 0: it may still live. */
	int (*end)(struct observer *o, struct process *p, uint64_t end_ns);
	/* About a second has passed. The processes' names are as complete as they can be now. */
	int (*tick)(struct observer *o);
	/* Sampling has ended. missed_pct: so many percent of the samples are missing, 0..100. */
	void (*stop)(struct observer *o, double missed_pct);
	/*
	 * The user must know this of a process: why it cannot be profiled, or what of it is not.
	 * comm and text are copied. Returns true if this was not said of this process before.
	 */
	bool (*remark)(struct observer *o, pid_t tgid, const char *comm, const char *text);
};

/* An observer embeds this first. */
struct observer {
	const struct observer_ops *ops;
};

#endif
