// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * heap_bursts.c - see heap_bursts.h. While it is probed a process gets less done. So a burst sees
 * less than a tenth of what the process does.
 */
#include "probe/heap_bursts.h"

#define SPEED_LEAST 0.02
/* Of a probe's time, the kernel counts this much as user time: interrupts wait until it ends. */
#define PROBE_AS_USER 0.07
/* The cost is known this well. */
#define COST_ERROR 1.3

/* Half the mean to one and a half of it. */
uint64_t heap_burst_gap_ns(uint64_t burst_ns, uint64_t random)
{
	uint64_t mean = burst_ns * BURST_GAPS;

	return mean / 2 + (mean ? random % mean : 0);
}

double heap_burst_speed(double speed)
{
	return speed < SPEED_LEAST ? SPEED_LEAST : speed > 1 ? 1 : speed;
}

/* The process cannot lose more time than the probes take. */
double heap_burst_speed_by(double in, double between, double cost)
{
	double by_user = (in / between - PROBE_AS_USER) / (1 - PROBE_AS_USER);
	double least = 1 - COST_ERROR * cost;

	return heap_burst_speed(by_user < least ? least : by_user);
}

double heap_burst_weight(double speed)
{
	return 1 + BURST_GAPS / heap_burst_speed(speed);
}
