// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * home_tasks.c - see home_tasks.h.
 *
 * Sources, at v3.8.0 ... v3.13.0: Lib/asyncio/tasks.py (all_tasks() leaves out tasks that are
 * done), Lib/_weakrefset.py (data: a set of weakref.ref), Include/cpython/weakrefobject.h
 * (wr_object comes first, and is None in one whose object is gone), Include/cpython/setobject.h
 * (fill, used, mask, table; an entry whose hash is -1 was deleted), Objects/setobject.c: a set gets
 * another table, or the entries of its table another order, only when it grows or is compacted, and
 * then its fill or mask change, too.
 */
#include "asyncio/home_tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "asyncio/awaiters.h"
#include "asyncio/future.h"
#include "asyncio/loop_thread.h"
#include "asyncio/waits_for.h"
#include "base/time.h"
#include "cpython/pages.h"

/*
 * Tasks that are read from the same pages, before pages are read anew: what belongs to one task is
 * near what belongs to the next one of a set. What is checked afterwards is read directly.
 */
#define TASKS_A_PAGE_CACHE 16

struct set {
	uint64_t fill, used, mask, table;
};

struct slot {
	uint64_t key, hash;
};

struct walk {
	struct task_reader r;
	struct target_mem mem;		/* the caller's, counted */
	const struct target_mem *direct;
	uint32_t reads;
	struct pages *pages;		/* NULL: all is read directly */
	struct target_mem cached;
	uint32_t in_cache;		/* tasks that were read from the pages */
	struct future_types types;
	struct loop_threads threads;
	const struct async_homes *homes;
	const struct async_home *home;
	bool eager;
	struct tasks_batch *out;
	uint64_t until_ns;
	struct set set;
	uint64_t current[HOME_CURRENT_MAX];	/* tasks that run */
	uint32_t current_cnt;
	struct slot slots[HOME_SLOTS_A_READ];
};

/* ---- memory ---- */

static int read_counted(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct walk *w = ctx;

	w->reads++;
	return w->direct->read(w->direct->ctx, addr, buf, len);
}

static void begin_memory(struct walk *w, const struct target_mem *mem)
{
	w->direct = mem;
	w->mem = (struct target_mem){ read_counted, w };
	w->pages = w->r.at->one_cnt == 1 ? NULL : malloc(sizeof(*w->pages));
	w->cached = (struct target_mem){ pages_read, w->pages };
	w->in_cache = TASKS_A_PAGE_CACHE;
	py_walk_init(&w->r.walk, &w->mem, &w->r.at->objects, TASK_READS_MAX);
}

/* From now on memory may be read from pages that were read for the last few tasks. */
static void read_cached(struct walk *w)
{
	if (w->pages && w->in_cache++ >= TASKS_A_PAGE_CACHE) {
		pages_begin(w->pages, &w->mem);
		w->in_cache = 0;
	}
	if (w->pages)
		w->r.walk.mem = &w->cached;
}

static void read_direct(struct walk *w)
{
	w->r.walk.mem = &w->mem;
}

/* ---- the sets ---- */

static int read_set(struct py_walk *w, uint64_t addr, struct set *s)
{
	int err = py_get(w, addr + w->head, s, sizeof(*s));

	if (!err && (s->mask & (s->mask + 1) || s->mask >= HOME_SLOTS_MAX || s->used > s->mask + 1))
		err = -EBADMSG;
	return err;
}

/* Where to continue: a slot, and what shows that it is still the same table. Never 0. */
static uint64_t node_of(const struct set *s, uint64_t slot)
{
	uint64_t hash = (s->table ^ s->mask) * 0x9e3779b97f4a7c15;

	return slot << 32 | (hash >> 32 & ~1u) | 1;
}

/* Returns false if the table has been replaced. */
static bool slot_of(const struct set *s, uint64_t node, uint64_t *slot)
{
	*slot = node >> 32;
	return node == node_of(s, *slot) && *slot <= s->mask;
}

static void add_list(const struct async_home *home, uint64_t set, struct py_walk *w,
		     struct task_lists *out)
{
	const struct task_list list = { .head = set, .interp_id = home->interp_id, .mixed = 1 };
	struct set s;
	uint32_t i;

	/* Interpreters share what belongs to _asyncio up to 3.11. */
	for (i = 0; i < out->cnt; i++)
		if (out->list[i].head == set)
			return;
	if (read_set(w, set, &s))
		out->cut = 1;
	else if (s.used && out->cnt < TASK_LISTS_MAX)
		out->list[out->cnt++] = list;
}

int home_lists_read(const struct target_mem *mem, const struct tasks_at *at,
		    struct task_lists *out)
{
	const struct async_homes *h = &at->homes;
	struct py_walk w;
	uint8_t i;

	py_walk_init(&w, mem, &at->objects, TASK_READS_MAX);
	out->cnt = 0;
	out->cut = h->cut;
	/* The first interpreter is the last one here: what is shared counts as its. */
	for (i = h->cnt < ASYNC_HOMES_MAX ? h->cnt : ASYNC_HOMES_MAX; i--;) {
		/* As asyncio.all_tasks(): else a task may go from one to the other unseen. */
		if (h->home[i].eager)
			add_list(&h->home[i], h->home[i].eager, &w, out);
		add_list(&h->home[i], h->home[i].weak, &w, out);
	}
	return 0;
}

/* ---- which tasks run ---- */

static void read_current(struct walk *w)
{
	struct py_entry entries[WALK_ENTRIES];
	struct py_walk *walk = &w->r.walk;
	uint32_t from, cnt, i;
	struct py_dict d;

	if (py_open_dict(walk, w->home->current, &d) || d.values)
		return;
	for (from = 0; from < d.cnt && w->current_cnt < HOME_CURRENT_MAX; from += WALK_ENTRIES) {
		if (py_read_entries(walk, &d, from, entries, &cnt))
			return;
		for (i = 0; i < cnt && w->current_cnt < HOME_CURRENT_MAX; i++)
			if (entries[i].value)
				w->current[w->current_cnt++] = entries[i].value;
	}
}

static void set_thread(struct walk *w, struct task_row *row)
{
	const struct loop_thread *t = loop_thread_of(&w->r.walk, &w->r.at->l, w->homes, w->home,
						     &w->threads, row->loop);
	uint32_t i;

	row->tid = t->tid;
	if (t->main)
		row->flags |= TASK_OF_MAIN;
	for (i = 0; t->tid && i < w->current_cnt; i++)
		if (w->current[i] == row->addr)
			row->flags |= TASK_RUNS;
}

/* ---- a task ---- */

static bool same_fields(const struct future_fields *a, const struct future_fields *b)
{
	return a->loop == b->loop && a->callback0 == b->callback0 &&
	       a->callbacks == b->callbacks && a->coro == b->coro && a->name == b->name &&
	       a->fut_waiter == b->fut_waiter;
}

static int read_task(struct walk *w, uint64_t task, struct future_fields *f)
{
	int err = future_read(&w->r.walk, w->homes, &w->types, task, f);

	if (!err && f->kind != FUTURE_TASK)
		err = -EBADMSG;
	return err ? err : f->done ? -ENOENT : 0;
}

static bool add_waiter(void *ctx, uint64_t task)
{
	task_waiter_add(ctx, task);
	return true;
}

static void read_waiters(struct walk *w, struct task_read *t)
{
	struct awaiters a;

	if (awaiters_read(&w->r.walk, w->homes, &w->types, t->row->addr, add_waiter, t, &a))
		t->row->flags |= TASK_MOVED;
	if (a.cut)
		t->row->flags |= TASK_CUT;
	if (a.others)
		t->row->flags |= TASK_OTHERS;
}

/* Read it once. Returns true if it was the same before and after; else *f is what it is now. */
static bool read_once(struct walk *w, struct task_read *t, struct future_fields *f, int *err)
{
	struct future_fields now;

	t->row->frame_cnt = t->row->waiter_cnt = t->coro_cnt = 0;
	t->row->flags = task_name_read(&w->r, f->name, t->row->name) ? TASK_NAMELESS : 0;
	t->row->loop = f->loop;
	task_coros_read(&w->r, t, f->coro);
	read_waiters(w, t);
	read_direct(w);
	*err = read_task(w, t->row->addr, &now);
	if (*err)
		return false;
	if (!same_fields(f, &now) || !task_coros_still(&w->r, t)) {
		*f = now;
		t->row->flags |= TASK_MOVED;
	}
	return !(t->row->flags & TASK_MOVED);
}

/* Add a row. A task that is done, or is none, is left out. */
static void add_task(struct walk *w, uint64_t task)
{
	struct tasks_batch *out = w->out;
	struct task_read t = { .frames = out->frames + out->frame_cnt,
			       .waiters = out->waiters + out->waiter_cnt,
			       .row = &out->rows[out->row_cnt] };
	struct future_fields f;
	int tries, err = read_task(w, task, &f);

	if (err)
		return;
	*t.row = (struct task_row){
		.addr = task, .frame_at = out->frame_cnt, .waiter_at = out->waiter_cnt,
	};
	for (tries = 0; tries < TASK_TRIES; tries++)
		if (read_once(w, &t, &f, &err) || err)
			break;
	if (err)
		return;
	if (w->eager)
		t.row->flags |= TASK_EAGER;
	set_thread(w, t.row);
	if (w->r.at->waits)
		waits_for_read(&w->r, &t, &t.row->waits);
	out->row_cnt++;
	out->frame_cnt += t.row->frame_cnt;
	out->waiter_cnt += t.row->waiter_cnt;
}

/* ---- all of them ---- */

/* The task in a slot that has an entry; 0: none. */
static uint64_t task_in(struct walk *w, const struct slot *s)
{
	uint64_t task;

	if (w->eager)
		return s->key;
	return py_get(&w->r.walk, s->key + w->r.walk.head, &task, 8) ? 0 : task;
}

static void take_slot(struct walk *w, const struct slot *s)
{
	struct future_fields f;
	uint64_t task;

	read_cached(w);
	task = task_in(w, s);
	if (task && !w->r.at->count)
		add_task(w, task);
	else if (task && !read_task(w, task, &f))
		w->out->counted++;
	read_direct(w);
}

static bool has_room(const struct walk *w)
{
	const struct tasks_batch *b = w->out;
	uint32_t max = w->r.at->max && w->r.at->max < TASKS_BATCH ? w->r.at->max : TASKS_BATCH;

	return b->row_cnt < max && b->frame_cnt + TASK_FRAMES_MAX <= TASKS_BATCH_FRAMES &&
	       b->waiter_cnt + TASK_WAITERS_MAX <= TASKS_BATCH_WAITERS &&
	       w->r.walk.reads_left > TASK_READS_OF_ONE && now_ns() < w->until_ns;
}

/* Read only the tasks of at->ones. */
static void take_ones(struct walk *w)
{
	const struct tasks_at *at = w->r.at;
	uint32_t i;

	for (i = 0; i < at->one_cnt && i < TASK_ONES_MAX && (!i || has_room(w)); i++) {
		read_cached(w);
		add_task(w, at->ones[i]);
		read_direct(w);
	}
}

/*
 * Read a block of slots from *slot on, and take the tasks in it, at least those of the first slot;
 * *slot: where to continue. 0, -ESTALE: the table was replaced meanwhile, or -errno.
 */
static int take_block(struct walk *w, uint64_t *slot)
{
	uint64_t cnt = w->set.mask + 1 - *slot, i;
	struct py_walk *walk = &w->r.walk;
	struct set now;
	int err;

	if (cnt > HOME_SLOTS_A_READ)
		cnt = HOME_SLOTS_A_READ;
	err = py_get(walk, w->set.table + *slot * sizeof(w->slots[0]), w->slots,
		     cnt * sizeof(w->slots[0]));
	if (!err)
		err = read_set(walk, w->r.at->head, &now);
	if (err)
		return err;
	if (now.table != w->set.table || now.mask != w->set.mask || now.fill < w->set.fill)
		return -ESTALE;
	w->set.fill = now.fill;
	for (i = 0; i < cnt && (!i || !w->slots[i].key || has_room(w)); i++)
		if (w->slots[i].key && w->slots[i].hash != UINT64_MAX)
			take_slot(w, &w->slots[i]);
	*slot += i;
	return 0;
}

static int begin(struct walk *w, uint64_t *slot, bool *lost)
{
	const struct tasks_at *at = w->r.at;
	uint8_t i;
	int err;

	for (i = 0; i < w->homes->cnt && i < ASYNC_HOMES_MAX; i++)
		if (at->head && (w->homes->home[i].weak == at->head ||
				 w->homes->home[i].eager == at->head))
			w->home = &w->homes->home[i];
	if (!w->home)
		return -ENOENT;
	w->eager = w->home->eager == at->head;
	err = read_set(&w->r.walk, at->head, &w->set);
	if (!err && at->node)
		*lost = !slot_of(&w->set, at->node, slot);
	if (!err && !*lost && !at->count)
		read_current(w);
	return err;
}

int home_tasks_read(const struct target_mem *mem, const struct tasks_at *at, uint64_t until_ns,
		    struct tasks_batch *out)
{
	struct walk w = { .r = { .at = at }, .homes = &at->homes, .out = out,
			  .until_ns = until_ns };
	uint64_t slot = 0;
	bool lost = false;
	int err;

	begin_memory(&w, mem);
	out->row_cnt = out->frame_cnt = out->waiter_cnt = out->counted = 0;
	out->next = 0;
	err = begin(&w, &slot, &lost);
	if (!err && at->one_cnt) {
		take_ones(&w);
		slot = w.set.mask + 1;
	}
	while (!err && !lost && slot <= w.set.mask) {
		err = take_block(&w, &slot);
		if (!has_room(&w))
			break;
	}
	free(w.pages);
	out->reads = w.reads;
	lost |= err != 0;
	out->end = lost ? TASKS_LOST : slot > w.set.mask ? TASKS_DONE : TASKS_MORE;
	if (out->end == TASKS_MORE)
		out->next = node_of(&w.set, slot);
	/* What was read before is valid. */
	return err == -ESTALE || out->row_cnt || out->counted ? 0 : err;
}
