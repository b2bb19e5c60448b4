// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * svg_boxes.c - see svg_boxes.h. Sorted stacks that share their first entries are neighbours, so
 * one pass over them opens and closes each box once.
 */
#include "formats/svg/svg_boxes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/util.h"

/* An entry of a stack, from the root. */
struct entry {
	enum svg_box_kind kind;
	uint32_t what;
};

struct layout {
	struct svg_boxes *boxes;
	const struct stacks *stacks;
	enum svg_box_kind heads[3];	/* entries before the frames; head_cnt of them */
	uint32_t head_cnt;
	uint32_t *ranks;	/* by label: its place by name */
	struct stack_view *views;
	uint32_t view_cnt;
	struct svg_box open[SVG_ROWS_MAX];	/* by row: boxes that are not complete */
	uint32_t open_cnt;
	uint64_t at;		/* weight of the stacks so far */
};

/* ---- the order of stacks ---- */

static int compare_refs(struct string_ref a, struct string_ref b)
{
	uint32_t len = a.len < b.len ? a.len : b.len;
	int diff = len ? memcmp(a.data, b.data, len) : 0;

	return diff ? diff : (a.len > b.len) - (a.len < b.len);
}

static int compare_labels(const void *a, const void *b, void *ctx)
{
	const struct profile_tables *t = ctx;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct frame *x = &t->frames[i], *y = &t->frames[j];
	int diff = compare_refs(t->strings[x->func], t->strings[y->func]);

	if (!diff)
		diff = compare_refs(t->strings[x->file], t->strings[y->file]);
	if (!diff)
		diff = (x->line > y->line) - (x->line < y->line);
	return diff ? diff : (i > j) - (i < j);
}

static int rank_labels(struct layout *l)
{
	const struct profile_tables *t = stacks_tables(l->stacks);
	uint32_t i, *order = calloc((size_t)t->frame_cnt + 1, sizeof(*order));

	l->ranks = calloc((size_t)t->frame_cnt + 1, sizeof(*l->ranks));
	if (!order || !l->ranks) {
		free(order);
		return -ENOMEM;
	}
	for (i = 0; i < t->frame_cnt; i++)
		order[i] = i;
	qsort_r(order, t->frame_cnt, sizeof(*order), compare_labels, (void *)t);
	for (i = 0; i < t->frame_cnt; i++)
		l->ranks[order[i]] = i;
	free(order);
	return 0;
}

static int compare_stacks(const void *a, const void *b, void *ctx)
{
	const struct stack_view *x = a, *y = b;
	const struct layout *l = ctx;
	const struct stack_group *g = stacks_group(l->stacks, x->group);
	const struct stack_group *h = stacks_group(l->stacks, y->group);
	uint32_t i = x->n, j = y->n;

	if (g->process != h->process)
		return g->process < h->process ? -1 : 1;
	if (g->thread_id != h->thread_id)
		return g->thread_id < h->thread_id ? -1 : 1;
	while (i && j)
		if (x->labels[--i] != y->labels[--j])
			return l->ranks[x->labels[i]] < l->ranks[y->labels[j]] ? -1 : 1;
	return (i > j) - (i < j);
}

/* Stacks without a frame are not drawn, as in folded stacks. */
static int sort_stacks(struct layout *l)
{
	uint32_t i, cnt = stacks_cnt(l->stacks);

	l->views = calloc((size_t)cnt + 1, sizeof(*l->views));
	if (!l->views)
		return -ENOMEM;
	for (i = 0; i < cnt; i++) {
		struct stack_view v = stacks_get(l->stacks, i);

		if (!v.n || !v.weight)
			continue;
		l->views[l->view_cnt++] = v;
		l->boxes->total = add_capped(l->boxes->total, v.weight);
	}
	qsort_r(l->views, l->view_cnt, sizeof(*l->views), compare_stacks, l);
	return 0;
}

/* ---- boxes ---- */

static struct entry entry_at(const struct layout *l, const struct stack_view *v, uint32_t row)
{
	struct entry e = { .kind = SVG_FRAME };

	if (row < l->head_cnt)
		e.kind = l->heads[row];
	if (e.kind == SVG_PROCESS)
		e.what = stacks_group(l->stacks, v->group)->process;
	else if (e.kind == SVG_THREAD)
		e.what = v->group;
	else if (e.kind == SVG_FRAME)
		e.what = v->labels[v->n - 1 - (row - l->head_cnt)];
	return e;
}

/* The innermost open box is complete: keeps it if it can be seen. 0 or -ENOMEM. */
static int close_box(struct layout *l)
{
	struct svg_boxes *b = l->boxes;
	struct svg_box *box = &l->open[--l->open_cnt], *list;

	box->weight = l->at - box->start;
	if (box->weight < b->total / SVG_NARROW) {
		b->narrow++;
		return 0;
	}
	list = array_grow(b->list, b->cnt, &b->cap, sizeof(*list));
	if (!list)
		return -ENOMEM;
	b->list = list;
	list[b->cnt++] = *box;
	b->rows = box->row >= b->rows ? box->row + 1 : b->rows;
	return 0;
}

/* Returns how many entries of the stack are open. */
static uint32_t shared(const struct layout *l, const struct stack_view *v, uint32_t cnt)
{
	uint32_t row;

	for (row = 0; row < cnt && row < l->open_cnt; row++) {
		struct entry e = entry_at(l, v, row);

		if (l->open[row].kind != e.kind || l->open[row].what != e.what)
			break;
	}
	return row;
}

static int add_stack(struct layout *l, const struct stack_view *v)
{
	uint32_t cnt = l->head_cnt + v->n, same = shared(l, v, cnt);
	int err = 0;

	while (!err && l->open_cnt > same)
		err = close_box(l);
	for (; !err && l->open_cnt < cnt; l->open_cnt++) {
		struct entry e = entry_at(l, v, l->open_cnt);

		l->open[l->open_cnt] = (struct svg_box){
			.start = l->at, .row = l->open_cnt, .kind = e.kind, .what = e.what,
		};
	}
	l->at = add_capped(l->at, v->weight);
	return err;
}

static int compare_boxes(const void *a, const void *b)
{
	const struct svg_box *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

static int add_stacks(struct layout *l)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < l->view_cnt; i++)
		err = add_stack(l, &l->views[i]);
	while (!err && l->open_cnt)
		err = close_box(l);
	if (l->boxes->cnt)
		qsort(l->boxes->list, l->boxes->cnt, sizeof(*l->boxes->list), compare_boxes);
	return err;
}

int svg_boxes_make(struct svg_boxes *b, const struct stacks *s, bool processes, bool threads)
{
	struct layout l = { .boxes = b, .stacks = s };
	int err;

	*b = (struct svg_boxes){ 0 };
	l.heads[l.head_cnt++] = SVG_ALL;
	if (processes)
		l.heads[l.head_cnt++] = SVG_PROCESS;
	if (threads)
		l.heads[l.head_cnt++] = SVG_THREAD;
	err = rank_labels(&l);
	if (!err)
		err = sort_stacks(&l);
	if (!err)
		err = add_stacks(&l);
	free(l.ranks);
	free(l.views);
	return err;
}

void svg_boxes_free(struct svg_boxes *b)
{
	free(b->list);
}
