/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mlyze_stats.h - what a .mlyze file's events add up to, and which allocations
 * are live at one of them.
 *
 * Sums are clamped to 64 bits when they are handed out, never wrapped.
 */
#ifndef TACHBPF_MLYZE_STATS_H
#define TACHBPF_MLYZE_STATS_H

#include "formats/mlyze/mlyze.h"

/* Of one stack, or of all. */
struct mlyze_sums {
	uint64_t count;			/* allocations */
	uint64_t allocated;		/* bytes */
	uint64_t live_count, live;	/* at the end: not freed */
	uint64_t peak_count, peak;	/* when most bytes of the whole file were live */
};

struct mlyze_stats {
	struct mlyze_sums total;
	struct mlyze_sums *stacks;	/* by stack index */
	uint64_t event_cnt, free_cnt, gc_cnt, marker_cnt;
	uint64_t freed;			/* bytes */
	uint64_t gc_objects, gc_bytes;
	uint64_t unmatched_frees;	/* of addresses that were not live: allocated earlier */
	uint64_t lost_frees;		/* addresses that were allocated while live */
	uint64_t peak_us, peak_events;	/* when, and how many events lead to it */
	uint64_t end_us;
	bool damaged;			/* only what came before counts; see error */
	struct mlyze_error error;
};

/* 0, or -ENOMEM. A damaged file is no error: see damaged. */
int mlyze_stats_collect(const struct mlyze_file *f, struct mlyze_stats *stats);
void mlyze_stats_free(struct mlyze_stats *stats);

/* Allocations that are live, by address. */
struct mlyze_live;

/* NULL with errno. */
struct mlyze_live *mlyze_live_new(void);
void mlyze_live_free(struct mlyze_live *live);

struct mlyze_block {
	uint64_t addr, size;
	uint64_t index;		/* of the event that allocated it */
	uint32_t stack;
	bool used;		/* for mlyze_live only */
};

/* A block that was at the address is handed out in *old and replaced. 1: there was one. -ENOMEM */
int mlyze_live_add(struct mlyze_live *live, const struct mlyze_block *block,
		   struct mlyze_block *old);
bool mlyze_live_remove(struct mlyze_live *live, uint64_t addr, struct mlyze_block *old);
/* NULL: not live. */
const struct mlyze_block *mlyze_live_find(const struct mlyze_live *live, uint64_t addr);
/* What is live after the first event_cnt events (or all that are sound). 0 or -ENOMEM. */
int mlyze_live_replay(struct mlyze_live *live, const struct mlyze_file *f, uint64_t event_cnt);

#endif
