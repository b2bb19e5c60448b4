/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sample_time.h - how long the stack of a sample lasted: for formats that have a time axis. */
#ifndef TACHBPF_SAMPLE_TIME_H
#define TACHBPF_SAMPLE_TIME_H

#include "model/event.h"

/*
 * Returns for how much of the time until its thread's next sample (gap) the stack of a sample of a
 * clock lasted; then the thread did not run. own is the time that the sample stands for; it, gap
 * and interval have one unit. Where only running threads are sampled, a gap of more than half an
 * interval beyond it is such a pause; elsewhere there is none.
 */
static inline uint64_t sample_lasts(enum profile_mode mode, uint64_t interval, uint64_t own,
				    uint64_t gap)
{
	bool running_only = mode != MODE_WALL && mode != MODE_ALL && mode != MODE_OFFCPU;

	return running_only && gap > own && gap - own > interval / 2 ? own : gap;
}

#endif
