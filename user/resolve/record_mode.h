/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * record_mode.h - what -m means: which programs run, which time becomes samples, and what
 * weights count.
 */
#ifndef TACHBPF_RECORD_MODE_H
#define TACHBPF_RECORD_MODE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/event.h"

enum record_mode {
	RECORD_CPU, RECORD_WALL, RECORD_OFFCPU, RECORD_GIL, RECORD_EXCEPTION, RECORD_ALL,
	RECORD_MODE_CNT,
};

struct record_mode_def {
	const char *name;
	enum profile_mode header;	/* what the files say */
	enum profile_unit unit;	/* what weights count, of raw samples and of events */
	bool ticks;		/* samples of threads on their CPUs */
	bool waits;		/* and of those that are not: the scheduler's programs run */
	bool runnable;		/* that wait for nothing but a CPU count, too */
	bool wait_frames;	/* in what a thread is blocked is a frame: <blocked in read> */
	bool runnable_frames;	/* likewise <waiting for a CPU> */
	bool exceptions;	/* the type of an exception is a frame: <exception ValueError> */
	uint8_t need_status;	/* one of these STATUS_* at least; 0: any */
};

extern const struct record_mode_def record_modes[RECORD_MODE_CNT];

/* How much time a sample stands for at this rate, in us, as profiles have it. */
uint64_t sampling_interval_us(uint32_t rate_hz);

#endif
