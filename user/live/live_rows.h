/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * live_rows.h - the lists of one process in a live view: functions, lines, threads, callers, the
 * tree. Pure: computed from the stacks of the process and the weights of their shares.
 */
#ifndef TACHBPF_LIVE_LIVE_ROWS_H
#define TACHBPF_LIVE_LIVE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/live_counts.h"
#include "model/stack_tree.h"

/* One row; the list determines which members are used. Times are in ns. */
struct live_row {
	uint32_t file, func;	/* ids in the view's tables */
	int32_t line;		/* of a function the one with the most self, then total;
				 * LINE_NONE: unknown */
	uint32_t depth;		/* in a tree */
	uint64_t thread_id;
	uint64_t self, total;	/* on a CPU or off it */
	uint64_t holds;		/* on a CPU with the GIL */
	uint64_t wants;		/* waiting for the GIL */
	uint64_t cpu;		/* on a CPU */
};

struct live_rows {
	struct live_row *rows;	/* cnt of them; live_rows_free() */
	size_t cnt;
	uint64_t total;		/* of all weights */
};

/* The weights of shares for a list: weights[i] is that of v->shares[i]. */
struct live_weights {
	struct stack_tree_view v;
	const uint64_t *weights;
};

void live_rows_free(struct live_rows *r);

/*
 * Lists the functions in stacks; those with the most self first. A recursive function counts once
 * in total. This and the following return 0 or -ENOMEM; the caller frees *out.
 */
int live_rows_functions(const struct live_weights *w, struct live_rows *out);

/* Lists the lines of functions in the same way. */
int live_rows_lines(const struct live_weights *w, struct live_rows *out);

/* Lists the threads; those with the most CPU time first. */
int live_rows_threads(const struct live_weights *w, struct live_rows *out);

/*
 * Lists the callers of this function (depth 0), the function itself (depth 1), and its callees
 * (depth 2), with the total of each pair. In a recursion the function is its own caller.
 */
int live_rows_callers(const struct live_weights *w, uint32_t file, uint32_t func,
		      struct live_rows *out);

/* Lists the call tree from the roots, the largest call first, without totals below min. */
int live_rows_tree(const struct live_weights *w, uint64_t min, struct live_rows *out);

/* The weights of stacks in the last seconds, from their weights at each second. */

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
