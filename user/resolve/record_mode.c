// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * record_mode.c - the table of modes. docs/modes.md explains when to use each.
 *
 * TACH has no value for offcpu, so its header says wall, of which offcpu is a part.
 */
#include "resolve/record_mode.h"

#include <math.h>

#include "bpf/abi.h"

const struct record_mode_def record_modes[RECORD_MODE_CNT] = {
	[RECORD_CPU] = {
		.name = "cpu", .header = MODE_CPU, .unit = UNIT_SAMPLES, .ticks = true,
	},
	[RECORD_WALL] = {
		.name = "wall", .header = MODE_WALL, .unit = UNIT_SAMPLES, .ticks = true,
		.waits = true, .runnable = true, .runnable_frames = true,
	},
	[RECORD_OFFCPU] = {
		.name = "offcpu", .header = MODE_WALL, .unit = UNIT_SAMPLES, .waits = true,
		.wait_frames = true,
	},
	[RECORD_GIL] = {
		.name = "gil", .header = MODE_GIL, .unit = UNIT_SAMPLES, .ticks = true,
		.waits = true, .runnable = true,
		.need_status = STATUS_HAS_GIL | STATUS_GIL_REQUESTED,
	},
	[RECORD_EXCEPTION] = {
		.name = "exception", .header = MODE_EXCEPTION, .unit = UNIT_SAMPLES, .ticks = true,
		.waits = true, .runnable = true, .exceptions = true,
		.need_status = STATUS_HAS_EXCEPTION,
	},
	[RECORD_ALL] = {
		.name = "all", .header = MODE_ALL, .unit = UNIT_SAMPLES, .ticks = true,
		.waits = true, .runnable = true, .runnable_frames = true,
	},
	[RECORD_MEM] = {	/* ticks discover processes and see collections */
		.name = "mem", .header = MODE_UNKNOWN, .unit = UNIT_BYTES, .memory = true,
	},
};

const struct record_mode_def record_mode_event = {	/* ticks discover processes */
	.name = "event", .header = MODE_UNKNOWN, .unit = UNIT_SAMPLES, .events = true,
};

uint64_t sampling_interval_us(uint32_t rate_hz)
{
	return lround(1e6 / rate_hz);
}
