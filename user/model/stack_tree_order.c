// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* stack_tree_order.c - see stack_tree.h: what is computed of a tree as a whole. */
#include <stdlib.h>

#include "base/arith.h"
#include "model/stack_tree.h"

uint64_t *stack_tree_totals(const struct stack_tree *t)
{
	struct stack_tree_view v = stack_tree_view(t);
	uint64_t *totals = calloc(v.node_cnt, sizeof(*totals));
	uint32_t i;

	if (!totals)
		return NULL;
	for (i = 0; i < v.share_cnt; i++)
		totals[v.shares[i].node] = add_capped(totals[v.shares[i].node],
						      v.shares[i].weight);
	for (i = v.node_cnt; --i > 0;)
		totals[v.nodes[i].parent] = add_capped(totals[v.nodes[i].parent], totals[i]);
	return totals;
}

uint32_t *stack_tree_preorder(const struct stack_tree *t, uint32_t **depths)
{
	struct stack_tree_view v = stack_tree_view(t);
	uint32_t *size = calloc(v.node_cnt, sizeof(*size));
	uint32_t *pos = calloc(v.node_cnt, sizeof(*pos));
	uint32_t *order = calloc(v.node_cnt, sizeof(*order));
	uint32_t *depth = calloc(v.node_cnt, sizeof(*depth));
	uint32_t i;

	if (!size || !pos || !order || !depth) {
		free(order);
		order = NULL;
		goto out;
	}
	for (i = v.node_cnt; --i > 0;)
		size[v.nodes[i].parent] += ++size[i];
	/* From here on, size[i] is the distance from node i to the place of its next child. */
	size[0] = 1;
	for (i = 1; i < v.node_cnt; i++) {
		uint32_t parent = v.nodes[i].parent, own = size[i];

		pos[i] = pos[parent] + size[parent];
		size[parent] += own;
		size[i] = 1;
		order[pos[i]] = i;
		depth[pos[i]] = depth[pos[parent]] + 1;
	}
	if (depths) {
		*depths = depth;
		depth = NULL;
	}
out:
	free(size);
	free(pos);
	free(depth);
	return order;
}
