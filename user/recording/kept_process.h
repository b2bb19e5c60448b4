/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kept_process.h - what is kept of one process: its events in parts of equal time, and what it had
 * counted at the end of each, so that the counts of those that are left are known.
 *
 * Holds the process (process_hold()), so its names are there after its end, too.
 */
#ifndef TACHBPF_RECORDING_KEPT_PROCESS_H
#define TACHBPF_RECORDING_KEPT_PROCESS_H

#include <stdbool.h>

#include "live/live_counts.h"
#include "recording/kept_events.h"
#include "recording/when.h"
#include "resolve/process.h"

struct observed;

/* How many seconds the sums of CPU time and the like are kept. */
#define KEPT_SECONDS 4

/* The events of one part of the time. */
struct kept_part {
	struct kept_part *next;
	uint64_t number;		/* of the part of time; they grow */
	struct kept_events events;
	uint64_t samples;		/* in them */
	struct process_stats *stats;	/* at its end; NULL: it has not ended */
	struct losses_of_threads *lost;	/* likewise; NULL: none */
};

struct kept_process {
	struct process *process;
	char *command;			/* recording_command() at its begin */
	uint64_t begin_ns, end_ns;	/* CLOCK_MONOTONIC; end_ns 0: it lives, or ... */
	bool over;			/* ... its end is not known: no more events come */
	struct kept_part *oldest, *newest;	/* NULL: none */
	struct kept_last last;		/* event in newest */
	struct process_stats before;	/* what it had counted before the oldest part */
	struct losses_of_threads *lost_before;	/* likewise; NULL: none */
	size_t bytes;			/* of all this */
	struct kept_owner *owner;	/* kept_room.h */
	struct observed *in;		/* in the recording that is being written; NULL: none */
	struct kept_process *next;	/* flight.c: in the list of those that are over */
	struct when_process when;	/* how far it meets the conditions */
	struct {
		uint64_t second;	/* of CLOCK_MONOTONIC */
		struct live_sums sums;
	} seconds[KEPT_SECONDS];	/* by second, for the conditions */
};

/* A process that begins now. NULL: no memory. */
struct kept_process *kept_process_new(struct process *p, uint64_t now_ns);
void kept_process_free(struct kept_process *k);

/* Keep an event, in the part of this number. 0 or -ENOMEM. Changes k->bytes, as the functions below. */
int kept_process_event(struct kept_process *k, uint64_t part, const struct event *ev);
/*
 * The part of this number has ended: what the process has counted is that of its end, and it has it if
 * there was an event or a loss.
 */
void kept_process_close(struct kept_process *k, uint64_t part);
/* Forget parts before this number. */
void kept_process_forget_before(struct kept_process *k, uint64_t part);
/*
 * There is no room: forget the oldest part. Its samples count as lost (LOSS_MEMORY), if the process
 * stays. Returns how many they were.
 */
uint64_t kept_process_drop_oldest(struct kept_process *k);
/* No more events come: in the part of this number it has ended. */
void kept_process_end(struct kept_process *k, uint64_t part, uint64_t end_ns);

#endif
