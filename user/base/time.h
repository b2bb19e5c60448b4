/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* time.h - units of time, and clocks in nanoseconds. */
#ifndef TACHBPF_BASE_TIME_H
#define TACHBPF_BASE_TIME_H

#include <stdint.h>
#include <time.h>

#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull
#define NS_PER_S 1000000000ull

/* Returns a clock's time in ns; 0: no such clock, such as that of a process that has ended. */
static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	return clock_gettime(clock, &t) ? 0 : (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* CLOCK_MONOTONIC: for durations, and for comparison with times from BPF programs. */
uint64_t now_ns(void);

/* Returns the time of day, since 1970 (UTC). */
static inline uint64_t wall_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

/* Returns this process's own CPU time so far, user and system, in seconds. */
double cpu_time_s(void);

#endif
