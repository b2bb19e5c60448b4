/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kept_process.h - the kept data of one process: its events in parts of equal time, and its
 * counters at the end of each, so that the counts of the remaining parts are known.
 *
 * Holds the process (process_hold()), so its names are available after its end, too.
 */
#ifndef TACHBPF_RECORDING_KEPT_PROCESS_H
#define TACHBPF_RECORDING_KEPT_PROCESS_H

#include <stdbool.h>

#include "live/live_counts.h"
#include "recording/kept_events.h"
#include "recording/when.h"
#include "resolve/process.h"

struct observed;

/* Sums of CPU time and the like are kept for this many seconds. */
#define KEPT_SECONDS 4

/* The events of one part of the time. */
struct kept_part {
	struct kept_part *next;
	uint64_t number;		/* number of the part; increasing */
	struct kept_events events;
	uint64_t samples;		/* samples in events */
	struct process_stats *stats;	/* at its end; NULL: it has not ended */
	struct losses_of_threads *lost;	/* likewise; NULL: none */
};

struct kept_process {
	struct process *process;
	char *command;			/* recording_command() when it began */
	uint64_t begin_ns, end_ns;	/* CLOCK_MONOTONIC; end_ns 0: it is alive, or ... */
	bool over;			/* ... its end is unknown: no more events come */
	struct kept_part *oldest, *newest;	/* NULL: none */
	struct kept_last last;		/* of the last event in newest */
	struct process_stats before;	/* its counters before the oldest part */
	struct losses_of_threads *lost_before;	/* likewise; NULL: none */
	size_t bytes;			/* memory of all this */
	struct kept_owner *owner;	/* kept_room.h */
	struct observed *in;		/* in the current recording; NULL: none */
	struct kept_process *next;	/* flight.c: in the list of ended processes */
	struct when_process when;	/* its state for each condition */
	struct {
		uint64_t second;	/* of CLOCK_MONOTONIC */
		struct live_sums sums;
	} seconds[KEPT_SECONDS];	/* by second, for the conditions */
};

/* Creates the data of a process that begins now. NULL: no memory. */
struct kept_process *kept_process_new(struct process *p, uint64_t now_ns);
void kept_process_free(struct kept_process *k);

/* Keeps an event in the part of this number. 0 or -ENOMEM. Like the next ones, changes k->bytes. */
int kept_process_event(struct kept_process *k, uint64_t part, const struct event *ev);
/* Ends the part of this number; its counters are stored if it had an event or a loss. */
void kept_process_close(struct kept_process *k, uint64_t part);
/* Frees parts before this number. */
void kept_process_forget_before(struct kept_process *k, uint64_t part);
/*
 * There is no room: frees the oldest part. Its samples count as lost (LOSS_MEMORY), if the process
 * stays. Returns their number.
 */
uint64_t kept_process_drop_oldest(struct kept_process *k);
/* The process has ended in the part of this number: no more events come. */
void kept_process_end(struct kept_process *k, uint64_t part, uint64_t end_ns);

#endif
