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

#include "model/stack_tree.h"

/* One row; the list determines which members are used. Times are in ns. */
struct live_row {
	uint32_t file, func;	/* ids in the view's tables */
	int32_t line;		/* LINE_NONE: a whole function */
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
 * Lists the functions in stacks, or with lines their lines; those with the most self first. A
 * recursive function counts once in total. This and the following return 0 or -ENOMEM; the caller
 * frees *out.
 */
int live_rows_functions(const struct live_weights *w, bool lines, struct live_rows *out);

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

#endif
