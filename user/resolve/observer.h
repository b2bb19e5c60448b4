/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * observer.h - the interface of a capture to the receiver of its events.
 *
 * A capture has one observer, and calls it from one thread, in this order: start() once; then
 * for each process begin(), event() for each event, end(); meanwhile tick() about once a second;
 * stop() once, then end() for the processes that still live. Some processes may begin before
 * start().
 *
 * A recording to files is an observer (recording.h).
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
 * Functions that return an int return 0, or a -errno that ends the capture; the observer logs
 * why. All but event() may be NULL.
 */
struct observer_ops {
	/* Sampling begins at now_ns (CLOCK_MONOTONIC). */
	void (*start)(struct observer *o, uint64_t now_ns);
	/*
	 * A process is profiled from now on. p is valid until its end(). The observer may attach
	 * its own data by process_set_observed().
	 */
	int (*begin)(struct observer *o, struct process *p);
	/*
	 * An event of p. ev and its frames are valid during the call; the frames are ids in
	 * process_tables(p). After an error the event counts as lost. That p's own profile cannot
	 * be written is no error: the observer counts what it did not keep.
	 */
	int (*event)(struct observer *o, struct process *p, const struct event *ev);
	/* With --mode mem, instead of event(): what happened to p's memory. As event(). */
	int (*memory)(struct observer *o, struct process *p, const struct memory_event *ev);
	/*
	 * No more events of p will come. The process ended at end_ns (CLOCK_MONOTONIC); 0: it may
	 * still live.
	 */
	int (*end)(struct observer *o, struct process *p, uint64_t end_ns);
	/* About a second has passed. Frames have all names that could be read so far. */
	int (*tick)(struct observer *o);
	/* Sampling has ended. missed_pct: share of missed ticks and lost samples, 0 to 100. */
	void (*stop)(struct observer *o, double missed_pct);
	/*
	 * A message for the user: why a process of uid is not profiled, or which part of it is not.
	 * comm and text are copied. Returns true if this text is new for this process.
	 */
	bool (*remark)(struct observer *o, pid_t tgid, uint32_t uid, const char *comm,
		       const char *text);
};

/* An observer embeds this first. */
struct observer {
	const struct observer_ops *ops;
};

#endif
