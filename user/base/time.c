/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */

#include "base/time.h"

uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

double cpu_time_s(void)
{
	return (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}
