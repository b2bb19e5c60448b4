// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* heap_cost.c - see heap_cost.h. */
#include "probe/heap_cost.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/time.h"
#include "base/util.h"
#include "host/proc.h"
#include "probe/uprobe_event.h"

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

/* Number of rounds, of which the minimum counts: nothing else used the CPU then. */
#define ROUNDS 100
#define CALLS 10

/* Stands for malloc(), but allocates nothing. */
__attribute__((noinline, noclone)) static void *probed_function(unsigned long bytes)
{
	void *volatile none = NULL;

	__asm__ volatile("" : : "r"(bytes) : "memory");
	return none;
}

struct place {
	uint64_t addr, offset;
};

/* Callback of proc_maps(). */
static int find_place(void *ctx, const struct proc_map *m)
{
	struct place *p = ctx;

	if (p->addr < m->start || p->addr >= m->end)
		return 0;
	p->offset = p->addr - m->start + m->offset;
	return 1;
}

/* Duration of a call, in microseconds. */
static double measure_calls(void)
{
	uint64_t best = UINT64_MAX, began, took;
	int round, i;

	for (round = 0; round < ROUNDS; round++) {
		began = now_ns();
		for (i = 0; i < CALLS; i++)
			probed_function(0);
		took = now_ns() - began;
		best = took < best ? took : best;
	}
	return (double)best / CALLS / 1e3;
}

static int attach_probe(const struct heap_price_fns *fns, void *ctx, bool returns, uint64_t offset)
{
	const struct uprobe_place place = { .offset = offset, .returns = returns };
	int type = uprobe_event_type();
	int event = type < 0 ? type :
		    uprobe_event_open(type, getpid(), "/proc/self/exe", &place);

	return event < 0 ? event : fns->attach(ctx, returns, event);
}

int heap_prices_measure(const struct heap_price_fns *fns, void *ctx, struct heap_prices *out)
{
	struct place place = { .addr = (uint64_t)(uintptr_t)probed_function };
	double bare = measure_calls(), enter = 0, both = 0;
	int err = proc_maps(getpid(), find_place, &place);

	if (err != 1)
		return err < 0 ? err : -ENOENT;
	err = attach_probe(fns, ctx, false, place.offset);
	if (!err) {
		enter = measure_calls();
		err = attach_probe(fns, ctx, true, place.offset);
	}
	if (!err)
		both = measure_calls();
	fns->detach(ctx);
	if (err)
		return err;
	*out = (struct heap_prices){
		.enter_us = enter > bare ? enter - bare : 0,
		.return_us = both > enter ? both - enter : 0,
		.walk_us = HEAP_WALK_US,
	};
	return 0;
}
