// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* heap_price.c - see heap_price.h. */
#include "probe/heap_price.h"

#include <errno.h>
#include <unistd.h>

#include "base/util.h"
#include "host/proc.h"
#include "probe/uprobe_event.h"

/* The fastest of some rounds: nobody else had the CPU then. */
#define ROUNDS 100
#define CALLS 10

/* Stands for malloc(): asks for nothing. */
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

/* Of a call, in microseconds. */
static double measure(void)
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

static int attach(const struct heap_price_fns *fns, void *ctx, bool returns, uint64_t offset)
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
	double bare = measure(), enter = 0, both = 0;
	int err = proc_maps(getpid(), find_place, &place);

	if (err != 1)
		return err < 0 ? err : -ENOENT;
	err = attach(fns, ctx, false, place.offset);
	if (!err) {
		enter = measure();
		err = attach(fns, ctx, true, place.offset);
	}
	if (!err)
		both = measure();
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
