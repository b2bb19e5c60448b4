// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * task_tree.c - see task_tree.h. Nothing recurses: chains of tasks may be as long as there are
 * tasks.
 *
 * Numbers of nodes: first the set's tasks, then those in no list that they refer to.
 */
#include "look/task_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64map.h"

struct task_tree {
	struct task_set *set;
	uint32_t node_cnt;
	uint64_t *unlisted;	/* address of node set->cnt + i */
	uint32_t *first;	/* children of node i: kids[first[i]] to kids[first[i + 1] - 1] */
	uint32_t *kids;
	uint8_t *is_kid;	/* of another node */
	uint32_t *like;		/* how many nodes it stands for, too, until that was said */
	uint8_t *left_out;	/* another one stands for it */
	uint8_t *shown, *on_way, *queued;
	uint32_t *queue;	/* nodes that continue at the left */
	uint32_t queue_cnt;
	uint8_t last[TASK_DEPTH_MAX + 2];
};

/* One task on the path. */
struct level {
	uint32_t node, next;	/* next: index in kids */
	uint32_t kid_depth;
	uint32_t again;		/* tasks below it with lines elsewhere */
	uint32_t shown_1;	/* 1 + the child that was shown last; 0: none */
};

static int add_unlisted(struct task_tree *t, struct u64map *numbers, uint64_t addr,
			uint32_t *node)
{
	void *known = u64map_get(numbers, addr);

	if (!known) {
		t->unlisted[t->node_cnt - t->set->cnt] = addr;
		known = (void *)(uintptr_t)(++t->node_cnt);
		if (u64map_put(numbers, addr, known))
			return -ENOMEM;
	}
	*node = (uint32_t)(uintptr_t)known - 1;
	return 0;
}

/* Finds the node of each waiter of each task, in the order of set->waiters. */
static int find_parents(struct task_tree *t, uint32_t *parents)
{
	const struct task_set *s = t->set;
	struct u64map unlisted = { .cnt = 0 };
	int err = 0;
	size_t i;

	for (i = 0; !err && i < s->waiter_cnt; i++) {
		parents[i] = task_set_find(s, s->waiters[i]);
		if (parents[i] == UINT32_MAX)
			err = add_unlisted(t, &unlisted, s->waiters[i], &parents[i]);
	}
	u64map_free(&unlisted);
	return err;
}

/*
 * Fills first and kids from each task's parents. A parent that a task names twice has it once: seen
 * has the last task that each parent got.
 */
static void link_kids(struct task_tree *t, const uint32_t *parents, uint32_t *seen)
{
	const struct task_set *s = t->set;
	uint32_t i, w, sum = 0, cnt, pass;

	for (pass = 0; pass < 2; pass++) {
		memset(seen, 0xff, t->node_cnt * sizeof(*seen));
		for (i = 0; i < s->cnt; i++) {
			const struct task *task = &s->tasks[i];

			for (w = task->waiter_at; w < task->waiter_at + task->waiter_cnt; w++) {
				uint32_t p = parents[w];

				if (seen[p] == i)
					continue;
				seen[p] = i;
				t->is_kid[i] = 1;
				if (pass)
					t->kids[t->first[p]++] = i;
				else
					t->first[p]++;
			}
		}
		for (i = 0; !pass && i <= t->node_cnt; i++) {
			cnt = t->first[i];
			t->first[i] = sum;
			sum += cnt;
		}
	}
	/* Each was moved to its end, which is the beginning of the next. */
	memmove(t->first + 1, t->first, t->node_cnt * sizeof(*t->first));
	t->first[0] = 0;
}

static int link_all(struct task_tree *t)
{
	size_t waiters = t->set->waiter_cnt, most = t->set->cnt + waiters;
	uint32_t *parents = calloc(waiters + 1, sizeof(*parents));
	uint32_t *seen = calloc(most + 1, sizeof(*seen));
	int err = parents && seen ? find_parents(t, parents) : -ENOMEM;

	if (!err)
		link_kids(t, parents, seen);
	free(parents);
	free(seen);
	return err;
}

static uint32_t frames_of(const struct task_tree *t, uint32_t node)
{
	return node < t->set->cnt ? t->set->tasks[node].frame_cnt : 0;
}

/* Marks all nodes on the path from the node that the path's end meets again. */
static void mark_cycle(struct task_tree *t, const struct level *way, uint32_t cnt, uint32_t node)
{
	while (cnt--) {
		if (way[cnt].node < t->set->cnt)
			t->set->tasks[way[cnt].node].cycle = true;
		if (way[cnt].node == node)
			return;
	}
}

/* Visits all unvisited nodes below a node. state: 0, 1: on the path, 2: visited. */
static void find_cycles_from(struct task_tree *t, uint32_t root, uint8_t *state,
			     struct level *way)
{
	uint32_t cnt = 1, kid;

	way[0] = (struct level){ .node = root, .next = t->first[root] };
	state[root] = 1;
	while (cnt) {
		struct level *l = &way[cnt - 1];

		if (l->next == t->first[l->node + 1]) {
			state[l->node] = 2;
			cnt--;
			continue;
		}
		kid = t->kids[l->next++];
		if (state[kid] == 1)
			mark_cycle(t, way, cnt, kid);
		if (state[kid])
			continue;
		state[kid] = 1;
		way[cnt++] = (struct level){ .node = kid, .next = t->first[kid] };
	}
}

static int find_cycles(struct task_tree *t)
{
	uint8_t *state = calloc(t->node_cnt + 1, 1);
	struct level *way = calloc(t->node_cnt + 1, sizeof(*way));
	uint32_t i;

	for (i = 0; state && way && i < t->node_cnt; i++)
		if (!state[i])
			find_cycles_from(t, i, state, way);
	free(state);
	free(way);
	return state && way ? 0 : -ENOMEM;
}

struct task_tree *task_tree_new(struct task_set *set)
{
	struct task_tree *t = calloc(1, sizeof(*t));
	size_t most = set->cnt + set->waiter_cnt;

	if (!t)
		return NULL;
	t->set = set;
	t->node_cnt = (uint32_t)set->cnt;
	t->unlisted = calloc(set->waiter_cnt + 1, sizeof(*t->unlisted));
	t->first = calloc(most + 2, sizeof(*t->first));
	t->kids = calloc(set->waiter_cnt + 1, sizeof(*t->kids));
	t->is_kid = calloc(most + 1, 1);
	t->like = calloc(most + 1, sizeof(*t->like));
	t->left_out = calloc(most + 1, 1);
	t->shown = calloc(most + 1, 1);
	t->on_way = calloc(most + 1, 1);
	t->queued = calloc(most + 1, 1);
	t->queue = calloc(most + 1, sizeof(*t->queue));
	if (t->unlisted && t->first && t->kids && t->is_kid && t->like && t->left_out &&
	    t->shown && t->on_way && t->queued && t->queue && !link_all(t) && !find_cycles(t))
		return t;
	task_tree_free(t);
	return NULL;
}

void task_tree_free(struct task_tree *t)
{
	if (!t)
		return;
	free(t->unlisted);
	free(t->first);
	free(t->kids);
	free(t->is_kid);
	free(t->like);
	free(t->left_out);
	free(t->shown);
	free(t->on_way);
	free(t->queued);
	free(t->queue);
	free(t);
}

/* ---- siblings that look the same ---- */

/*
 * Leaves out all but the first of those of list[] that look the same, if they are many. cnts: of
 * each node, 0 before and after the call.
 */
static void fold_siblings(struct task_tree *t, const uint32_t *list, uint32_t cnt,
			  const uint32_t *alike, uint32_t *cnts)
{
	uint32_t i, n;

	for (i = 0; i < cnt; i++)
		cnts[alike[list[i]]]++;
	/* The first one takes the number, and leaves UINT32_MAX for the others. */
	for (i = 0; i < cnt; i++) {
		n = cnts[alike[list[i]]];
		if (n == UINT32_MAX) {
			t->left_out[list[i]] = 1;
		} else if (n >= TASK_LIKE_MIN) {
			t->like[list[i]] = n - 1;
			cnts[alike[list[i]]] = UINT32_MAX;
		}
	}
	for (i = 0; i < cnt; i++)
		cnts[alike[list[i]]] = 0;
}

/*
 * What is below a node that is left out has no line, either, except tasks that others await: they
 * are below the node that stands for this one, too. alike[] of those is their own number.
 */
static void leave_out_below(struct task_tree *t, uint32_t *todo, const uint32_t *parents)
{
	uint32_t cnt = 0, i, node;

	for (i = 0; i < t->node_cnt; i++)
		if (t->left_out[i])
			todo[cnt++] = i;
	while (cnt) {
		node = todo[--cnt];
		t->shown[node] = 1;
		for (i = t->first[node]; i < t->first[node + 1]; i++) {
			uint32_t kid = t->kids[i];

			if (parents[kid] > 1 || t->left_out[kid])
				continue;
			t->left_out[kid] = 1;
			todo[cnt++] = kid;
		}
	}
}

/* Removes those that are left out from all lists of children. */
static void drop_left_out(struct task_tree *t)
{
	uint32_t i, k, begin = 0, cnt = 0;

	for (i = 0; i < t->node_cnt; i++) {
		for (k = begin; k < t->first[i + 1]; k++)
			if (!t->left_out[t->kids[k]])
				t->kids[cnt++] = t->kids[k];
		begin = t->first[i + 1];
		t->first[i + 1] = cnt;
	}
}

/* room: for as many as there are nodes, three times. */
static void fold_all(struct task_tree *t, const uint32_t *alike, uint32_t *room)
{
	uint32_t *cnts = room, *roots = room + t->node_cnt, *parents = roots + t->node_cnt;
	uint32_t i, root_cnt = 0;

	for (i = 0; i < t->node_cnt; i++) {
		if (!t->is_kid[i])
			roots[root_cnt++] = i;
		fold_siblings(t, t->kids + t->first[i], t->first[i + 1] - t->first[i], alike, cnts);
	}
	fold_siblings(t, roots, root_cnt, alike, cnts);
	for (i = 0; i < t->first[t->node_cnt]; i++)
		parents[t->kids[i]]++;
	leave_out_below(t, roots, parents);
	drop_left_out(t);
}

int task_tree_fold(struct task_tree *t, const struct task_looks *looks)
{
	const struct task_graph g = { t->set, t->node_cnt, t->first, t->kids };
	uint32_t *alike = calloc(t->node_cnt + 1u, sizeof(*alike));
	uint32_t *room = calloc(t->node_cnt + 1u, 3 * sizeof(*room));
	int err = alike && room ? task_alike(&g, looks, alike) : -ENOMEM;

	if (!err)
		fold_all(t, alike, room);
	free(alike);
	free(room);
	return err;
}

/* ---- lines ---- */

struct painter {
	struct task_tree *t;
	void (*line)(void *ctx, const struct task_line *l);
	void *ctx;
	struct level way[TASK_DEPTH_MAX + 1];
	uint32_t way_cnt;
};

/* Shown later, from the left. */
static void put_off(struct task_tree *t, uint32_t node)
{
	if (t->queued[node])
		return;
	t->queued[node] = 1;
	t->queue[t->queue_cnt++] = node;
}

/* It has something below it that was shown before. */
static bool is_above(const struct task_tree *t, uint32_t node)
{
	return t->shown[node] && !t->on_way[node] &&
	       (frames_of(t, node) || t->first[node] < t->first[node + 1]);
}

static enum task_mark mark_of(const struct painter *p, uint32_t node, uint32_t depth)
{
	const struct task_tree *t = p->t;

	if (node >= t->set->cnt)
		return TASK_MARK_UNLISTED;
	if (t->on_way[node])
		return TASK_MARK_CYCLE;
	if (is_above(t, node))
		return TASK_MARK_ABOVE;
	/* A task at the left is expanded in any case: it has at most TASK_FRAMES_MAX coroutines. */
	if (depth && depth + frames_of(t, node) + 1 > TASK_DEPTH_MAX)
		return TASK_MARK_BELOW;
	return TASK_MARK_NONE;
}

/* Prints the task's line. Returns whether its children follow. */
static bool paint_task(struct painter *p, uint32_t node, uint32_t depth)
{
	struct task_tree *t = p->t;
	bool listed = node < t->set->cnt;
	const struct task_line l = {
		.depth = depth, .last = t->last, .task = listed ? node : UINT32_MAX,
		.addr = listed ? t->set->tasks[node].addr : t->unlisted[node - t->set->cnt],
		.frame = UINT32_MAX, .mark = mark_of(p, node, depth),
	};

	p->line(p->ctx, &l);
	if (l.mark == TASK_MARK_BELOW)
		put_off(t, node);
	return l.mark == TASK_MARK_NONE || l.mark == TASK_MARK_UNLISTED;
}

/* Prints its coroutines, each below the previous one. Returns the depth below them. */
static uint32_t paint_frames(struct painter *p, uint32_t node, uint32_t depth)
{
	struct task_tree *t = p->t;
	struct task_line l = { .last = t->last, .task = node };
	uint32_t i, cnt = frames_of(t, node);

	for (i = 0; i < cnt && depth < TASK_DEPTH_MAX; i++) {
		t->last[++depth] = 1;
		l.depth = depth;
		l.addr = t->set->tasks[node].addr;
		l.frame = t->set->tasks[node].frame_at + i;
		p->line(p->ctx, &l);
	}
	return depth + 1;
}

/* Prints a task's line and its coroutines, and puts it on the path. */
static void enter_task(struct painter *p, uint32_t node, uint32_t depth, bool last)
{
	struct task_tree *t = p->t;
	uint32_t below;

	t->last[depth] = last;
	if (!paint_task(p, node, depth))
		return;
	below = paint_frames(p, node, depth);
	t->on_way[node] = 1;
	p->way[p->way_cnt++] = (struct level){
		.node = node, .next = t->first[node], .kid_depth = below,
	};
	t->shown[node] = 1;
}

/* Below a task, the number of tasks without their own line. */
static void paint_more(struct painter *p, const struct level *l)
{
	struct task_line line = { .depth = l->kid_depth, .last = p->t->last, .task = UINT32_MAX,
				  .frame = UINT32_MAX, .mark = TASK_MARK_MORE };

	if (l->again <= TASK_LINES_AGAIN)
		return;
	line.more = l->again - TASK_LINES_AGAIN;
	p->t->last[l->kid_depth] = 1;
	p->line(p->ctx, &line);
}

/* Behind a task that stands for others, too: how many. Returns false if it does not. */
static bool paint_like(struct painter *p, uint32_t node, uint32_t depth, bool last)
{
	struct task_tree *t = p->t;
	struct task_line line = { .depth = depth, .last = t->last, .task = node,
				  .frame = UINT32_MAX, .mark = TASK_MARK_LIKE };

	if (!t->like[node])
		return false;
	line.addr = t->set->tasks[node].addr;
	line.more = t->like[node];
	t->like[node] = 0;
	t->last[depth] = last;
	p->line(p->ctx, &line);
	return true;
}

static void paint_tree(struct painter *p, uint32_t root)
{
	struct task_tree *t = p->t;

	enter_task(p, root, 0, !t->like[root]);
	while (p->way_cnt) {
		struct level *l = &p->way[p->way_cnt - 1];
		uint32_t end = t->first[l->node + 1], kid;
		bool again;

		if (l->shown_1 && paint_like(p, l->shown_1 - 1, l->kid_depth,
					     l->next == end && l->again <= TASK_LINES_AGAIN))
			continue;
		if (l->next == end) {
			paint_more(p, l);
			t->on_way[l->node] = 0;
			p->way_cnt--;
			continue;
		}
		kid = t->kids[l->next++];
		if (l->kid_depth > TASK_DEPTH_MAX || p->way_cnt > TASK_DEPTH_MAX) {
			put_off(t, kid);
			l->shown_1 = 0;
			continue;
		}
		l->shown_1 = kid + 1;
		again = is_above(t, kid) || (t->queued[kid] && !t->shown[kid]);
		l->again += again;
		if (!again || l->again <= TASK_LINES_AGAIN)
			enter_task(p, kid, l->kid_depth,
				   l->next == end && l->again <= TASK_LINES_AGAIN &&
				   !t->like[kid]);
	}
	paint_like(p, root, 0, true);
}

static void paint_queue(struct painter *p, uint32_t *done)
{
	while (*done < p->t->queue_cnt)
		paint_tree(p, p->t->queue[(*done)++]);
}

int task_tree_each(struct task_tree *t, void (*line)(void *ctx, const struct task_line *l),
		   void *ctx)
{
	struct painter *p = calloc(1, sizeof(*p));
	uint32_t i, done = 0;

	if (!p)
		return -ENOMEM;
	*p = (struct painter){ .t = t, .line = line, .ctx = ctx };
	for (i = 0; i < t->node_cnt; i++)
		if (!t->is_kid[i] && !t->left_out[i])
			paint_tree(p, i);
	paint_queue(p, &done);
	/* The remaining ones await themselves. */
	for (i = 0; i < t->node_cnt; i++) {
		if (!t->shown[i])
			paint_tree(p, i);
		paint_queue(p, &done);
	}
	free(p);
	return 0;
}
