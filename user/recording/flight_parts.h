/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flight_parts.h - struct flight, only for the files flight*.c. */
#ifndef TACHBPF_RECORDING_FLIGHT_PARTS_H
#define TACHBPF_RECORDING_FLIGHT_PARTS_H

#include "recording/flight.h"
#include "recording/kept_process.h"
#include "recording/kept_room.h"
#include "recording/remarks.h"
#include "recording/totals.h"
#include "resolve/observer.h"

/* The complete parts of the time to keep, the one in which it begins, and the present one. */
#define TIMES (FLIGHT_PARTS + 2)

/* A part of the time. */
struct part_time {
	uint64_t begin_ns;		/* CLOCK_MONOTONIC */
	struct counts_since *since;	/* from its begin on; NULL: no memory */
	uint64_t forgotten;		/* samples of processes that were dropped in it */
};

struct flight {
	struct observer observer;	/* first */
	struct flight_args args;
	uint64_t part_ns;		/* how long a part is */
	struct part_time times[TIMES];	/* part number n is at n % TIMES */
	uint64_t oldest, newest;	/* numbers of parts; newest is the present one */
	bool started;			/* there is a present part */
	struct u64map live;		/* struct kept_process, by address */
	struct kept_process *over, **over_end;	/* ended, in the order of their ends */
	struct kept_room room;
	struct remarks remarks;
	uint64_t judged;		/* seconds before this one were judged */
	uint64_t dropped;
	/* The recording that is being written: */
	struct recording *recording;	/* NULL: none */
	struct counts_since *since, *last_since;	/* from its begin on; from the previous
							 * one's, for its counts */
	uint64_t forgotten;		/* in its time */
	int err;
};

/* ---- flight_room.c ---- */

/* Frees data until there is room again. */
void flight_make_room(struct flight *f);
/* Frees what is older than the time to keep. */
void flight_forget_old(struct flight *f);

/* ---- flight_judge.c ---- */

/* Takes an event of the process into account for the conditions. */
void flight_judge_event(struct flight *f, struct kept_process *k, const struct event *ev);
/* Judges the seconds that have passed since the last call. */
void flight_judge(struct flight *f, uint64_t now_ns);

#endif
