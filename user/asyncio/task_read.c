// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * task_read.c - one task: its name, its coroutines, and which tasks await it. See task_read.h.
 *
 * Coroutines are shown as by Modules/_remote_debugging/asyncio.c (v3.15.0, parse_coro_chain): from
 * each one to what it awaits, if that has the type of the outermost one, or is a step of an
 * asynchronous generator, which continues in the generator. A future, an iterator
 * or a coroutine of another kind is the end. Objects: Include/cpython/object.h (PyTypeObject),
 * longintrepr.h, Objects/genobject.c (PyAsyncGenASend and PyAsyncGenAThrow: the generator comes
 * first), Include/cpython/setobject.h: an entry whose hash is -1 was deleted.
 */
#include "asyncio/task_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asyncio/future.h"
#include "asyncio/waits_for.h"
#include "base/util.h"
#include "cpython/code.h"

#define IS_LONG (1ull << 24)	/* tp_flags */
#define IS_STR (1ull << 28)
#define TYPE_NAME 8		/* tp_name, after ob_base and ob_size */
#define TYPE_FLAGS 152		/* tp_flags */
#define TYPE_NAME_BYTES 24
/* Wrappers in a row that are followed. */
#define WRAPS_MAX 4
#define DIGIT_BITS 30
#define DIGITS_MAX 3

int task_get(struct task_reader *r, uint64_t addr, void *buf, size_t len)
{
	return py_get(&r->walk, addr, buf, len);
}

int task_fields_read(struct task_reader *r, uint64_t node, struct task_fields *f)
{
	const struct async_tasks_layout *t = &r->at->async.task;
	uint8_t b[ASYNCIO_TASK_BYTES_MAX];
	int err;

	if (t->task_bytes > sizeof(b) || t->task_node + 16u > t->task_bytes)
		return -EBADMSG;
	err = task_get(r, node - t->task_node, b, t->task_bytes);
	if (err)
		return err;
	memcpy(&f->name, b + t->task_name, 8);
	memcpy(&f->awaited_by, b + t->task_awaited_by, 8);
	memcpy(&f->coro, b + t->task_coro, 8);
	memcpy(&f->next, b + t->task_node, 8);
	memcpy(&f->prev, b + t->task_node + 8, 8);
	f->is_task = b[t->task_is_task];
	f->is_set = b[t->task_awaited_by_is_set] != 0;
	return 0;
}

static bool same_fields(const struct task_fields *a, const struct task_fields *b)
{
	return a->name == b->name && a->awaited_by == b->awaited_by && a->coro == b->coro &&
	       a->is_task == b->is_task && a->is_set == b->is_set;
}

/* ---- types ---- */

static uint16_t head_bytes(const struct task_reader *r)
{
	return r->walk.head;
}

static enum task_type type_by_name(struct task_reader *r, uint64_t type)
{
	static const struct {
		const char *name;
		enum task_type what;
	} names[] = {
		{ "coroutine", TASK_TYPE_COROUTINE }, { "generator", TASK_TYPE_COROUTINE },
		{ "async_generator", TASK_TYPE_ASYNC_GEN },
		{ "async_generator_asend", TASK_TYPE_STEP },
		{ "async_generator_athrow", TASK_TYPE_STEP },
		{ "coroutine_wrapper", TASK_TYPE_WRAPPER },
		{ "anext_awaitable", TASK_TYPE_WRAPPER },
		{ "_asyncio.FutureIter", TASK_TYPE_FUTURE },
	};
	char name[TYPE_NAME_BYTES] = "";
	uint64_t at;
	size_t i;

	if (py_peek(&r->walk, type + head_bytes(r) + TYPE_NAME, &at, 8) ||
	    py_peek(&r->walk, at, name, object_first_read(at, 2, sizeof(name) - 1)))
		return TASK_TYPE_OTHER;
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i].name))
			return names[i].what;
	return TASK_TYPE_OTHER;
}

/* The index of a type in the cache, or -errno. */
static int type_at(struct task_reader *r, uint64_t type)
{
	uint32_t i;
	uint64_t flags;
	int err;

	for (i = 0; i < TASK_TYPES; i++)
		if (type && r->types[i].addr == type)
			return (int)i;
	err = type ? py_peek(&r->walk, type + head_bytes(r) + TYPE_FLAGS, &flags, 8) : -EBADMSG;
	if (err)
		return err;
	i = r->next_type++ % TASK_TYPES;
	r->types[i].addr = type;
	r->types[i].flags = flags;
	r->types[i].what = type_by_name(r, type);
	return (int)i;
}

/* ---- the name ---- */

/* An int's value, if it is not negative and fits. */
static int read_int(struct task_reader *r, uint64_t obj, uint64_t *out)
{
	uint32_t digits[DIGITS_MAX] = { 0 };
	uint64_t tag, cnt;
	int err = task_get(r, obj + head_bytes(r), &tag, 8);

	cnt = tag >> 3;
	if (err || cnt > DIGITS_MAX || (tag & 3) == 2)
		return err ? err : -EBADMSG;
	if (cnt)
		err = task_get(r, obj + head_bytes(r) + 8, digits, cnt * 4);
	*out = digits[0] | (uint64_t)digits[1] << DIGIT_BITS |
	       (uint64_t)digits[2] << 2 * DIGIT_BITS;
	return err;
}

int task_name_read(struct task_reader *r, uint64_t obj, char name[TASK_NAME_BYTES])
{
	uint64_t type, n;
	uint32_t len;
	char *s;
	int err = task_get(r, obj + head_bytes(r) - 8, &type, 8), i;

	name[0] = '\0';
	i = err ? err : type_at(r, type);
	if (i < 0)
		return i;
	if (r->types[i].flags & IS_LONG && r->walk.o->minor >= 12) {
		err = read_int(r, obj, &n);
		if (!err)
			snprintf(name, TASK_NAME_BYTES, "Task-%llu", (unsigned long long)n);
		return err;
	}
	if (!(r->types[i].flags & IS_STR) || !r->walk.reads_left)
		return -EBADMSG;
	r->walk.reads_left--;
	err = code_read_string(r->walk.mem, &r->at->objects, obj, &s, &len);
	if (err)
		return err;
	utf8_copy(name, TASK_NAME_BYTES, s, len);
	free(s);
	return 0;
}

/* ---- coroutines ---- */

/* From 3.14 on the chain ends where that of CPython's own tools does, which know asyncio only. */
static bool follows_all(const struct task_reader *r)
{
	return r->at->objects.minor < 14 || r->at->library == TASKS_TRIO;
}

static uint32_t identity_of(struct task_reader *r, uint64_t code)
{
	uint32_t i = (uint32_t)(code >> 4) % TASK_CODES, k;
	struct code_header_part parts[CODE_HEADER_PARTS];
	size_t n = code_header_bytes(&r->at->l);
	uint8_t b[CODE_HEADER_MAX];

	if (r->codes[i].addr == code || !r->walk.reads_left)
		return r->codes[i].addr == code ? r->codes[i].id : 0;
	r->codes[i].addr = code;
	r->codes[i].id = 0;
	if (!n || py_peek(&r->walk, code, b, n))
		return 0;
	r->codes[i].id = code_identity_of(r->walk.mem, &r->at->l, b);
	code_header_parts(&r->at->l, parts);
	for (k = 0; k < CODE_HEADER_PARTS; k++)
		py_use(&r->walk, code + parts[k].off, b + parts[k].off, parts[k].len);
	return r->codes[i].id;
}

/* An object's bytes: as many of COROUTINE_READ as are in its page. Returns their number, or 0. */
static size_t read_object(struct task_reader *r, uint64_t addr, size_t need, uint8_t *b)
{
	size_t n = object_first_read(addr, need, COROUTINE_READ);

	return !need || need > COROUTINE_READ || py_peek(&r->walk, addr, b, n) ? 0 : n;
}

static void add_frame(struct task_reader *r, struct task_read *t, const struct coroutine *c)
{
	t->frames[t->row->frame_cnt++] = (struct raw_frame){
		.code = c->code, .lasti = coroutine_lasti(&r->walk, r->at, c),
		.id = identity_of(r, c->code),
	};
}

/*
 * Determine whether the object at *obj, of which n bytes were read, is the chain's next coroutine.
 * A step leads to its generator, a wrapper to what it wraps: then *obj is that, and must be checked
 * again.
 */
static enum task_type take_object(struct task_reader *r, struct task_read *t, uint64_t *obj,
				  const uint8_t *b)
{
	enum task_type what;
	uint64_t type;
	int i;

	memcpy(&type, b + head_bytes(r) - 8, 8);
	py_use(&r->walk, *obj + head_bytes(r) - 8, b + head_bytes(r) - 8, 8);
	if (t->coro_cnt && type == t->type)
		return TASK_TYPE_COROUTINE;
	i = type_at(r, type);
	what = i < 0 ? TASK_TYPE_OTHER : r->types[i].what;
	if (what == TASK_TYPE_WRAPPER && !follows_all(r))
		what = TASK_TYPE_OTHER;
	if (what == TASK_TYPE_STEP || what == TASK_TYPE_WRAPPER) {
		py_use(&r->walk, *obj + head_bytes(r), b + head_bytes(r), 8);
		memcpy(obj, b + head_bytes(r), 8);
	}
	if (t->coro_cnt)
		return what == TASK_TYPE_COROUTINE && !follows_all(r) ? TASK_TYPE_OTHER : what;
	t->type = type;
	return what;
}

/* Add a coroutine, of which n bytes were read. Returns what it awaits; 0: not an object. */
static uint64_t take_coro(struct task_reader *r, struct task_read *t, uint64_t coro,
			  const uint8_t *b, size_t n)
{
	struct coro_state *s = &t->coros[t->coro_cnt];
	struct coroutine c;

	if (coroutine_look(&r->walk, r->at, coro, b, n, &c))
		return 0;
	t->coro_cnt++;
	*s = (struct coro_state){ coro, c.frame, c.code, c.ip, c.raw_state };
	if (c.state == CORO_RUNNING)
		t->row->flags |= TASK_EXECUTING;
	if (c.code && t->frames)
		add_frame(r, t, &c);
	coroutine_awaits(&r->walk, r->at, b, n, &c);
	return c.awaits;
}

/* Returns true if a chain can go on with an object of this kind. */
static bool may_follow(const struct task_read *t, enum task_type what, bool step, uint32_t wraps)
{
	switch (what) {
	case TASK_TYPE_COROUTINE:
		return true;
	case TASK_TYPE_STEP:
		return !step && t->coro_cnt;
	case TASK_TYPE_WRAPPER:
		return wraps < WRAPS_MAX && t->coro_cnt;
	case TASK_TYPE_ASYNC_GEN:
		return step;
	default:
		return false;
	}
}

void task_coros_read(struct task_reader *r, struct task_read *t, uint64_t obj)
{
	size_t need = coroutine_bytes(&r->walk, r->at), n;
	uint8_t b[COROUTINE_READ];
	enum task_type what;
	bool step = false;
	uint32_t wraps = 0;

	t->awaits = obj;
	t->future = 0;
	while (obj && need) {
		n = read_object(r, obj, head_bytes(r) + 8, b);
		what = n ? take_object(r, t, &obj, b) : TASK_TYPE_OTHER;
		if (what == TASK_TYPE_FUTURE)
			memcpy(&t->future, b + head_bytes(r), 8);
		if (!may_follow(t, what, step, wraps))
			return;
		step = what == TASK_TYPE_STEP;
		wraps = what == TASK_TYPE_WRAPPER ? wraps + 1 : step ? wraps : 0;
		if (step || what == TASK_TYPE_WRAPPER)
			continue;
		if (n < need)
			n = read_object(r, obj, need, b);
		if (!n)
			return;
		if (t->coro_cnt == TASK_FRAMES_MAX) {
			t->row->flags |= TASK_CUT;
			return;
		}
		t->awaits = obj = take_coro(r, t, obj, b, n);
	}
}

bool task_coros_still(struct task_reader *r, const struct task_read *t)
{
	size_t need = coroutine_bytes(&r->walk, r->at), n;
	uint8_t b[COROUTINE_READ];
	struct coroutine now;
	uint32_t i;

	for (i = 0; i < t->coro_cnt; i++) {
		const struct coro_state *s = &t->coros[i];

		n = read_object(r, s->addr, need, b);
		if (!n || coroutine_look(&r->walk, r->at, s->addr, b, n, &now) ||
		    now.frame != s->frame || now.code != s->code || now.ip != s->ip ||
		    now.raw_state != s->state)
			return false;
	}
	return true;
}

/* ---- tasks that await it ---- */

void task_waiter_add(struct task_read *t, uint64_t task)
{
	if (t->row->waiter_cnt < TASK_WAITERS_MAX)
		t->waiters[t->row->waiter_cnt++] = task;
	else
		t->row->flags |= TASK_CUT;
}

/* The entries of a set of tasks, in its order. -EBADMSG: not a set. */
static int read_set(struct task_reader *r, struct task_read *t, uint64_t set)
{
	const struct async_coroutine_layout *c = &r->at->async.coro;
	uint64_t slots[TASK_SLOTS_A_READ][ASYNC_SET_SLOT / 8], used, mask, table, i, k, n;
	int err = task_get(r, set + c->set_used, &used, 8);

	if (!err)
		err = task_get(r, set + c->set_mask, &mask, 8);
	if (!err)
		err = task_get(r, set + c->set_table, &table, 8);
	if (err || mask & (mask + 1) || used > mask)
		return err ? err : -EBADMSG;
	for (i = 0; i <= mask && i < TASK_SLOTS_MAX && used; i += n) {
		n = mask + 1 - i < TASK_SLOTS_A_READ ? mask + 1 - i : TASK_SLOTS_A_READ;
		err = task_get(r, table + i * ASYNC_SET_SLOT, slots, n * ASYNC_SET_SLOT);
		if (err)
			return err;
		for (k = 0; k < n && used; k++) {
			if (!slots[k][0] || slots[k][1] == UINT64_MAX)
				continue;
			task_waiter_add(t, slots[k][0]);
			used--;
		}
	}
	t->row->flags |= used ? TASK_CUT : 0;
	return 0;
}

static int read_waiters(struct task_reader *r, struct task_read *t, const struct task_fields *f)
{
	if (!f->awaited_by)
		return 0;
	if (f->is_set)
		return read_set(r, t, f->awaited_by);
	task_waiter_add(t, f->awaited_by);
	return 0;
}

/* ---- all of it ---- */

/* Read it once. Returns true if it was the same before and after; else *f is what it is now. */
static bool read_once(struct task_reader *r, struct task_read *t, uint64_t node,
		      struct task_fields *f, int *err)
{
	struct task_fields now;

	t->row->frame_cnt = t->row->waiter_cnt = t->coro_cnt = 0;
	t->row->flags = task_name_read(r, f->name, t->row->name) ? TASK_NAMELESS : 0;
	task_coros_read(r, t, f->coro);
	if (read_waiters(r, t, f))
		t->row->flags |= TASK_MOVED;
	*err = task_fields_read(r, node, &now);
	if (*err)
		return false;
	if (!same_fields(f, &now) || !task_coros_still(r, t)) {
		*f = now;
		t->row->flags |= TASK_MOVED;
	}
	f->next = now.next;
	f->prev = now.prev;
	return !(t->row->flags & TASK_MOVED);
}

int task_row_read(struct task_reader *r, uint64_t node, struct task_fields *f,
		  struct tasks_batch *out)
{
	struct task_read t = { .frames = out->frames + out->frame_cnt,
			       .waiters = out->waiters + out->waiter_cnt,
			       .row = &out->rows[out->row_cnt] };
	int tries, err = 0;

	*t.row = (struct task_row){
		.addr = node - r->at->async.task.task_node,
		.frame_at = out->frame_cnt, .waiter_at = out->waiter_cnt,
	};
	for (tries = 0; tries < TASK_TRIES; tries++)
		if (read_once(r, &t, node, f, &err) || err || !f->is_task)
			break;
	if (err || !f->is_task)
		return err ? err : -EBADMSG;
	if (r->at->waits)
		waits_for_read(r, &t, &t.row->waits);
	out->row_cnt++;
	out->frame_cnt += t.row->frame_cnt;
	out->waiter_cnt += t.row->waiter_cnt;
	return 0;
}

/* The outermost coroutine of a task. 0: none, or it is no task, or is unreadable. */
static uint64_t coro_of(struct task_reader *r, uint64_t task)
{
	struct future_types types = { .next = 0 };
	struct task_fields f;
	struct future_fields old;

	if (r->at->homes.minor)
		return future_read(&r->walk, &r->at->homes, &types, task, &old) ||
		       old.kind != FUTURE_TASK ? 0 : old.coro;
	return task_fields_read(r, task + r->at->async.task.task_node, &f) || !f.is_task ? 0 :
	       f.coro;
}

uint32_t task_frames_read(struct task_reader *r, uint64_t task,
			  struct py_frame out[TASK_FRAMES_MAX], bool *whole, uint64_t *where)
{
	struct task_row row = { 0 };
	struct task_read t = { .row = &row };
	uint32_t i, cnt = 0;
	uint64_t coro;

	*whole = false;
	*where = 0;
	coro = coro_of(r, task);
	if (!coro)
		return 0;
	task_coros_read(r, &t, coro);
	for (i = t.coro_cnt; i--;) {
		const struct coro_state *s = &t.coros[i];

		*where = (*where ^ s->addr ^ s->code << 8 ^ s->ip << 16 ^ (uint8_t)s->state) *
			 0x9e3779b97f4a7c15ull;
		if (s->code)
			out[cnt++] = (struct py_frame){ s->frame, s->code };
	}
	*whole = !(row.flags & (TASK_EXECUTING | TASK_CUT)) && r->walk.reads_left;
	return cnt;
}
