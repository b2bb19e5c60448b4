/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* heap_price.h - measures on this machine what a probe takes, by probing a function of our own. */
#ifndef TACHBPF_PROBE_HEAP_PRICE_H
#define TACHBPF_PROBE_HEAP_PRICE_H

#include <stdbool.h>

#include "probe/heap_cost.h"

/*
 * Attach to an event of this process the program of malloc()'s entry, or of the return. 0 or
 * -errno;
 * the event is the function's. detach ends both.
 */
struct heap_price_fns {
	int (*attach)(void *ctx, bool returns, int event);
	void (*detach)(void *ctx);
};

/*
 * The programs must run as they do while recording, for blocks that are too small. Takes some 20
 * ms.
 * 0 or -errno: *out is not filled in.
 */
int heap_prices_measure(const struct heap_price_fns *fns, void *ctx, struct heap_prices *out);

#endif
