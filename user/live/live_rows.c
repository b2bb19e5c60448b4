// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* live_rows.c - see live_rows.h. */
#include "live/live_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64map.h"
#include "bpf/abi.h"
#include "model/stack_frame.h"

/* ---- the last seconds ---- */

void live_recent_reset(struct live_recent *r)
{
	size_t i;

	for (i = 0; i < LIVE_RECENT_S; i++)
		free(r->weights[i]);
	*r = (struct live_recent){ .begun_ns = 0 };
}

void live_recent_second(struct live_recent *r, const struct stack_tree_view *v, uint64_t now_ns)
{
	uint64_t *weights = calloc(v->share_cnt + 1, sizeof(*weights));
	size_t at = r->begun_ns ? (r->second + 1) % LIVE_RECENT_S : 0, i;

	if (!weights)
		return;
	for (i = 0; i < v->share_cnt; i++)
		weights[i] = v->shares[i].weight;
	if (r->begun_ns)
		r->second++;
	else
		r->begun_ns = now_ns;
	free(r->weights[at]);
	r->weights[at] = weights;
	r->cnt[at] = v->share_cnt;
	r->ns[at] = now_ns;
}

/* Returns the second with which the last ones begin. */
static size_t oldest_second(const struct live_recent *r)
{
	return r->second < LIVE_RECENT_S ? 0 : (r->second + 1) % LIVE_RECENT_S;
}

uint64_t live_recent_span(const struct live_recent *r, uint64_t now_ns)
{
	return r->begun_ns ? now_ns - r->ns[oldest_second(r)] : 0;
}

uint64_t *live_recent_weights(const struct live_recent *r, const struct stack_tree_view *v)
{
	uint64_t *weights = calloc(v->share_cnt + 1, sizeof(*weights));
	size_t at = oldest_second(r), i;

	for (i = 0; weights && i < v->share_cnt; i++)
		weights[i] = v->shares[i].weight - (i < r->cnt[at] ? r->weights[at][i] : 0);
	return weights;
}

/* A list while it grows. */
struct list {
	struct live_row *rows;
	size_t cnt, cap;
	struct u64map by_key;	/* number of the row + 1 */
	uint32_t *stamp;	/* for each row the last share that was counted for it + 1 */
};

void live_rows_free(struct live_rows *r)
{
	free(r->rows);
	*r = (struct live_rows){ .rows = NULL };
}

static int grow_list(struct list *l)
{
	size_t cap = l->cap ? 2 * l->cap : 64;
	struct live_row *rows = reallocarray(l->rows, cap, sizeof(*rows));
	uint32_t *stamp;

	if (!rows)
		return -ENOMEM;
	l->rows = rows;
	stamp = reallocarray(l->stamp, cap, sizeof(*stamp));
	if (!stamp)
		return -ENOMEM;
	l->stamp = stamp;
	l->cap = cap;
	return 0;
}

/* Returns the row of a key; a new one is *fresh. NULL: no memory. */
static struct live_row *row_of(struct list *l, uint64_t key, const struct live_row *fresh)
{
	uintptr_t at = (uintptr_t)u64map_get(&l->by_key, key);

	if (!at) {
		if (l->cnt == l->cap && grow_list(l))
			return NULL;
		at = l->cnt + 1;
		if (u64map_put(&l->by_key, key, (void *)at))
			return NULL;
		l->rows[l->cnt] = *fresh;
		l->stamp[l->cnt++] = 0;
	}
	return &l->rows[at - 1];
}

/* Adds a share's weight to the members for its status. */
static void add_status(struct live_row *row, uint8_t status, uint64_t weight)
{
	bool on_cpu = status & STATUS_ON_CPU;

	row->cpu += on_cpu ? weight : 0;
	row->holds += on_cpu && status & STATUS_HAS_GIL ? weight : 0;
	row->wants += !on_cpu && status & STATUS_GIL_REQUESTED ? weight : 0;
}

static uint64_t sum_weights(const struct live_weights *w)
{
	uint64_t total = 0;
	uint32_t i;

	for (i = 0; i < w->v.share_cnt; i++)
		total += w->weights[i];
	return total;
}

static int by_self(const void *a, const void *b)
{
	const struct live_row *x = a, *y = b;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	return x->total < y->total ? 1 : x->total > y->total ? -1 : 0;
}

static int by_cpu(const void *a, const void *b)
{
	const struct live_row *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? 1 : -1;
	return x->thread_id < y->thread_id ? -1 : x->thread_id > y->thread_id;
}

/* Hands the list over, sorted, if there was no error. */
static int finish_list(struct list *l, int err, int (*order)(const void *, const void *),
		       const struct live_weights *w, struct live_rows *out)
{
	u64map_free(&l->by_key);
	free(l->stamp);
	if (err) {
		free(l->rows);
		return err;
	}
	if (order && l->cnt)
		qsort(l->rows, l->cnt, sizeof(*l->rows), order);
	*out = (struct live_rows){ .rows = l->rows, .cnt = l->cnt, .total = sum_weights(w) };
	return 0;
}

/* ---- functions ---- */

static const struct frame *frame_at(const struct stack_tree_view *v, uint32_t node)
{
	return &v->tables->frames[v->nodes[node].frame];
}

static uint64_t function_key(const struct frame *f)
{
	return (uint64_t)f->file << 32 | f->func;
}

/* Adds one share: its self, and the total of each function above it. */
static int add_share(struct list *l, const struct live_weights *w, uint32_t share, bool lines)
{
	const struct stack_tree_view *v = &w->v;
	bool self = true;
	uint32_t node;

	for (node = v->shares[share].node; node; node = v->nodes[node].parent) {
		const struct frame *f = frame_at(v, node);
		const struct live_row fresh = { .file = f->file, .func = f->func,
						.line = lines ? f->line : LINE_NONE };
		struct live_row *row;

		if (self && v->nodes[node].parent &&
		    frame_is_detail(v->tables, v->nodes[node].frame, SELF_OF_FUNCTIONS))
			continue;
		row = row_of(l, lines ? v->nodes[node].frame : function_key(f), &fresh);
		if (!row)
			return -ENOMEM;
		if (self) {
			row->self += w->weights[share];
			add_status(row, v->shares[share].status, w->weights[share]);
		}
		self = false;
		if (l->stamp[row - l->rows] != share + 1)
			row->total += w->weights[share];
		l->stamp[row - l->rows] = share + 1;
	}
	return 0;
}

static int list_shares(const struct live_weights *w, bool lines, struct live_rows *out)
{
	struct list l = { .cnt = 0 };
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < w->v.share_cnt; i++)
		if (w->weights[i])
			err = add_share(&l, w, i, lines);
	return finish_list(&l, err, by_self, w, out);
}

int live_rows_lines(const struct live_weights *w, struct live_rows *out)
{
	return list_shares(w, true, out);
}

static uint64_t row_key(const struct live_row *row)
{
	return (uint64_t)row->file << 32 | row->func;
}

/* Sets the line of each function to the first one in the list of lines. 0 or -ENOMEM. */
static int set_lines(struct live_rows *functions, const struct live_rows *lines)
{
	struct u64map by_key = { .cnt = 0 };
	struct live_row *f;
	int err = 0;
	size_t i;

	for (i = 0; !err && i < functions->cnt; i++)
		err = u64map_put(&by_key, row_key(&functions->rows[i]), &functions->rows[i]);
	for (i = 0; !err && i < lines->cnt; i++) {
		f = u64map_get(&by_key, row_key(&lines->rows[i]));
		if (f && f->line <= 0)
			f->line = lines->rows[i].line;
	}
	u64map_free(&by_key);
	return err;
}

int live_rows_functions(const struct live_weights *w, struct live_rows *out)
{
	struct live_rows lines = { .rows = NULL };
	int err = list_shares(w, false, out);

	if (err)
		return err;
	err = list_shares(w, true, &lines);
	if (!err)
		err = set_lines(out, &lines);
	if (err)
		live_rows_free(out);
	live_rows_free(&lines);
	return err;
}

/* ---- threads ---- */

int live_rows_threads(const struct live_weights *w, struct live_rows *out)
{
	struct list l = { .cnt = 0 };
	struct live_row *row;
	uint32_t i;

	for (i = 0; i < w->v.share_cnt; i++) {
		const struct stack_share *s = &w->v.shares[i];
		const struct live_row fresh = {
			.thread_id = w->v.threads[s->thread].thread_id, .line = LINE_NONE,
		};

		if (!w->weights[i])
			continue;
		row = row_of(&l, fresh.thread_id, &fresh);
		if (!row)
			return finish_list(&l, -ENOMEM, NULL, w, out);
		row->total += w->weights[i];
		add_status(row, s->status, w->weights[i]);
	}
	return finish_list(&l, 0, by_cpu, w, out);
}

/* ---- callers and callees ---- */

/* Adds to the row of f at a depth; a share counts once in each. */
static int add_pair(struct list *l, const struct frame *f, uint32_t depth, uint32_t share,
		    uint64_t weight)
{
	const struct live_row fresh = { .file = f->file, .func = f->func, .line = LINE_NONE,
					.depth = depth };
	/* Ids of strings stay below 2^30. */
	struct live_row *row = row_of(l, function_key(f) << 2 | depth, &fresh);

	if (!row)
		return -ENOMEM;
	if (l->stamp[row - l->rows] != share + 1)
		row->total += weight;
	l->stamp[row - l->rows] = share + 1;
	return 0;
}

static int add_callers(struct list *l, const struct live_weights *w, uint32_t share,
		       uint64_t wanted)
{
	const struct stack_tree_view *v = &w->v;
	uint32_t node, callee = 0, parent;
	uint64_t weight = w->weights[share];
	int err = 0;

	for (node = v->shares[share].node; node && !err; callee = node, node = parent) {
		parent = v->nodes[node].parent;
		if (function_key(frame_at(v, node)) != wanted)
			continue;
		err = add_pair(l, frame_at(v, node), 1, share, weight);
		if (!err && callee)
			err = add_pair(l, frame_at(v, callee), 2, share, weight);
		if (!err && parent)
			err = add_pair(l, frame_at(v, parent), 0, share, weight);
	}
	return err;
}

static int by_depth(const void *a, const void *b)
{
	const struct live_row *x = a, *y = b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return x->total < y->total ? 1 : x->total > y->total ? -1 : 0;
}

int live_rows_callers(const struct live_weights *w, uint32_t file, uint32_t func,
		      struct live_rows *out)
{
	struct list l = { .cnt = 0 };
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < w->v.share_cnt; i++)
		if (w->weights[i])
			err = add_callers(&l, w, i, (uint64_t)file << 32 | func);
	return finish_list(&l, err, by_depth, w, out);
}

/* ---- the tree ---- */

/* A node, for sorting the children of one parent by their totals. */
struct child {
	uint32_t node, parent;
	uint64_t total;
};

static int by_parent(const void *a, const void *b)
{
	const struct child *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Fills self and total of each node. A parent's number is lower than its child's. */
static void fill_totals(const struct live_weights *w, uint64_t *self, uint64_t *total)
{
	uint32_t i;

	for (i = 0; i < w->v.share_cnt; i++)
		self[w->v.shares[i].node] += w->weights[i];
	for (i = w->v.node_cnt; i-- > 0;) {
		total[i] += self[i];
		if (i)
			total[w->v.nodes[i].parent] += total[i];
	}
}

/* Finds where each node's children begin in the sorted list; the last entry has no parent. */
static size_t list_children(const struct live_weights *w, const uint64_t *total, uint64_t min,
			    struct child *list, uint32_t *first)
{
	size_t cnt = 0, i;

	for (i = 1; i < w->v.node_cnt; i++)
		if (total[i] && total[i] >= min)
			list[cnt++] = (struct child){ (uint32_t)i, w->v.nodes[i].parent, total[i] };
	qsort(list, cnt, sizeof(*list), by_parent);
	for (i = cnt; i-- > 0;)
		first[list[i].parent] = (uint32_t)i + 1;
	list[cnt].parent = UINT32_MAX;
	return cnt;
}

/* Rows in preorder; no recursion: stacks may be deep. next[]: the next child at each depth. */
static void walk_tree(const struct live_weights *w, const struct child *list,
		      const uint32_t *first, const uint64_t *self, struct live_rows *out)
{
	const struct child *next[EVENT_MAX_FRAMES + 1];
	uint32_t parents[EVENT_MAX_FRAMES + 1], depth = 0;

	parents[0] = 0;
	next[0] = first[0] ? &list[first[0] - 1] : NULL;
	for (;;) {
		const struct child *c = next[depth];
		const struct frame *f;

		if (!c || c->parent != parents[depth]) {
			if (!depth--)
				return;
			continue;
		}
		next[depth] = c + 1;
		f = frame_at(&w->v, c->node);
		out->rows[out->cnt++] = (struct live_row){
			.file = f->file, .func = f->func, .line = f->line, .depth = depth,
			.self = self[c->node], .total = c->total,
		};
		if (depth < EVENT_MAX_FRAMES && first[c->node]) {
			parents[++depth] = c->node;
			next[depth] = &list[first[c->node] - 1];
		}
	}
}

int live_rows_tree(const struct live_weights *w, uint64_t min, struct live_rows *out)
{
	size_t n = w->v.node_cnt + 1;
	uint64_t *self = calloc(n, sizeof(*self)), *total = calloc(n, sizeof(*total));
	struct child *list = calloc(n, sizeof(*list));
	uint32_t *first = calloc(n, sizeof(*first));
	int err = 0;

	*out = (struct live_rows){ .rows = calloc(n, sizeof(*out->rows)), .total = sum_weights(w) };
	if (!self || !total || !list || !first || !out->rows) {
		err = -ENOMEM;
		live_rows_free(out);
	} else {
		fill_totals(w, self, total);
		list_children(w, total, min, list, first);
		walk_tree(w, list, first, self, out);
	}
	free(self);
	free(total);
	free(list);
	free(first);
	return err;
}
