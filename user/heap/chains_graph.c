// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * chains_graph.c - the objects and references that were found: which of them must be followed
 * further, and the best chain to each object of the sample.
 *
 * A chain costs 1 for each link, and its root as much as it tells little: what runs right now, or C
 * code, is a worse answer than a module's variable two links further.
 */
#include <string.h>

#include "base/util.h"
#include "heap/chains_work.h"

static const uint8_t root_cost[HEAP_ROOT_CNT] = {
	[HEAP_ROOT_MODULE] = 1, [HEAP_ROOT_CLASS] = 1, [HEAP_ROOT_THREAD] = 1,
	[HEAP_ROOT_SUSPENDED] = 2, [HEAP_ROOT_FRAME] = 5, [HEAP_ROOT_C] = 40,
};
#define WEAK_COST 60u
/*
 * After scan number n nothing better than n + this can be found, except by luck: each scan follows
 * at most one link.
 */
#define SETTLED 3u
/* A dict of attributes, and a cell in its tuple, do not count as links. */
#define DEPTH_MAX (2u * HEAP_LINKS_MAX)

uint32_t chains_node(struct chains *c, uint64_t addr, const struct heap_type *type,
		     unsigned int depth)
{
	uint32_t i = chains_set_find(&c->node_at, addr);
	struct chains_node *n;

	if (i != CHAINS_NONE) {
		n = &c->nodes[i];
		n->depth = depth < n->depth ? (uint8_t)depth : n->depth;
		return i;
	}
	if (c->node_cnt == CHAINS_NODES_MAX ||
	    !chains_set_add(&c->node_at, addr, c->node_cnt)) {
		c->out->limited = true;
		return CHAINS_NONE;
	}
	i = c->node_cnt++;
	c->nodes[i] = (struct chains_node){ .addr = addr, .type = type, .cost = CHAINS_NONE,
					    .best = CHAINS_NONE, .depth = (uint8_t)depth };
	return i;
}

void chains_edge(struct chains *c, uint32_t parent, uint32_t child, unsigned int how,
		 enum heap_root root, const char *name)
{
	bool weak = how & CHAINS_WEAK;
	struct chains_edge *e;
	uint32_t i;

	how &= ~(unsigned int)CHAINS_WEAK;
	if (!weak && root != HEAP_ROOT_C && c->nodes[child].counted < UINT16_MAX)
		c->nodes[child].counted++;
	if ((parent == CHAINS_NONE) != (how == CHAINS_ROOT) || parent == child)
		return;
	/* Further references of the same object to the same one say nothing new. */
	for (i = c->edge_cnt; i-- && c->edge_cnt - i <= 4 * CHAINS_REFS_MAX;) {
		e = &c->edges[i];
		if (e->parent == parent && e->child == child && e->root == root && !e->weak)
			return;
	}
	if (c->edge_cnt == CHAINS_EDGES_MAX) {
		c->out->limited = true;
		return;
	}
	e = &c->edges[c->edge_cnt++];
	*e = (struct chains_edge){ .parent = parent, .child = child, .how = (uint8_t)how,
				   .root = (uint8_t)root, .weak = weak };
	utf8_copy(e->name, sizeof(e->name), name, strlen(name));
}

/* ---- costs ---- */

static uint32_t edge_cost(const struct chains *c, const struct chains_edge *e)
{
	uint32_t cost, weak = e->weak ? WEAK_COST : 0;

	if (e->dead)
		return CHAINS_NONE;
	if (e->how == CHAINS_ROOT)
		return root_cost[e->root] ? root_cost[e->root] + weak : CHAINS_NONE;
	cost = c->nodes[e->parent].cost;
	return cost == CHAINS_NONE ? CHAINS_NONE : cost + weak + (e->how != CHAINS_NAMESPACE);
}

/* Shortest paths from the roots: edges are few, and paths short. */
static void relax(struct chains *c)
{
	bool changed = true;
	uint32_t i, cost;
	unsigned int turn;
	struct chains_node *n;

	for (turn = 0; changed && turn <= 2 * DEPTH_MAX; turn++) {
		changed = false;
		for (i = 0; i < c->edge_cnt; i++) {
			cost = edge_cost(c, &c->edges[i]);
			n = &c->nodes[c->edges[i].child];
			if (cost >= n->cost)
				continue;
			n->cost = cost;
			n->best = i;
			changed = true;
		}
	}
}

/* ---- what to search next ---- */

/*
 * Mark everything that keeps an object of the sample whose chain may get better. Returns the number
 * of these objects.
 */
static uint32_t mark_wanted(struct chains *c, unsigned int scan)
{
	bool changed = true;
	unsigned int turn;
	uint32_t i, cnt = 0;

	for (i = 0; i < c->node_cnt; i++) {
		c->nodes[i].wanted = c->nodes[i].sample && c->nodes[i].cost > SETTLED + scan;
		cnt += c->nodes[i].wanted;
	}
	for (turn = 0; changed && turn <= 2 * DEPTH_MAX; turn++) {
		changed = false;
		for (i = 0; i < c->edge_cnt; i++) {
			const struct chains_edge *e = &c->edges[i];

			if (e->how == CHAINS_ROOT || !c->nodes[e->child].wanted ||
			    c->nodes[e->parent].wanted)
				continue;
			c->nodes[e->parent].wanted = true;
			changed = true;
		}
	}
	return cnt;
}

uint32_t chains_frontier(struct chains *c, unsigned int scan, uint32_t *unsettled)
{
	struct chains_node *n;
	uint32_t i, cnt = 0;

	relax(c);
	*unsettled = mark_wanted(c, scan);
	chains_set_clear(&c->search);
	for (i = 0; i < c->node_cnt; i++) {
		n = &c->nodes[i];
		if (!n->wanted || n->searched || n->depth >= DEPTH_MAX)
			continue;
		if (!chains_set_add(&c->search, n->addr, i))
			continue;
		n->searched = true;
		cnt++;
	}
	return cnt;
}

void chains_settle(struct chains *c)
{
	struct chains_node *n;
	uint32_t i;

	for (i = 0; i < c->node_cnt; i++) {
		c->nodes[i].cost = CHAINS_NONE;
		c->nodes[i].best = CHAINS_NONE;
	}
	for (i = 0; i < c->edge_cnt; i++) {
		n = &c->nodes[c->edges[i].child];
		if ((c->edges[i].root == HEAP_ROOT_C || c->edges[i].weak) &&
		    n->counted >= chains_refs(c, n->addr))
			c->edges[i].dead = true;
	}
	relax(c);
}
