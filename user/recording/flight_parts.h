/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flight_parts.h - struct flight, for the files flight*.c alone. */
#ifndef TACHBPF_RECORDING_FLIGHT_PARTS_H
#define TACHBPF_RECORDING_FLIGHT_PARTS_H

#include "recording/flight.h"
#include "recording/kept_process.h"
#include "recording/kept_room.h"
#include "recording/remarks.h"
#include "recording/totals.h"
#include "resolve/observer.h"

/* The parts that end in the time to keep, the one that it begins in, and the present one. */
#define TIMES (FLIGHT_PARTS + 2)

/* A part of the time. */
struct part_time {
	uint64_t begin_ns;		/* CLOCK_MONOTONIC */
	struct counts_since *since;	/* its begin; NULL: no memory */
	uint64_t forgotten;		/* samples of processes that were forgotten in it */
};

struct flight {
	struct observer observer;	/* first */
	struct flight_args args;
	uint64_t part_ns;		/* how long a part is */
	struct part_time times[TIMES];	/* of part number n: n % TIMES */
	uint64_t oldest, newest;	/* numbers of parts; newest is the present one */
	bool started;			/* there is a present part */
	struct u64map live;		/* struct kept_process, by address */
	struct kept_process *over, **over_end;	/* that are over, in the order of their ends */
	struct kept_room room;
	struct remarks remarks;
	uint64_t judged;		/* seconds up to this one, exclusive, were judged */
	uint64_t dropped;
	/* The recording that is being written: */
	struct recording *recording;	/* NULL: none */
	struct counts_since *since, *last_since;	/* its begin; of the one before, for its counts */
	uint64_t forgotten;		/* in its time */
	int err;
};

/* ---- flight_room.c ---- */

/* Forget until there is room again. */
void flight_make_room(struct flight *f);
/* Forget what is older than the time to keep. */
void flight_forget_old(struct flight *f);

/* ---- flight_judge.c ---- */

/* An event of the process, for the conditions. */
void flight_judge_event(struct flight *f, struct kept_process *k, const struct event *ev);
/* Judge the seconds that have passed since the last call. */
void flight_judge(struct flight *f, uint64_t now_ns);

#endif
