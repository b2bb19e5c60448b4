// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * awaiters.c - see awaiters.h.
 *
 * The shapes of callbacks, at v3.8.18 ... v3.13.0: Modules/_asynciomodule.c (task_wakeup,
 * TaskWakeupMethWrapper; a TaskStepMethWrapper is a handle's callback, never a future's),
 * Lib/asyncio/tasks.py, futures.py, taskgroups.py, staggered.py, streams.py, base_events.py;
 * anyio 3.0 ... 4.16 (_backends/_asyncio.py), uvloop 0.21 (loop.pyx). As seen on each minor:
 * tests/e2e/capture/test_truth_async.py.
 *
 * A name only says which way to go. Whether that leads to a task or future is a matter of that
 * object's type, so a function that has the name of another one does no harm.
 */
#include "asyncio/awaiters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cpython/attributes.h"
#include "cpython/callable.h"
#include "cpython/deque.h"
#include "cpython/slots.h"

_Static_assert(AWAITERS_NAME_BYTES == PY_CALLABLE_NAME_BYTES, "a callback's name fits");

/* Callbacks that are read from a list at a time. */
#define LIST_ITEMS 64
/* Tasks that are compared one by one; if there are more, a table has them. */
#define FEW_TASKS 64
#define TASK_TABLE (2 * AWAITERS_CALLBACKS_MAX)	/* a power of two */

/* ---- the table ---- */

enum road {
	NOBODY,		/* it wakes nobody */
	ROOT,		/* it stops the loop */
	WORD,		/* from the object in the first word after its head */
	SELF,		/* from what it is bound to */
	ARGUMENT,	/* from a partial's first argument */
	CELL,		/* from the variable `cell` of its closure */
};

enum end {
	TASK,		/* at the task that is woken */
	FUTURE,		/* at a future, whose callbacks wake a task */
	ANY,		/* the same, or at something else: nobody */
	QUEUE,		/* at the futures of an asyncio.Queue's getters */
};

struct shape {
	enum py_callable_kind kind;
	const char *name;	/* as in struct py_callable */
	enum road road;
	enum end end;
	const char *cell;
	const char *attributes[2];	/* followed from there */
};

#define FUNCTION(n) .kind = PY_CALL_FUNCTION, .name = (n)
#define METHOD(n) .kind = PY_CALL_METHOD, .name = (n)
#define BUILTIN(n) .kind = PY_CALL_BUILTIN, .name = (n)
#define PARTIAL(n) .kind = PY_CALL_PARTIAL, .name = (n)
#define CYTHON(n) .kind = PY_CALL_CYTHON, .name = (n)
#define OBJECT(n) .kind = PY_CALL_OTHER, .name = (n)
#define BY(r, e) .road = (r), .end = (e)
#define BY_CELL(c, e) .road = CELL, .end = (e), .cell = (c)
#define THEN(...) .attributes = { __VA_ARGS__ }

static const struct shape shapes[] = {
	/* await task */
	{ BUILTIN("task_wakeup"), BY(SELF, TASK) },			/* 3.10+ */
	{ OBJECT("TaskWakeupMethWrapper"), BY(WORD, TASK) },		/* 3.8, 3.9 */
	{ METHOD("Task.__wakeup"), BY(SELF, TASK) },			/* in Python */
	/* asyncio's functions */
	{ FUNCTION("gather.<locals>._done_callback"), BY_CELL("outer", FUTURE) },
	{ FUNCTION("_gather.<locals>._done_callback"), BY_CELL("outer", FUTURE) },
	{ FUNCTION("_wait.<locals>._on_completion"), BY_CELL("waiter", FUTURE) },
	{ PARTIAL("_release_waiter"), BY(ARGUMENT, FUTURE) },		/* wait_for() */
	{ FUNCTION("shield.<locals>._inner_done_callback"), BY_CELL("outer", FUTURE) },
	{ FUNCTION("shield.<locals>._outer_done_callback"), .road = NOBODY },
	{ FUNCTION("shield.<locals>._log_on_exception"), .road = NOBODY },
	{ FUNCTION("as_completed.<locals>._on_completion"), BY_CELL("done", QUEUE),
	  THEN("_getters") },
	{ METHOD("_AsCompletedIterator._handle_completion"), BY(SELF, QUEUE),
	  THEN("_done", "_getters") },					/* 3.13+ */
	{ METHOD("TaskGroup._on_task_done"), BY(SELF, TASK), THEN("_parent_task") },
	{ FUNCTION("staggered_race.<locals>.task_done"), BY_CELL("on_completed_fut", FUTURE) },
	/* wrap_future(), run_coroutine_threadsafe(): a future of concurrent.futures wakes nobody */
	{ FUNCTION("_chain_future.<locals>._call_set_state"), BY_CELL("destination", ANY) },
	{ FUNCTION("_chain_future.<locals>._call_check_cancel"), .road = NOBODY },
	{ FUNCTION("_run_until_complete_cb"), .road = ROOT },
	/* uvloop; on 3.8, and from 0.22 on, without the class */
	{ CYTHON("Loop.run_until_complete.<locals>.done_cb"), .road = ROOT },
	{ CYTHON("run_until_complete.<locals>.done_cb"), .road = ROOT },
	{ FUNCTION("StreamReaderProtocol.connection_made.<locals>.callback"), .road = NOBODY },
	/* anyio's task groups, threads and processes */
	{ FUNCTION("TaskGroup._spawn.<locals>.task_done"), BY_CELL("self", TASK),
	  THEN("cancel_scope", "_host_task") },
	{ METHOD("WorkerThread.stop"), .road = NOBODY },
	{ PARTIAL("_forcibly_shutdown_process_pool_on_exit"), .road = NOBODY },
	/* To be cancelled is not to await. */
	{ BUILTIN("cancel"), .road = NOBODY },
	{ METHOD("Task.cancel"), .road = NOBODY },
	{ METHOD("Future.cancel"), .road = NOBODY },
	{ METHOD("Handle.cancel"), .road = NOBODY },
	{ METHOD("TimerHandle.cancel"), .road = NOBODY },
	{ METHOD("WeakSet.discard"), .road = NOBODY },
};

static const struct shape *shape_of(const struct py_callable *c)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++)
		if (shapes[i].kind == c->kind && !strcmp(shapes[i].name, c->name))
			return &shapes[i];
	return NULL;
}

/* Returns true for a method of a container, which keeps its tasks: set.discard, list.append. */
static bool is_of_container(struct py_walk *w, const struct py_callable *c)
{
	static const char *const types[] = { "set", "list", "dict", "collections.deque" };
	size_t i;

	if (c->kind != PY_CALL_BUILTIN || !c->self)
		return false;
	for (i = 0; i < ARRAY_SIZE(types); i++)
		if (py_type_named(w, c->self, types[i]))
			return true;
	return false;
}

/* ---- the search ---- */

struct search {
	struct py_walk *w;
	const struct async_homes *h;
	struct future_types *types;
	struct py_callable_types callables;
	bool (*found)(void *ctx, uint64_t task);
	void *ctx;
	struct awaiters *out;
	bool ended;			/* by found() */
	uint32_t callbacks;		/* that were examined */
	uint32_t future_cnt;
	uint64_t futures[AWAITERS_FUTURES_MAX];
	uint64_t few[FEW_TASKS];
	uint64_t *table;		/* of TASK_TABLE addresses; NULL: the tasks are in few */
};

/* Returns true if the address was added to the table, false if it has it. */
static bool table_add(uint64_t *table, uint64_t task)
{
	uint32_t i = (uint32_t)((task >> 4) * 0x9e3779b97f4a7c15ull >> 32) % TASK_TABLE;

	while (table[i] && table[i] != task)
		i = (i + 1) % TASK_TABLE;
	if (table[i] == task)
		return false;
	table[i] = task;
	return true;
}

/* Returns true if the task was not found before. cnt stays below the number of callbacks. */
static bool is_new_task(struct search *s, uint64_t task)
{
	uint32_t i;

	if (s->table)
		return table_add(s->table, task);
	for (i = 0; i < s->out->cnt; i++)
		if (s->few[i] == task)
			return false;
	if (s->out->cnt < FEW_TASKS) {
		s->few[s->out->cnt] = task;
		return true;
	}
	s->table = calloc(TASK_TABLE, sizeof(*s->table));
	if (!s->table) {
		s->out->cut = true;
		return false;
	}
	for (i = 0; i < FEW_TASKS; i++)
		table_add(s->table, s->few[i]);
	return table_add(s->table, task);
}

static void add_task(struct search *s, uint64_t task)
{
	if (!is_new_task(s, task))
		return;
	s->out->cnt++;
	s->ended = !s->found(s->ctx, task);
}

static void add_future(struct search *s, uint64_t future)
{
	uint32_t i;

	for (i = 0; i < s->future_cnt; i++)
		if (s->futures[i] == future)
			return;
	if (s->future_cnt < AWAITERS_FUTURES_MAX)
		s->futures[s->future_cnt++] = future;
	else
		s->out->cut = true;
}

static void add_other(struct search *s, const struct py_callable *c)
{
	if (!s->out->others++)
		memcpy(s->out->other, c->name, sizeof(s->out->other));
}

/* The futures of the tasks that wait in get(); the first of them is woken. */
static void add_getters(struct search *s, uint64_t deque)
{
	uint64_t items[PY_DEQUE_BLOCK], len;
	uint32_t cnt, i;

	if (!py_type_named(s->w, deque, "collections.deque") ||
	    py_deque_read(s->w, deque, items, &cnt, &len)) {
		s->out->cut = true;
		return;
	}
	s->out->cut |= cnt < len;
	for (i = 0; i < cnt; i++)
		if (future_kind(s->w, s->h, s->types, items[i]) != FUTURE_NONE)
			add_future(s, items[i]);
		else
			s->out->cut = true;
}

/* ---- one callback ---- */

static int start_of(struct search *s, const struct shape *shape, uint64_t callback,
		    const struct py_callable *c, uint64_t *obj)
{
	switch (shape->road) {
	case WORD:
		return py_get(s->w, callback + s->w->head, obj, sizeof(*obj));
	case ARGUMENT:
		return py_tuple_item(s->w, c->args, 0, obj);
	case CELL:
		return py_callable_cell(s->w, c, shape->cell, obj);
	default:
		*obj = c->self;
		return 0;
	}
}

/* Where the shape's road leads. *obj 0: nowhere so far, as the variable has no value. */
static int follow(struct search *s, const struct shape *shape, uint64_t callback,
		  const struct py_callable *c, uint64_t *obj)
{
	size_t i;
	uint64_t next;
	int err = start_of(s, shape, callback, c, obj);

	for (i = 0; !err && *obj && i < ARRAY_SIZE(shape->attributes) && shape->attributes[i];
	     i++) {
		err = py_attribute(s->w, *obj, shape->attributes[i], &next);
		if (err && s->w->reads_left)
			err = py_slot(s->w, *obj, shape->attributes[i], &next);
		*obj = err ? 0 : next;
	}
	return err;
}

/* What a shape's road led to. */
static void arrive(struct search *s, const struct shape *shape, const struct py_callable *c,
		   uint64_t obj)
{
	enum future_kind kind;
	uint64_t type;

	if (shape->end == QUEUE) {
		add_getters(s, obj);
		return;
	}
	kind = future_kind(s->w, s->h, s->types, obj);
	if (shape->end == TASK && kind == FUTURE_TASK)
		add_task(s, obj);
	else if (shape->end != TASK && kind != FUTURE_NONE)
		add_future(s, obj);
	else if (shape->end == ANY)
		s->out->cut |= py_pointer(s->w, obj + s->w->head - 8, &type) != 0;
	else if (!py_type_named(s->w, obj, "NoneType"))
		add_other(s, c);
}

static void examine(struct search *s, uint64_t callback)
{
	const struct shape *shape;
	struct py_callable c;
	uint64_t obj;

	if (py_callable_read(s->w, &s->callables, callback, &c)) {
		s->out->cut = true;
		return;
	}
	shape = shape_of(&c);
	if (!shape) {
		if (!is_of_container(s->w, &c))
			add_other(s, &c);
		return;
	}
	s->out->root |= shape->road == ROOT;
	if (shape->road == ROOT || shape->road == NOBODY)
		return;
	if (follow(s, shape, callback, &c, &obj) || (!obj && shape->road != CELL))
		add_other(s, &c);
	else if (obj)
		arrive(s, shape, &c, obj);
}

/* ---- one future ---- */

static bool is_enough(struct search *s)
{
	if (!s->ended && (s->callbacks >= AWAITERS_CALLBACKS_MAX || !s->w->reads_left))
		s->out->cut = true;
	return s->ended || s->out->cut;
}

/* An item of the list is a tuple of the callback and its context. */
static void examine_item(struct search *s, uint64_t tuple)
{
	uint64_t words[2];	/* ob_size, the first item */

	s->callbacks++;
	if (py_get(s->w, tuple + s->w->head, words, sizeof(words)) || words[0] != 2)
		s->out->cut = true;
	else
		examine(s, words[1]);
}

static void examine_list(struct search *s, uint64_t list)
{
	uint64_t words[2], items[LIST_ITEMS], at, i, n;	/* ob_size, ob_item */

	if (py_expect(s->w, list, PY_IS_LIST) ||
	    py_get(s->w, list + s->w->head, words, sizeof(words))) {
		s->out->cut = true;
		return;
	}
	for (at = 0; at < words[0] && !is_enough(s); at += n) {
		n = words[0] - at < LIST_ITEMS ? words[0] - at : LIST_ITEMS;
		if (py_get(s->w, words[1] + 8 * at, items, n * sizeof(items[0]))) {
			s->out->cut = true;
			return;
		}
		for (i = 0; i < n && !is_enough(s); i++)
			examine_item(s, items[i]);
	}
}

static void examine_callbacks(struct search *s, const struct awaiters_callbacks *c)
{
	if (c->callback0) {
		s->callbacks++;
		examine(s, c->callback0);
	}
	if (c->callbacks && !is_enough(s))
		examine_list(s, c->callbacks);
}

static int examine_future(struct search *s, uint64_t future)
{
	struct future_fields f;
	int err = future_read(s->w, s->h, s->types, future, &f);

	if (err)
		return err;
	s->out->woken |= f.done;
	examine_callbacks(s, &(struct awaiters_callbacks){ f.callback0, f.callbacks });
	return 0;
}

/* The futures that were found so far lead to others. */
static void search_on(struct search *s)
{
	uint32_t i;

	for (i = 0; i < s->future_cnt && !is_enough(s); i++)
		if (examine_future(s, s->futures[i]))
			s->out->cut = true;
	free(s->table);
}

void awaiters_of(struct py_walk *w, const struct async_homes *h, struct future_types *types,
		 const struct awaiters_callbacks *callbacks,
		 bool (*found)(void *ctx, uint64_t task), void *ctx, struct awaiters *out)
{
	struct search s = {
		.w = w, .h = h, .types = types, .found = found, .ctx = ctx, .out = out,
	};

	*out = (struct awaiters){ 0 };
	examine_callbacks(&s, callbacks);
	search_on(&s);
}

int awaiters_read(struct py_walk *w, const struct async_homes *h, struct future_types *types,
		  uint64_t future, bool (*found)(void *ctx, uint64_t task), void *ctx,
		  struct awaiters *out)
{
	struct future_fields f;
	int err = future_read(w, h, types, future, &f);

	*out = (struct awaiters){ 0 };
	if (!err)
		awaiters_of(w, h, types,
			    &(struct awaiters_callbacks){ f.callback0, f.callbacks }, found, ctx,
			    out);
	return err;
}
