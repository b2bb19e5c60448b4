// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* heap_cost.c - see heap_cost.h. */
#include "probe/heap_cost.h"

#include <stdio.h>

struct heap_cost heap_cost(const struct heap_counts *counts, uint64_t ns,
			   const struct heap_prices *prices)
{
	double us = (double)counts->entries * prices->enter_us +
		    (double)counts->returns * prices->return_us +
		    (double)counts->kept * prices->walk_us;
	double seconds = (double)ns / 1e9;

	if (!ns || !counts->entries)
		return (struct heap_cost){ 0 };
	return (struct heap_cost){
		.calls_per_s = (double)counts->entries / seconds,
		.us_a_call = us / (double)counts->entries,
		.cpu = us / 1e6 / seconds,
	};
}

enum heap_verdict heap_judge(const struct heap_cost *cost, uint64_t ns, bool again)
{
	const enum heap_verdict costly = again ? HEAP_COSTLY : HEAP_COUNT_AGAIN;

	if (cost->cpu * (double)ns >= HEAP_COST_MAX * HEAP_COUNT_NS)
		return costly;
	if (ns < HEAP_COUNT_NS)
		return HEAP_COUNT_ON;
	return cost->cpu < HEAP_COST_MAX ? HEAP_CHEAP : costly;
}

void heap_cost_text(const struct heap_cost *cost, char *out, unsigned int size)
{
	unsigned long long n = (unsigned long long)(cost->calls_per_s + 0.5);
	char calls[32];

	if (n >= 1000000)
		snprintf(calls, sizeof(calls), "%llu,%03llu,%03llu", n / 1000000,
			 n / 1000 % 1000, n % 1000);
	else if (n >= 1000)
		snprintf(calls, sizeof(calls), "%llu,%03llu", n / 1000, n % 1000);
	else
		snprintf(calls, sizeof(calls), "%llu", n);
	snprintf(out, size, "%s calls/s × %.1f µs = %.1f %% of a CPU", calls, cost->us_a_call,
		 100 * cost->cpu);
}
