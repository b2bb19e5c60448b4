/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* live_recent.h - what stacks have weighed in the last seconds, from what they weigh at each second. */
#ifndef TACHBPF_LIVE_LIVE_RECENT_H
#define TACHBPF_LIVE_LIVE_RECENT_H

#include <stddef.h>
#include <stdint.h>

#include "live/live_counts.h"
#include "model/stack_tree.h"

/* Zero-initialise; freed by live_recent_reset(). */
struct live_recent {
	uint64_t *weights[LIVE_RECENT_S];	/* of the first cnt[] shares, at the end of a second */
	size_t cnt[LIVE_RECENT_S];
	uint64_t ns[LIVE_RECENT_S];	/* when that was */
	uint64_t begun_ns;	/* CLOCK_MONOTONIC: of the first second; 0: none yet */
	uint32_t second;
};

/* Forget everything, for the stacks of another process. */
void live_recent_reset(struct live_recent *r);
/*
 * To be called at the begin, and about once a second: keep what the stacks weigh now. Without memory this
 * second counts as part of the one before.
 */
void live_recent_second(struct live_recent *r, const struct stack_tree_view *v, uint64_t now_ns);
/* Of which time live_recent_weights() is, in ns. */
uint64_t live_recent_span(const struct live_recent *r, uint64_t now_ns);
/* For each share of v the weight of the last seconds; to be freed. NULL: no memory. */
uint64_t *live_recent_weights(const struct live_recent *r, const struct stack_tree_view *v);

#endif
