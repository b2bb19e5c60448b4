/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * heap_cost.h - what probes of an allocator cost its process: calls per second, as the BPF side
 * counts them, times the cost of a probe on this machine.
 */
#ifndef TACHBPF_PROBE_HEAP_COST_H
#define TACHBPF_PROBE_HEAP_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi_heap.h"

/* Cost of one hit of a probe, and the additional cost of a typical stack walk. */
struct heap_prices {
	double enter_us, return_us, walk_us;
};
/* Of a walk, including sending it: assumed, not measured; 2 us to 3 us are usual at 20 frames. */
#define HEAP_WALK_US 5.0

/* More than this share of a CPU needs --accept-cost. */
#define HEAP_COST_MAX 0.1
/*
 * Counting ends after HEAP_COUNT_NS; earlier, if the calls so far already cost too much for all
 * that time. If so, they are counted once more: the burst of calls at a program's start does not
 * decide.
 */
#define HEAP_COUNT_NS 1000000000ull

struct heap_cost {
	double calls_per_s;
	double us_a_call;	/* 0: there were no calls */
	double cpu;		/* share of a CPU */
};

/* The cost of the calls counted in ns. */
struct heap_cost heap_cost(const struct heap_counts *counts, uint64_t ns,
			   const struct heap_prices *prices);

enum heap_verdict { HEAP_COUNT_ON, HEAP_COUNT_AGAIN, HEAP_CHEAP, HEAP_COSTLY };
/* again: this is the second count, which decides. */
enum heap_verdict heap_judge(const struct heap_cost *cost, uint64_t ns, bool again);

/* "12,000 calls/s × 7.1 µs = 8.5 % of a CPU". */
void heap_cost_text(const struct heap_cost *cost, char *out, unsigned int size);

/* Measures the cost of a probe on this machine, by probing a function of our own. */

/*
 * Attach the program of malloc()'s entry, or of its return, to an event of this process. 0 or
 * -errno; the event belongs to the function. detach ends both.
 */
struct heap_price_fns {
	int (*attach)(void *ctx, bool returns, int event);
	void (*detach)(void *ctx);
};

/*
 * The programs must run as in a recording, for blocks that are too small. Takes about 20 ms. 0 or
 * -errno: *out is not filled in.
 */
int heap_prices_measure(const struct heap_price_fns *fns, void *ctx, struct heap_prices *out);

#endif
