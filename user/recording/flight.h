/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * flight.h - a flight recorder: an observer (resolve/observer.h) that keeps the events of the last seconds
 * in bounded memory, gives them to a recording when it is asked to, and says when a process meets a
 * condition.
 *
 * Time is kept in parts: a second, or a sixtieth of the time to keep. What a recording gets begins with a
 * part, so that its samples and its losses are of the same time: at least the time to keep, if it has
 * passed, and at most a part more. All functions run in the capture's thread.
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

/* Parts of the time to keep. */
#define FLIGHT_PARTS 60
/* What is kept of all processes; and how many processes that have ended. */
#define FLIGHT_BYTES_MAX (256u << 20)
#define FLIGHT_OVER_MAX 16384

/* A process that meets a condition. */
struct flight_met {
	pid_t tgid;
	const char *comm;	/* hostile */
	char text[WHEN_TEXT_BYTES];	/* what it did */
};

struct flight_args {
	uint64_t keep_ns;		/* 0: nothing */
	const struct when_list *when;	/* outlives the flight recorder */
	void (*met)(void *ctx, const struct flight_met *met);	/* may be NULL if when is empty */
	/* What the capture counts; NULL: nothing. */
	void (*counts)(void *ctx, struct capture_counts *out);
	void *ctx;			/* of both */
	size_t bytes_max, over_max;	/* 0: those above */
	uint64_t (*clock)(void);	/* NULL: now_ns() */
};

/* NULL with errno. */
struct flight *flight_new(const struct flight_args *args);
/* Processes that it holds need the capture: to be called before capture_free(). NULL is allowed. */
void flight_free(struct flight *f);
struct observer *flight_observer(struct flight *f);

/*
 * Pass everything that is kept to a recording, and then what comes, until flight_leave(). There is one
 * at a time, with PLACE_DIR. 0, or the recording's -errno: it gets nothing more.
 */
int flight_enter(struct flight *f, struct recording *r);
/*
 * The recording gets no more: end it (the observer's stop() and end()), so that recording_finish() can be
 * called with *counts, which are those of its time, valid until the next flight_leave(). 0 or its first
 * -errno.
 */
int flight_leave(struct flight *f, struct capture_counts *counts);
/* The first error of the recording that gets events now; 0: none. */
int flight_error(const struct flight *f);

#endif
