// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* task_walk.c - see task_walk.h. */
#include "memory/task_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64map.h"
#include "memory/remote_mem.h"

/* Limit on batches of a sparse set without a task: each has read for some ms, or 60,000 slots. */
#define EMPTY_BATCHES_MAX 1024

const struct task_source task_source_remote = { remote_task_lists, remote_tasks };

/* Private part of a set. */
struct own {
	struct u64map numbers;	/* address -> index + 1 */
	size_t task_cap, frame_cap, waiter_cap;
};

struct walk {
	const struct task_source *source;
	pid_t tgid;
	struct tasks_at at;
	struct task_set *set;
	struct own *own;
	uint64_t reads;
};

/* Make space for another batch. 0 or -ENOMEM. */
static int grow_array(void **array, size_t *cap, size_t cnt, size_t more, size_t size)
{
	size_t need = cnt + more, now = *cap ? *cap : 1024;
	void *grown;

	if (*array && need <= *cap)
		return 0;
	while (now < need)
		now *= 2;
	grown = realloc(*array, now * size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*cap = now;
	return 0;
}

static int reserve_batch(struct walk *w, const struct tasks_batch *b)
{
	struct task_set *s = w->set;
	void *tasks = s->tasks, *frames = s->frames, *waiters = s->waiters;
	int err = grow_array(&tasks, &w->own->task_cap, s->cnt, b->row_cnt, sizeof(*s->tasks));

	if (!err)
		err = grow_array(&frames, &w->own->frame_cap, s->frame_cnt, b->frame_cnt,
				 sizeof(*s->frames));
	if (!err)
		err = grow_array(&waiters, &w->own->waiter_cap, s->waiter_cnt, b->waiter_cnt,
				 sizeof(*s->waiters));
	s->tasks = tasks;
	s->frames = frames;
	s->waiters = waiters;
	return err;
}

/* Copy what a row refers to, within the limits of the whole set. */
static void copy_parts(struct task_set *s, const struct tasks_batch *b, const struct task_row *r,
		       struct task *t)
{
	t->frame_at = (uint32_t)s->frame_cnt;
	t->waiter_at = (uint32_t)s->waiter_cnt;
	if (s->frame_cnt + r->frame_cnt <= TASKS_FRAMES_MAX)
		t->frame_cnt = r->frame_cnt;
	if (s->waiter_cnt + r->waiter_cnt <= TASKS_WAITERS_MAX)
		t->waiter_cnt = r->waiter_cnt;
	if (t->frame_cnt != r->frame_cnt || t->waiter_cnt != r->waiter_cnt) {
		t->flags |= TASK_CUT;
		s->cut = true;
	}
	memcpy(s->frames + s->frame_cnt, b->frames + r->frame_at,
	       t->frame_cnt * sizeof(*s->frames));
	memcpy(s->waiters + s->waiter_cnt, b->waiters + r->waiter_at,
	       t->waiter_cnt * sizeof(*s->waiters));
	s->frame_cnt += t->frame_cnt;
	s->waiter_cnt += t->waiter_cnt;
}

/* Add a new task. 0 or -ENOMEM. */
static int add_row(struct walk *w, const struct task_list *list, const struct tasks_batch *b,
		   const struct task_row *r)
{
	struct task_set *s = w->set;
	struct task *t = &s->tasks[s->cnt];
	char *name = strdup(r->name);

	if (!name || u64map_put(&w->own->numbers, r->addr, (void *)(uintptr_t)(s->cnt + 1))) {
		free(name);
		return -ENOMEM;
	}
	*t = (struct task){
		.addr = r->addr, .name = name, .interp_id = list->interp_id,
		.tid = list->mixed ? r->tid : list->tid,
		.running = list->mixed ? r->flags & TASK_RUNS : list->running == r->addr,
		.main_thread = list->mixed ? r->flags & TASK_OF_MAIN : list->main,
		.flags = r->flags, .order = r->order, .loop = r->loop, .waits = r->waits,
	};
	s->cnt++;
	copy_parts(s, b, r, t);
	return 0;
}

/*
 * Take a batch. *met counts tasks that were met in this round: if there are more than new ones, the
 * list leads back into itself. 0 or -ENOMEM.
 */
static int take_list(struct walk *w, const struct task_list *list, const struct tasks_batch *b,
		     size_t *met)
{
	uint32_t i;
	int err = reserve_batch(w, b);

	for (i = 0; !err && i < b->row_cnt; i++) {
		*met += 1;
		if (task_set_find(w->set, b->rows[i].addr) != UINT32_MAX)
			continue;
		if (w->set->cnt == TASKS_MAX) {
			w->set->cut = true;
			return 0;
		}
		err = add_row(w, list, b, &b->rows[i]);
	}
	return err;
}

/* Walk a list once. TASKS_DONE, TASKS_LOST or -errno of the source. */
static int round_of(struct walk *w, const struct task_list *list)
{
	const struct tasks_batch *b;
	uint32_t empty = 0;
	size_t met = 0;
	bool on;
	int err;

	w->at.head = list->head;
	w->at.node = 0;
	do {
		if (w->reads > TASKS_READS_MAX) {
			w->set->cut = true;
			return TASKS_DONE;
		}
		err = w->source->tasks(w->tgid, &w->at, &b);
		if (err)
			return err;
		w->reads += b->reads;
		err = take_list(w, list, b, &met);
		if (err)
			return err;
		if (w->set->cut && w->set->cnt == TASKS_MAX)
			return TASKS_DONE;
		/* A set may have no task between two slots, but then it goes on. */
		on = b->row_cnt || (list->mixed && b->next > w->at.node &&
				    ++empty <= EMPTY_BATCHES_MAX);
		w->at.node = b->next;
		/* No list is this long: it never ends. */
		if (!on || met > 2 * w->set->cnt)
			return b->end == TASKS_DONE ? TASKS_DONE : TASKS_LOST;
	} while (b->end == TASKS_MORE);
	return b->end;
}

static int walk_list(struct walk *w, const struct task_list *list)
{
	int end = TASKS_LOST, tries;

	for (tries = 0; end == TASKS_LOST && tries <= TASKS_AGAIN; tries++)
		end = round_of(w, list);
	w->set->changed |= end == TASKS_LOST;
	w->set->unread |= end < 0;
	return end == -ENOMEM ? end : 0;
}

static int walk_lists(struct walk *w)
{
	const struct task_lists *found;
	struct task_list *lists;
	uint32_t i, cnt;
	int err = w->source->lists(w->tgid, &w->at, &found);

	if (err)
		return err;
	cnt = found->cnt;
	w->set->cut |= found->cut;
	lists = malloc((cnt + 1) * sizeof(*lists));
	if (!lists)
		return -ENOMEM;
	memcpy(lists, found->list, cnt * sizeof(*lists));
	for (i = 0; !err && i < cnt && w->set->cnt < TASKS_MAX; i++)
		err = walk_list(w, &lists[i]);
	free(lists);
	return err;
}

int task_walk(const struct task_source *source, pid_t tgid, const struct tasks_at *at,
	      struct task_set *out)
{
	struct walk w = { .source = source, .tgid = tgid, .at = *at, .set = out };
	int err;

	*out = (struct task_set){ 0 };
	w.own = calloc(1, sizeof(*w.own));
	if (!w.own)
		return -ENOMEM;
	out->own = w.own;
	err = walk_lists(&w);
	if (err)
		task_set_free(out);
	return err;
}

void task_set_free(struct task_set *set)
{
	struct own *own = set->own;
	size_t i;

	for (i = 0; i < set->cnt; i++)
		free((char *)set->tasks[i].name);
	free(set->tasks);
	free(set->frames);
	free(set->waiters);
	if (own)
		u64map_free(&own->numbers);
	free(own);
	*set = (struct task_set){ 0 };
}

uint32_t task_set_find(const struct task_set *set, uint64_t addr)
{
	const struct own *own = set->own;

	return (uint32_t)(uintptr_t)u64map_get(&own->numbers, addr) - 1;
}

static int by_order(const void *a, const void *b)
{
	const struct task *x = a, *y = b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

int task_set_sort(struct task_set *set)
{
	struct own *own = set->own;
	size_t i;
	int err = 0;

	if (set->cnt)
		qsort(set->tasks, set->cnt, sizeof(*set->tasks), by_order);
	u64map_free(&own->numbers);
	for (i = 0; !err && i < set->cnt; i++)
		if (u64map_put(&own->numbers, set->tasks[i].addr, (void *)(uintptr_t)(i + 1)))
			err = -ENOMEM;
	return err;
}
