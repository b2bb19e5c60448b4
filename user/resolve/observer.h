/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * observer.h - the interface between a capture and the receiver of its events.
 *
 * A capture has one observer, and calls it from one thread, in this order: start() once; then for
 * each process begin(), event() for each event, end(); meanwhile tick() about once a second; stop()
 * once, then end() for the processes that are still alive. Some processes may begin before start().
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
 * Functions that return an int return 0, or a -errno that ends the capture; the observer logs the
 * reason. All except event() may be NULL.
 */
struct observer_ops {
	/* Sampling begins at now_ns (CLOCK_MONOTONIC). */
	void (*start)(struct observer *o, uint64_t now_ns);
	/*
	 * A process is profiled from now on. p is valid until its end(). The observer may attach
	 * its own data with process_set_observed().
	 */
	int (*begin)(struct observer *o, struct process *p);
	/*
	 * An event of p. ev and its frames are valid during the call; the frames are ids in
	 * process_tables(p). After an error the event counts as lost. Failing to write p's own
	 * profile is not an error: the observer counts what it did not keep.
	 */
	int (*event)(struct observer *o, struct process *p, const struct event *ev);
	/* With --mode mem, instead of event(): a change of p's memory. Otherwise as event(). */
	int (*memory)(struct observer *o, struct process *p, const struct memory_event *ev);
	/*
	 * No more events of p will come. The process ended at end_ns (CLOCK_MONOTONIC); 0: it may
	 * still be alive.
	 */
	int (*end)(struct observer *o, struct process *p, uint64_t end_ns);
	/* About a second has passed. Frames have all the names that could be read so far. */
	int (*tick)(struct observer *o);
	/* Sampling has ended. missed_pct: share of missed ticks and lost samples, 0 to 100. */
	void (*stop)(struct observer *o, double missed_pct);
	/*
	 * A message for the user: why a process of uid, or which part of it, is not profiled. comm
	 * and text are copied. Returns true if the user must be told.
	 */
	bool (*remark)(struct observer *o, pid_t tgid, uint32_t uid, const char *comm,
		       const char *text);
};

/* An observer embeds this as its first member. */
struct observer {
	const struct observer_ops *ops;
};

#endif
