// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * tasks.c - the lists of tasks: where they are, and how to follow one that changes meanwhile. See
 * tasks.h.
 *
 * llist_node { next, prev } and how nodes are added and removed: Include/internal/pycore_llist.h at
 * v3.14.0. New tasks are appended; a node that is removed gets NULL in both.
 */
#include "asyncio/tasks.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/util.h"
#include "asyncio/home_tasks.h"
#include "asyncio/task_read.h"
#include "asyncio/trio.h"

/* Previous nodes that may still be in the list when the current one is not. */
#define TRAIL 64

struct llist_node {
	uint64_t next, prev;
};

struct walk {
	struct task_reader r;
	struct tasks_batch *out;
	uint64_t trail[TRAIL];
	uint32_t trail_cnt;	/* in total */
	uint64_t until_ns;
};

static int read_node(struct task_reader *r, uint64_t at, struct llist_node *n)
{
	return task_get(r, at, n, sizeof(*n));
}

/* Returns true if the node is in a list now: its neighbours lead to it. */
static bool is_listed(struct task_reader *r, uint64_t at, const struct llist_node *n)
{
	struct llist_node before, behind;

	return n->next && n->prev && !read_node(r, n->prev, &before) && before.next == at &&
	       !read_node(r, n->next, &behind) && behind.prev == at;
}

/* The successor of the last previous node that is still in the list; 0: none is. */
static uint64_t go_back(struct walk *w)
{
	struct llist_node n;
	uint64_t at;

	while (w->trail_cnt) {
		at = w->trail[--w->trail_cnt % TRAIL];
		if (!at)
			return 0;
		w->trail[w->trail_cnt % TRAIL] = 0;
		if (!read_node(&w->r, at, &n) && is_listed(&w->r, at, &n))
			return n.next;
	}
	return 0;
}

/* Returns true if the link that led to the node's task still leads there. */
static bool is_next(struct walk *w, uint64_t at, const struct task_fields *f)
{
	const struct llist_node n = { f->next, f->prev };

	if (w->trail_cnt && f->prev == w->trail[(w->trail_cnt - 1) % TRAIL] && f->next)
		return true;
	return is_listed(&w->r, at, &n);
}

/* Read the task at *node, and set *node to the next one. Returns true on success. */
static bool step_node(struct walk *w, uint64_t *node)
{
	struct task_fields f;

	if (!*node || *node & 7 || task_fields_read(&w->r, *node, &f) ||
	    !is_next(w, *node, &f) || task_row_read(&w->r, *node, &f, w->out) || !f.next) {
		*node = go_back(w);
		return *node;
	}
	w->trail[w->trail_cnt++ % TRAIL] = *node;
	*node = f.next;
	return true;
}

static bool has_room(const struct walk *w)
{
	const struct tasks_batch *b = w->out;
	uint32_t max = w->r.at->max && w->r.at->max < TASKS_BATCH ? w->r.at->max : TASKS_BATCH;

	return b->row_cnt < max &&
	       b->frame_cnt + TASK_FRAMES_MAX <= TASKS_BATCH_FRAMES &&
	       b->waiter_cnt + TASK_WAITERS_MAX <= TASKS_BATCH_WAITERS &&
	       w->r.walk.reads_left > TASK_READS_OF_ONE && (!b->row_cnt || now_ns() < w->until_ns);
}

/* Follow the list without reading its tasks. */
static void count_tasks(struct walk *w, uint64_t *node)
{
	struct llist_node n;

	while (*node && *node != w->r.at->head && w->r.walk.reads_left && now_ns() < w->until_ns) {
		*node = read_node(&w->r, *node, &n) ? 0 : n.next;
		w->out->counted++;
	}
}

/* Read only the tasks of at->ones. */
static void read_ones(struct walk *w)
{
	const struct tasks_at *at = w->r.at;
	uint64_t node;
	uint32_t i;

	for (i = 0; i < at->one_cnt && i < TASK_ONES_MAX && has_room(w); i++) {
		node = at->ones[i] + at->async.task.task_node;
		w->trail_cnt = 0;
		step_node(w, &node);
	}
	w->out->end = TASKS_DONE;
	w->out->reads = TASK_READS_MAX - w->r.walk.reads_left;
}

int tasks_read(const struct target_mem *mem, const struct tasks_at *at, uint64_t until_ns,
	       struct tasks_batch *out)
{
	struct walk w = { .r = { .at = at }, .out = out, .until_ns = until_ns };
	uint64_t node = at->node;
	struct llist_node n;
	int err = 0;

	if (at->library == TASKS_TRIO)
		return trio_tasks_read(mem, at, until_ns, out);
	if (at->homes.minor)
		return home_tasks_read(mem, at, until_ns, out);
	py_walk_init(&w.r.walk, mem, &at->objects, TASK_READS_MAX);
	out->row_cnt = out->frame_cnt = out->waiter_cnt = out->counted = 0;
	out->end = TASKS_LOST;
	out->next = 0;
	if (at->one_cnt) {
		read_ones(&w);
		return 0;
	}
	if (!node) {
		err = read_node(&w.r, at->head, &n);
		node = err ? 0 : n.next;
	}
	if (at->count)
		count_tasks(&w, &node);
	while (!at->count && node && node != at->head && has_room(&w))
		if (!step_node(&w, &node))
			break;
	out->reads = TASK_READS_MAX - w.r.walk.reads_left;
	if (!node)
		return err;
	out->end = node == at->head ? TASKS_DONE : TASKS_MORE;
	out->next = node;
	return 0;
}

static uint32_t at_most(uint32_t cnt, uint32_t max)
{
	return cnt < max ? cnt : max;
}

void tasks_batch_copy(struct tasks_batch *to, const struct tasks_batch *from)
{
	memcpy(to, from, offsetof(struct tasks_batch, rows));
	to->row_cnt = at_most(to->row_cnt, TASKS_BATCH);
	to->frame_cnt = at_most(to->frame_cnt, TASKS_BATCH_FRAMES);
	to->waiter_cnt = at_most(to->waiter_cnt, TASKS_BATCH_WAITERS);
	memcpy(to->rows, from->rows, to->row_cnt * sizeof(to->rows[0]));
	memcpy(to->frames, from->frames, to->frame_cnt * sizeof(to->frames[0]));
	memcpy(to->waiters, from->waiters, to->waiter_cnt * sizeof(to->waiters[0]));
}

/* ---- where the lists are ---- */

struct listing {
	struct task_reader r;
	struct task_lists *out;
	uint32_t threads_left;
	uint8_t *ts;		/* a thread's state, ts_bytes of it */
	size_t ts_bytes;
};

static void add_list(struct listing *l, const struct task_list *list)
{
	if (l->out->cnt < TASK_LISTS_MAX)
		l->out->list[l->out->cnt++] = *list;
	else
		l->out->cut = 1;
}

/* Add a thread's list, if it has tasks. *next: the interpreter's next thread. 0 or -errno. */
static int add_thread(struct listing *l, uint64_t ts, struct task_list *list, uint64_t *next)
{
	const struct async_tasks_layout *t = &l->r.at->async.task;
	struct llist_node n;
	int err = task_get(&l->r, ts, l->ts, l->ts_bytes);

	if (err)
		return err;
	memcpy(next, l->ts + l->r.at->l.ts_next, 8);
	memcpy(&list->running, l->ts + t->ts_running_task, 8);
	memcpy(&list->tid, l->ts + l->r.at->objects.ts_native_id, 4);
	memcpy(&n, l->ts + t->ts_tasks_head, sizeof(n));
	list->head = ts + t->ts_tasks_head;
	if (n.next && n.next != list->head)
		add_list(l, list);
	return 0;
}

static void add_threads(struct listing *l, uint64_t interp, struct task_list list)
{
	const struct py_layout *py = &l->r.at->l;
	uint64_t ts = 0, next, main = 0;

	if (task_get(&l->r, interp + py->interp_threads_head, &ts, 8))
		l->out->cut = 1;
	if (py->interp_threads_main != ABI_NO_OFF32 &&
	    task_get(&l->r, interp + py->interp_threads_main, &main, 8))
		l->out->cut = 1;
	for (; ts && l->threads_left; ts = next) {
		l->threads_left--;
		list.main = ts == main;
		if (add_thread(l, ts, &list, &next)) {
			l->out->cut = 1;
			return;
		}
	}
	l->out->cut |= ts != 0;
}

static void add_interp(struct listing *l, uint64_t interp)
{
	const struct async_tasks_layout *t = &l->r.at->async.task;
	struct task_list list = { 0 };
	struct llist_node n;

	if (task_get(&l->r, interp + l->r.at->l.interp_id, &list.interp_id, 8)) {
		l->out->cut = 1;
		return;
	}
	add_threads(l, interp, list);
	list.head = interp + t->interp_tasks_head;
	if (read_node(&l->r, list.head, &n))
		l->out->cut = 1;
	else if (n.next && n.next != list.head)
		add_list(l, &list);
}

static int add_interps(struct listing *l)
{
	uint64_t interp;
	uint32_t left = TASK_INTERPS_MAX;
	int err = task_get(&l->r, l->r.at->interps, &interp, 8);

	while (!err && interp && left--) {
		add_interp(l, interp);
		if (task_get(&l->r, interp + l->r.at->l.interp_next, &interp, 8)) {
			l->out->cut = 1;
			return 0;
		}
	}
	if (!err)
		l->out->cut |= interp != 0;
	return err;
}

int task_lists_read(const struct target_mem *mem, const struct tasks_at *at,
		    struct task_lists *out)
{
	const struct async_tasks_layout *t = &at->async.task;
	struct listing l = { .r = { .at = at }, .out = out, .threads_left = TASK_THREADS_MAX };
	int err;

	if (at->library == TASKS_TRIO)
		return trio_lists_read(mem, at, out);
	if (at->homes.minor)
		return home_lists_read(mem, at, out);
	py_walk_init(&l.r.walk, mem, &at->objects, TASK_READS_MAX);
	out->cnt = 0;
	out->cut = 0;
	l.ts_bytes = at->l.ts_bytes;
	if (l.ts_bytes < t->ts_tasks_head + sizeof(struct llist_node))
		l.ts_bytes = t->ts_tasks_head + sizeof(struct llist_node);
	if (l.ts_bytes < at->objects.ts_native_id + 8u)
		l.ts_bytes = at->objects.ts_native_id + 8u;
	if (l.ts_bytes < t->ts_running_task + 8u)
		l.ts_bytes = t->ts_running_task + 8u;
	l.ts = malloc(l.ts_bytes);
	if (!l.ts)
		return -ENOMEM;
	err = add_interps(&l);
	free(l.ts);
	return err;
}
