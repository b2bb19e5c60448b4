/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mlyze_stats.h - the sums of a .mlyze file's events, and the allocations that are live at one of
 * them.
 *
 * Sums saturate at 64 bits when they are returned.
 */
#ifndef TACHBPF_MLYZE_STATS_H
#define TACHBPF_MLYZE_STATS_H

#include "formats/mlyze/mlyze.h"

/* For one row (usually a stack), or for all. */
struct mlyze_sums {
	uint64_t count;			/* allocations */
	uint64_t allocated;		/* bytes */
	uint64_t before;		/* bytes live at the beginning of the range */
	uint64_t live_count, live;	/* not freed at its end */
	uint64_t peak_count, peak;	/* live when all rows together have the most bytes live */
};

/*
 * What is added up. All zero: the whole file, by stack. The functions are called for the events of
 * the file in order, including those before the range, whose blocks may still be live in it.
 */
struct mlyze_stats_args {
	uint64_t from_us, to_us;	/* the range; to_us: the first time after it; 0: the end */
	/*
	 * The row of an ALLOC: numbers are dense, and the same event always has the same. Returns 0
	 * or -errno. NULL: its stack's index.
	 */
	int (*row_of)(void *ctx, const struct mlyze_event *alloc, uint32_t *row);
	/*
	 * From this time on, N bytes more, or less, are live. Returns 0 or -errno. NULL: nothing.
	 */
	int (*changed)(void *ctx, uint32_t row, uint64_t time_us, uint64_t bytes, bool more);
	void *ctx;
};

struct mlyze_stats {
	struct mlyze_sums total;
	struct mlyze_sums *rows;	/* by row: row_cnt of them */
	size_t row_cnt;
	uint64_t event_cnt, free_cnt, gc_cnt, marker_cnt;
	uint64_t freed;			/* bytes */
	uint64_t gc_objects, gc_bytes;
	uint64_t unmatched_frees;	/* frees of addresses that were not live: allocated
					 * before the trace */
	uint64_t lost_frees;		/* allocations at live addresses: their free is missing */
	uint64_t peak_us, peak_events;	/* time of the peak, and number of events up to it */
	uint64_t start_us, end_us;	/* of the range; end_us at most the last event's time */
	bool damaged;			/* only the events before the damage count; see error */
	struct mlyze_error error;
};

/* Returns 0, -ENOMEM, or as args (NULL: defaults). Damage in the file is no error: see damaged. */
int mlyze_stats_collect(const struct mlyze_file *f, const struct mlyze_stats_args *args,
			struct mlyze_stats *stats);
void mlyze_stats_free(struct mlyze_stats *stats);

/* The allocations that are live, by address. */
struct mlyze_live;

/* NULL with errno on failure. Free it by mlyze_live_free(). */
struct mlyze_live *mlyze_live_new(void);
void mlyze_live_free(struct mlyze_live *live);

struct mlyze_block {
	uint64_t addr, size;
	uint64_t index;		/* of the event that allocated the block */
	uint32_t stack;
	bool used;		/* for mlyze_live.c only */
};

/*
 * Adds a block. One that was at its address is returned in *old and replaced: 1. Else returns 0, or
 * -ENOMEM.
 */
int mlyze_live_add(struct mlyze_live *live, const struct mlyze_block *block,
		   struct mlyze_block *old);
/* Removes the block at addr and returns it in *old. Returns false if it is not live. */
bool mlyze_live_remove(struct mlyze_live *live, uint64_t addr, struct mlyze_block *old);
/* The block at addr; NULL if it is not live. */
const struct mlyze_block *mlyze_live_find(const struct mlyze_live *live, uint64_t addr);
/* Adds what is live after the first event_cnt events (or up to damage). Returns 0 or -ENOMEM. */
int mlyze_live_replay(struct mlyze_live *live, const struct mlyze_file *f, uint64_t event_cnt);

#endif
