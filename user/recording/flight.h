/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * flight.h - a flight recorder: an observer (resolve/observer.h) that keeps the events of the last
 * seconds in a limited amount of memory, passes them to a recording on request, and reports
 * processes that meet a condition.
 *
 * Time is kept in parts of one second, or of a sixtieth of the time to keep. A recording starts
 * with a part, so that its samples and losses cover the same time: at least the time to keep, if
 * that has passed, and at most one part more. All functions run in the capture's thread.
 */
#ifndef TACHBPF_RECORDING_FLIGHT_H
#define TACHBPF_RECORDING_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/time.h"
#include "recording/when.h"

struct capture_counts;
struct flight;
struct observer;
struct recording;

/* The time to keep is divided into this many parts. */
#define FLIGHT_PARTS 60
/* Limits of all kept data, and of processes that have ended. */
#define FLIGHT_BYTES_MAX (256u << 20)
#define FLIGHT_OVER_MAX 16384

/* A process that meets a condition. */
struct flight_met {
	pid_t tgid;
	const char *comm;	/* untrusted */
	const char *command;	/* its command line, untrusted */
	const char *condition;	/* as in --when */
	char text[WHEN_TEXT_BYTES];	/* what the process did */
};

struct flight_args {
	uint64_t keep_ns;		/* 0: nothing */
	const struct when_list *when;	/* outlives the flight recorder */
	void (*met)(void *ctx, const struct flight_met *met);	/* may be NULL if when is empty */
	/* Returns the capture's counters; NULL: none. */
	void (*counts)(void *ctx, struct capture_counts *out);
	void *ctx;			/* for both */
	size_t bytes_max, over_max;	/* 0: the limits above */
	uint64_t (*clock)(void);	/* NULL: now_ns() */
};

/* Returns NULL with errno. */
struct flight *flight_new(const struct flight_args *args);
/* To be called before capture_free(), which the held processes need. NULL is allowed. */
void flight_free(struct flight *f);
struct observer *flight_observer(struct flight *f);

/*
 * Passes all kept events to a recording, and then new ones, until flight_leave(). There is at most
 * one at a time, with PLACE_DIR. 0, or the recording's -errno: it gets nothing more.
 */
int flight_enter(struct flight *f, struct recording *r);
/*
 * Ends the recording (the observer's stop() and end()), so that recording_finish() can be called
 * with *counts, the counters of its time, valid until the next flight_leave(). 0 or its first
 * -errno.
 */
int flight_leave(struct flight *f, struct capture_counts *counts);
/* Returns the first error of the current recording; 0: none. */
int flight_error(const struct flight *f);

#endif
