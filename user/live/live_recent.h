/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* live_recent.h - the weights of stacks in the last seconds, from their weights at each second. */
#ifndef TACHBPF_LIVE_LIVE_RECENT_H
#define TACHBPF_LIVE_LIVE_RECENT_H

#include <stddef.h>
#include <stdint.h>

#include "live/live_counts.h"
#include "model/stack_tree.h"

/* Zero-initialise; freed by live_recent_reset(). */
struct live_recent {
	uint64_t *weights[LIVE_RECENT_S];	/* of the first cnt[] shares, after each second */
	size_t cnt[LIVE_RECENT_S];
	uint64_t ns[LIVE_RECENT_S];	/* when that was */
	uint64_t begun_ns;	/* CLOCK_MONOTONIC: of the first second; 0: none yet */
	uint32_t second;
};

/* Drops everything, for the stacks of another process. */
void live_recent_reset(struct live_recent *r);
/*
 * Call this at the beginning, and about once a second: stores the current weights of the stacks.
 * Without memory this second is merged into the previous one.
 */
void live_recent_second(struct live_recent *r, const struct stack_tree_view *v, uint64_t now_ns);
/* Returns the length of live_recent_weights(), in ns. */
uint64_t live_recent_span(const struct live_recent *r, uint64_t now_ns);
/* Returns each share's weight in the last seconds; the caller frees it. NULL: no memory. */
uint64_t *live_recent_weights(const struct live_recent *r, const struct stack_tree_view *v);

#endif
