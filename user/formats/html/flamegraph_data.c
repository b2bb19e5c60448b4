// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * flamegraph_data.c - see flamegraph_data.h. Frames and groups are sorted, so that neighbours
 * are alike and compress well.
 */
#include "formats/html/flamegraph_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Groups are fetched from memory so many ahead of the one that is written. */
#define FETCH_AHEAD 16

/* Frames, nodes or groups in the page's order: order[place] is the tree's number. */
struct numbers {
	uint32_t *order, *place;
};

static bool numbers_new(struct numbers *n, uint32_t cnt)
{
	uint32_t i;

	n->order = calloc((size_t)cnt + 1, sizeof(*n->order));
	n->place = calloc((size_t)cnt + 1, sizeof(*n->place));
	for (i = 0; n->order && i < cnt; i++)
		n->order[i] = i;
	return n->order && n->place;
}

static void numbers_free(struct numbers *n)
{
	free(n->order);
	free(n->place);
}

static void numbers_place(struct numbers *n, uint32_t cnt)
{
	uint32_t i;

	for (i = 0; i < cnt; i++)
		n->place[n->order[i]] = i;
}

/* ---- frames ---- */

static int compare_frames(const void *a, const void *b, void *ctx)
{
	const struct frame *frames = ctx;
	const struct frame *x = &frames[*(const uint32_t *)a], *y = &frames[*(const uint32_t *)b];

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->func != y->func)
		return x->func < y->func ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

/* LINE_NONE becomes 0. */
static int64_t line_of(const struct frame *f)
{
	return f->line < 0 ? 0 : f->line;
}

static void put_frames(struct html_data *d, const struct stack_tree_view *v, struct numbers *n)
{
	const struct frame *frames = v->tables->frames, none = { .line = 0 };
	uint32_t cnt = v->tables->frame_cnt, i;

	if (cnt)
		qsort_r(n->order, cnt, sizeof(*n->order), compare_frames, (void *)frames);
	numbers_place(n, cnt);
	html_varint(d, cnt);
#define PUT_DIFFERENCES(value)                                                                     \
	for (i = 0; i < cnt; i++) {                                                                \
		const struct frame *f = &frames[n->order[i]];                                      \
		const struct frame *last = i ? &frames[n->order[i - 1]] : &none;                   \
		html_svarint(d, (int64_t)(value(f)) - (int64_t)(value(last)));                     \
	}
#define FILE_OF(f) (f)->file
#define FUNC_OF(f) (f)->func
	PUT_DIFFERENCES(FILE_OF)
	PUT_DIFFERENCES(FUNC_OF)
	PUT_DIFFERENCES(line_of)
#undef FUNC_OF
#undef FILE_OF
#undef PUT_DIFFERENCES
	for (i = 0; i < cnt; i++)
		html_varint(d, (uint32_t)v->first_lines[n->order[i]]);
}

static void put_threads(struct html_data *d, const struct stack_tree_view *v)
{
	uint32_t i;

	html_varint(d, v->thread_cnt);
	for (i = 0; i < v->thread_cnt; i++)
		html_varint(d, v->threads[i].process);
	for (i = 0; i < v->thread_cnt; i++)
		html_varint(d, v->threads[i].interp_id);
	for (i = 0; i < v->thread_cnt; i++)
		html_varint(d, v->threads[i].thread_id);
}

/* Write the nodes in preorder without the root: how many levels up the parent is, and the frame. */
static void put_nodes(struct html_data *d, const struct stack_tree_view *v, const uint32_t *order,
		      const uint32_t *depths, const struct numbers *frames)
{
	uint32_t i;

	html_varint(d, v->node_cnt - 1);
	for (i = 1; i < v->node_cnt; i++)
		html_varint(d, depths[i - 1] + 1 - depths[i]);
	for (i = 1; i < v->node_cnt; i++)
		html_varint(d, frames->place[v->nodes[order[i]].frame]);
}

/* ---- groups ---- */

/* What groups are sorted by, the last first: each is sorted, and equal ones stay in their order. */
enum group_key { BY_STATUS, BY_THREAD, BY_NODE, GROUP_KEYS };

struct group_sort {
	const struct stack_share *shares;
	const uint32_t *node_place;
	uint32_t cnt;
	uint32_t *from, *to;	/* shares before and after */
	uint32_t *first;	/* by key: where its shares begin */
};

static inline uint32_t group_key(const struct group_sort *s, enum group_key by, uint32_t i)
{
	const struct stack_share *share = &s->shares[s->from[i]];

	return by == BY_STATUS ? share->status :
	       by == BY_THREAD ? share->thread : s->node_place[share->node];
}

/* By a key that is below key_cnt. */
static void sort_by(struct group_sort *s, enum group_key by, uint32_t key_cnt)
{
	uint32_t *swap = s->from, i;

	memset(s->first, 0, ((size_t)key_cnt + 1) * sizeof(*s->first));
	for (i = 0; i < s->cnt; i++)
		s->first[group_key(s, by, i) + 1]++;
	for (i = 1; i < key_cnt; i++)
		s->first[i] += s->first[i - 1];
	for (i = 0; i < s->cnt; i++)
		s->to[s->first[group_key(s, by, i)]++] = s->from[i];
	s->from = s->to;
	s->to = swap;
}

/* Sort the shares by node, thread and status; there are millions of them. 0 or -ENOMEM. */
static int sort_groups(const struct stack_tree_view *v, const struct numbers *nodes,
		       struct numbers *shares)
{
	const uint32_t keys[GROUP_KEYS] = { 256, v->thread_cnt, v->node_cnt };
	struct group_sort s = { .shares = v->shares, .node_place = nodes->place,
				.cnt = v->share_cnt, .from = shares->order, .to = shares->place };
	uint32_t most = 0, by;

	for (by = 0; by < GROUP_KEYS; by++)
		most = keys[by] > most ? keys[by] : most;
	s.first = calloc((size_t)most + 1, sizeof(*s.first));
	if (!s.first)
		return -ENOMEM;
	for (by = 0; by < GROUP_KEYS; by++)
		sort_by(&s, by, keys[by]);
	free(s.first);
	*shares = (struct numbers){ .order = s.from, .place = s.to };
	return 0;
}

/* The share of place i. Places are far from each other in memory: some ahead it is fetched. */
static inline const struct stack_share *share_at(const struct stack_tree_view *v,
						 const struct numbers *shares, uint32_t i)
{
	if (i + FETCH_AHEAD < v->share_cnt)
		__builtin_prefetch(&v->shares[shares->order[i + FETCH_AHEAD]]);
	return &v->shares[shares->order[i]];
}

static void put_groups(struct html_data *d, const struct stack_tree_view *v,
		       const struct numbers *nodes, struct numbers *shares)
{
	uint32_t i, place, last = 0;

	if (sort_groups(v, nodes, shares)) {
		d->err = -ENOMEM;
		return;
	}
	html_varint(d, v->share_cnt);
	for (i = 0; i < v->share_cnt; i++, last = place) {
		place = nodes->place[share_at(v, shares, i)->node];
		html_varint(d, place - last);
	}
	for (i = 0; i < v->share_cnt; i++)
		html_varint(d, share_at(v, shares, i)->thread);
	for (i = 0; i < v->share_cnt; i++)
		html_varint(d, share_at(v, shares, i)->status);
	for (i = 0; i < v->share_cnt; i++)
		html_varint(d, share_at(v, shares, i)->weight);
}

static void put_opcodes(struct html_data *d, const struct page_opcodes *o,
			const struct numbers *frames)
{
	uint32_t cnt = o ? page_opcodes_cnt(o) : 0, i;

	html_varint(d, cnt);
	for (i = 0; i < cnt; i++)
		html_varint(d, frames->place[page_opcodes_get(o, i).frame]);
	for (i = 0; i < cnt; i++)
		html_varint(d, page_opcodes_get(o, i).name);
	for (i = 0; i < cnt; i++)
		html_varint(d, page_opcodes_get(o, i).weight);
}

void flamegraph_put_data(struct html_data *d, const struct stack_tree *tree,
			 const struct flamegraph_times *times,
			 const struct page_opcodes *opcodes)
{
	struct stack_tree_view v = stack_tree_view(tree);
	struct numbers frames = { 0 }, nodes = { 0 }, shares = { 0 };
	uint32_t *depths = NULL;

	if (!numbers_new(&frames, v.tables->frame_cnt) || !numbers_new(&shares, v.share_cnt) ||
	    !numbers_new(&nodes, v.node_cnt)) {
		d->err = -ENOMEM;
		goto out;
	}
	free(nodes.order);
	nodes.order = stack_tree_preorder(tree, &depths);
	if (!nodes.order) {
		d->err = -ENOMEM;
		goto out;
	}
	numbers_place(&nodes, v.node_cnt);
	html_strings(d, v.tables);
	put_frames(d, &v, &frames);
	put_threads(d, &v);
	put_nodes(d, &v, nodes.order, depths, &frames);
	put_groups(d, &v, &nodes, &shares);
	flamegraph_times_put(d, times, shares.order, v.share_cnt);
	put_opcodes(d, opcodes, &frames);
out:
	numbers_free(&frames);
	numbers_free(&nodes);
	numbers_free(&shares);
	free(depths);
}
