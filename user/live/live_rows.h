/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * live_rows.h - what a live view lists of one process: functions, lines, threads, callers, the tree. Pure:
 * from the stacks of the process and the weights of their shares.
 */
#ifndef TACHBPF_LIVE_LIVE_ROWS_H
#define TACHBPF_LIVE_LIVE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/stack_tree.h"

/* One row; which members count depends on the list. Times are in ns. */
struct live_row {
	uint32_t file, func;	/* ids in the view's tables */
	int32_t line;		/* LINE_NONE: of the function */
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

/* A share's weight for a list: weights[i] is that of v->shares[i]. */
struct live_weights {
	struct stack_tree_view v;
	const uint64_t *weights;
};

void live_rows_free(struct live_rows *r);

/*
 * The functions that were in stacks, or with lines: lines; those with the most self first. The functions of
 * a recursion count once in total. This and the following return 0 or -ENOMEM; *out is to be freed.
 */
int live_rows_functions(const struct live_weights *w, bool lines, struct live_rows *out);

/* Each thread; those with the most CPU time first. */
int live_rows_threads(const struct live_weights *w, struct live_rows *out);

/*
 * The functions that call this one (depth 0), the function itself (depth 1), and those that it calls (depth
 * 2), with the total of each pair. In a recursion the function is its own caller.
 */
int live_rows_callers(const struct live_weights *w, uint32_t file, uint32_t func,
		      struct live_rows *out);

/* The call tree from the roots, calls with less than min of the total left out, the largest call first. */
int live_rows_tree(const struct live_weights *w, uint64_t min, struct live_rows *out);

#endif
