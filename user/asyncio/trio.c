// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * trio.c - one set of trio's tasks. See trio.h; trio_home.c finds the sets.
 *
 * Sources: trio/_core/_run.py at v0.22.0 ... v0.35.0: Runner.tasks (a set), Task (slots: coro,
 * name, _parent_nursery), Nursery._parent_task. Include/cpython/setobject.h, the same since 3.6: an
 * entry whose hash is -1 was deleted.
 */
#include "asyncio/trio.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "asyncio/task_read.h"
#include "base/util.h"
#include "cpython/attributes.h"
#include "cpython/slots.h"

/* Entries of a set that are read at a time. */
#define SLOTS_A_READ 256
/* Limit on bytes of a task that are read: it has about 200. */
#define TASK_BYTES_MAX 512

/* PySetObject after its head. */
struct set_words {
	uint64_t fill, used, mask, table;
};

struct set_entry {
	uint64_t key;
	int64_t hash;
};

struct trio_walk {
	struct task_reader r;
	struct tasks_batch *out;
	uint64_t until_ns;
	struct trio_slots slots;
	uint64_t last_nursery, last_parent;	/* tasks of one nursery are often neighbours */
};

/* ---- one task ---- */

static int find_slots(struct task_reader *r, struct trio_slots *s, uint64_t type)
{
	static const char *const names[] = { "coro", "name", "_parent_nursery", "_counter" };
	uint16_t *const slots[] = { &s->coro, &s->name, &s->nursery, &s->counter };
	size_t i;
	int err = 0;

	s->bytes = 0;
	for (i = 0; !err && i < ARRAY_SIZE(names); i++) {
		err = py_slot_offset(&r->walk, type, names[i], slots[i]);
		if (!err && *slots[i] + 8u > s->bytes)
			s->bytes = *slots[i] + 8u;
	}
	if (!err && s->bytes > TASK_BYTES_MAX)
		err = -EBADMSG;
	s->type = err ? 0 : type;
	return err;
}

int trio_task_read(struct task_reader *r, struct trio_slots *s, uint64_t addr,
		   struct trio_task *t)
{
	uint32_t head = r->walk.head;
	uint8_t b[TASK_BYTES_MAX];
	uint64_t type;
	int err = py_peek(&r->walk, addr, b, s->type ? s->bytes : head);

	if (err)
		return err;
	memcpy(&type, b + head - 8, 8);
	if (type != s->type) {
		err = find_slots(r, s, type);
		if (!err)
			err = py_peek(&r->walk, addr, b, s->bytes);
		if (err)
			return err;
	}
	py_use(&r->walk, addr + head - 8, b + head - 8, 8);
	py_use(&r->walk, addr + s->coro, b + s->coro, 8);
	py_use(&r->walk, addr + s->nursery, b + s->nursery, 8);
	memcpy(&t->coro, b + s->coro, 8);
	memcpy(&t->name, b + s->name, 8);
	memcpy(&t->nursery, b + s->nursery, 8);
	memcpy(&t->counter, b + s->counter, 8);
	return 0;
}

int trio_parent_read(struct task_reader *r, uint64_t nursery, uint64_t *parent)
{
	*parent = 0;
	if (py_type_named(&r->walk, nursery, "NoneType"))
		return 0;
	return py_attribute(&r->walk, nursery, "_parent_task", parent);
}

/* The number that trio has given it: an int of one or two digits of 30 bits; 0: another one. */
static uint64_t order_of(struct trio_walk *w, uint64_t counter)
{
	struct {
		uint64_t size;
		uint32_t digits[2];
	} n;
	uint64_t cnt;

	if (py_expect(&w->r.walk, counter, PY_IS_LONG) ||
	    task_get(&w->r, counter + w->r.walk.head, &n, sizeof(n)))
		return 0;
	cnt = w->r.walk.o->minor >= 12 ? n.size >> 3 : n.size;
	return cnt == 1 ? n.digits[0] : cnt == 2 ? n.digits[0] | (uint64_t)n.digits[1] << 30 : 0;
}

/* The task in whose nursery it is; 0: none, as of the first task, or unreadable. */
static uint64_t parent_of(struct trio_walk *w, uint64_t nursery)
{
	uint64_t parent;

	if (nursery && nursery == w->last_nursery)
		return w->last_parent;
	if (!nursery || trio_parent_read(&w->r, nursery, &parent) || !parent)
		return 0;
	w->last_nursery = nursery;
	w->last_parent = parent;
	return parent;
}

/* Read it once. Returns true if it was the same before and after; else *f is what it is now. */
static bool read_once(struct trio_walk *w, struct task_read *t, uint64_t addr,
		      struct trio_task *f, int *err)
{
	struct trio_task now;
	uint64_t parent;

	t->row->frame_cnt = t->row->waiter_cnt = t->coro_cnt = 0;
	t->row->flags = task_name_read(&w->r, f->name, t->row->name) ? TASK_NAMELESS : 0;
	task_coros_read(&w->r, t, f->coro);
	parent = parent_of(w, f->nursery);
	if (parent)
		task_waiter_add(t, parent);
	*err = trio_task_read(&w->r, &w->slots, addr, &now);
	if (*err)
		return false;
	if (memcmp(f, &now, sizeof(now)) || !task_coros_still(&w->r, t)) {
		*f = now;
		t->row->flags |= TASK_MOVED;
	}
	return !(t->row->flags & TASK_MOVED);
}

/* Add the task's row. 0, or -errno: it is gone. */
static int add_task(struct trio_walk *w, uint64_t addr)
{
	struct tasks_batch *out = w->out;
	struct task_read t = {
		.frames = out->frames + out->frame_cnt,
		.waiters = out->waiters + out->waiter_cnt,
		.row = &out->rows[out->row_cnt],
	};
	struct trio_task f;
	int tries, err = trio_task_read(&w->r, &w->slots, addr, &f);

	*t.row = (struct task_row){
		.addr = addr, .frame_at = out->frame_cnt, .waiter_at = out->waiter_cnt,
		.order = err ? 0 : order_of(w, f.counter),
	};
	for (tries = 0; !err && tries < TASK_TRIES; tries++)
		if (read_once(w, &t, addr, &f, &err))
			break;
	if (err)
		return err;
	out->row_cnt++;
	out->frame_cnt += t.row->frame_cnt;
	out->waiter_cnt += t.row->waiter_cnt;
	return 0;
}

/* ---- the set ---- */

static bool has_room(const struct trio_walk *w)
{
	const struct tasks_batch *b = w->out;
	uint32_t max = w->r.at->max && w->r.at->max < TASKS_BATCH ? w->r.at->max : TASKS_BATCH;

	return b->row_cnt < max && b->frame_cnt + TASK_FRAMES_MAX <= TASKS_BATCH_FRAMES &&
	       b->waiter_cnt + TASK_WAITERS_MAX <= TASKS_BATCH_WAITERS &&
	       w->r.walk.reads_left > TASK_READS_OF_ONE &&
	       (!b->row_cnt || now_ns() < w->until_ns);
}

static int read_set(struct trio_walk *w, struct set_words *s)
{
	int err = task_get(&w->r, w->r.at->head + w->r.walk.head, s, sizeof(*s));

	/* Tables of a set have a power of two of slots. */
	return err ? err : s->mask & (s->mask + 1) || s->used > s->mask || s->mask > UINT32_MAX ?
		-EBADMSG : 0;
}

/* Add the tasks in slots from *slot on. *slot: where to continue. */
static int walk_slots(struct trio_walk *w, const struct set_words *s, uint64_t *slot)
{
	struct set_entry e[SLOTS_A_READ];
	uint64_t n, k;
	int err;

	for (; *slot <= s->mask; *slot += n) {
		n = s->mask + 1 - *slot < SLOTS_A_READ ? s->mask + 1 - *slot : SLOTS_A_READ;
		err = task_get(&w->r, s->table + *slot * sizeof(*e), e, n * sizeof(*e));
		if (err)
			return err;
		for (k = 0; k < n; k++) {
			if (!e[k].key || e[k].hash == -1)
				continue;
			if (!has_room(w)) {
				*slot += k;
				return 0;
			}
			add_task(w, e[k].key);	/* it may be gone by now */
		}
	}
	return 0;
}

int trio_tasks_read(const struct target_mem *mem, const struct tasks_at *at, uint64_t until_ns,
		    struct tasks_batch *out)
{
	struct trio_walk w = { .r = { .at = at }, .out = out, .until_ns = until_ns };
	uint64_t slot = at->node ? at->node - 1 : 0;
	struct set_words before, after;
	uint32_t i;
	int err;

	py_walk_init(&w.r.walk, mem, &at->objects, TASK_READS_MAX);
	out->row_cnt = out->frame_cnt = out->waiter_cnt = out->counted = 0;
	out->end = TASKS_LOST;
	out->next = 0;
	err = read_set(&w, &before);
	if (!err && at->count)
		out->counted = (uint32_t)before.used;
	for (i = 0; !err && i < at->one_cnt && i < TASK_ONES_MAX && has_room(&w); i++)
		add_task(&w, at->ones[i]);
	if (!err && !at->count && !at->one_cnt)
		err = walk_slots(&w, &before, &slot);
	out->reads = TASK_READS_MAX - w.r.walk.reads_left;
	if (err)
		return out->row_cnt ? 0 : err;
	/* With another table, tasks are in other slots. */
	if (read_set(&w, &after) || after.table != before.table || after.mask != before.mask)
		return 0;
	out->end = at->count || at->one_cnt || slot > before.mask ? TASKS_DONE : TASKS_MORE;
	out->next = slot + 1;
	return 0;
}
