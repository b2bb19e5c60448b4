/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * record_mode.h - the modes of -m: which BPF programs run, which time becomes samples, and what
 * weights count.
 */
#ifndef TACHBPF_RECORD_MODE_H
#define TACHBPF_RECORD_MODE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/event.h"

enum record_mode {
	RECORD_CPU, RECORD_WALL, RECORD_OFFCPU, RECORD_GIL, RECORD_EXCEPTION, RECORD_ALL,
	RECORD_MEM,
	RECORD_MODE_CNT,
};

struct record_mode_def {
	const char *name;
	enum profile_mode header;	/* the mode in the files' header */
	enum profile_unit unit;	/* what weights of raw samples and of events count */
	bool ticks;		/* on-CPU threads are sampled */
	bool waits;		/* off-CPU time is sampled: the scheduler programs run */
	bool scan_only;		/* ... except that they do not run: only capture_scan() sees such
				 * threads */
	bool runnable;		/* off-CPU time includes runnable threads */
	bool wait_frames;	/* blocked threads get a frame: <blocked in read> */
	bool runnable_frames;	/* runnable threads get a frame: <waiting for a CPU> */
	bool memory;		/* page faults, or allocations, are events: MEMORY_* */
	bool events;		/* the event of -e is recorded, not time */
	bool exceptions;	/* an exception's type is a frame: <exception ValueError> */
	uint8_t need_status;	/* samples must have one of these STATUS_*; 0: all samples */
};

extern const struct record_mode_def record_modes[RECORD_MODE_CNT];
/* With -e EVENT, which is not a value of -m. */
extern const struct record_mode_def record_mode_event;

/* Returns the interval of this rate in us, the unit of profiles. */
uint64_t sampling_interval_us(uint32_t rate_hz);

#endif
