// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * home.c - see home.h.
 *
 * Sources, at v3.8.0 ... v3.13.0: Lib/asyncio/tasks.py (_all_tasks up to 3.11; _scheduled_tasks and
 * _eager_tasks from 3.12 on; _current_tasks; each is replaced by _asyncio's, if that can be
 * imported), Lib/asyncio/futures.py, Lib/asyncio/__init__.py (unix_events is imported last),
 * Lib/_weakrefset.py, Modules/_asynciomodule.c (FutureObj_HEAD, TaskObj).
 * tests/e2e/cpython/test_asyncio_layouts.py compares the offsets with living objects.
 */
#include "asyncio/home.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "cpython/attributes.h"
#include "cpython/callable.h"

/* Limits: on entries of sys.modules, of a module, and on interpreters that are examined. */
#define MODULES_MAX 32768
#define NAMES_MAX 4096
#define INTERPS_MAX 1024

/* With a head of 16 bytes: the last word of a head is ob_type, and all fields are behind it. */
static const struct {
	uint8_t minor;
	struct async_fields f;
} rows[] = {
	{ 8, { 16, 24, 40, 72, 104, 104, 112, 120, 144 } },
	{ 9, { 16, 24, 40, 80, 144, 144, 152, 160, 184 } },
	{ 10, { 16, 24, 40, 88, 152, 152, 160, 168, 192 } },
	{ 11, { 16, 24, 40, 88, 128, 128, 136, 144, 176 } },
	{ 12, { 16, 24, 40, 88, 128, 128, 136, 144, 176 } },
	{ 13, { 16, 24, 40, 96, 104, 112, 120, 128, 144 } },
};

bool async_fields_of(uint8_t minor, uint16_t head, struct async_fields *out)
{
	uint16_t more = head - 16;
	size_t i;

	if (head < 16 || head > 64)
		return false;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].minor != minor)
			continue;
		*out = rows[i].f;
		out->loop += more;
		out->callback0 += more;
		out->callbacks += more;
		out->state += more;
		out->future_bytes += more;
		out->fut_waiter += more;
		out->coro += more;
		out->name += more;
		out->task_bytes += more;
		return true;
	}
	return false;
}

/* Returns true if the type is made by C code, which names the module. */
static bool is_compiled(struct py_walk *w, uint64_t type)
{
	static const char module[] = "_asyncio.";
	char text[sizeof(module) - 1];
	uint64_t at;

	return !py_pointer(w, type + w->head + 8, &at) && !py_get(w, at, text, sizeof(text)) &&
	       !memcmp(text, module, sizeof(text));
}

/* The set in a WeakSet; 0 on error. */
static uint64_t data_of(struct py_walk *w, uint64_t weak_set)
{
	uint64_t data;

	return py_attribute(w, weak_set, "data", &data) ? 0 : data;
}

/* The code object of the method that runs a Python task's coroutine; 0: not found. */
static uint64_t step_of(struct py_walk *w, uint64_t type)
{
	const char *name = w->o->minor >= 12 ? "_Task__step_run_and_handle_result" : "_Task__step";
	struct py_callable_types types = { .next = 0 };
	struct py_callable method;
	uint64_t dict, function;

	if (!type || py_pointer(w, type + w->head + PY_TYPE_DICT, &dict) ||
	    py_dict_value(w, dict, name, NAMES_MAX, &function) ||
	    py_callable_read(w, &types, function, &method) || method.kind != PY_CALL_FUNCTION)
		return 0;
	return method.code;
}

static int read_tasks_module(struct py_walk *w, uint64_t module, struct async_home *h)
{
	enum { WEAK, CURRENT, TASK, PY_TASK, EAGER, NAMES };
	static const char *const old[] = { "_all_tasks", "_current_tasks", "Task", "_PyTask" };
	static const char *const new[] = { "_scheduled_tasks", "_current_tasks", "Task", "_PyTask",
					   "_eager_tasks" };
	bool eager = w->o->minor >= 12;
	uint64_t v[NAMES] = { 0 }, dict;
	int err = py_pointer(w, module + w->head, &dict);	/* md_dict */

	if (!err)
		err = py_dict_values(w, dict, eager ? new : old, eager ? NAMES : EAGER, NAMES_MAX,
				     v);
	if (!err && (!v[WEAK] || !v[CURRENT] || !v[TASK]))
		err = -ENOENT;
	if (!err)
		err = py_expect(w, v[TASK], PY_IS_TYPE);
	if (!err)
		err = py_expect(w, v[CURRENT], PY_IS_DICT);
	if (err)
		return err;
	h->weak = data_of(w, v[WEAK]);
	h->eager = v[EAGER];
	h->current = v[CURRENT];
	h->task = v[TASK];
	h->py_task = v[PY_TASK];
	h->pure = !is_compiled(w, h->task);
	h->py_step = step_of(w, h->py_task);
	return h->weak ? 0 : -EBADMSG;
}

static int read_futures_module(struct py_walk *w, uint64_t module, struct async_home *h)
{
	static const char *const names[] = { "Future", "_PyFuture" };
	uint64_t v[2], dict;
	int err = py_pointer(w, module + w->head, &dict);

	if (!err)
		err = py_dict_values(w, dict, names, 2, NAMES_MAX, v);
	if (!err && !v[0])
		err = -ENOENT;
	if (!err)
		err = py_expect(w, v[0], PY_IS_TYPE);
	h->future = err ? 0 : v[0];
	h->py_future = err ? 0 : v[1];
	return err;
}

/*
 * The types of _asyncio are in use also if a program has put the Python classes in their place:
 * nest_asyncio does so in a notebook whose loop has tasks.
 */
static void read_c_module(struct py_walk *w, uint64_t module, struct async_home *h)
{
	static const char *const names[] = { "Task", "Future" };
	uint64_t v[2], dict;

	if (!module || py_pointer(w, module + w->head, &dict) ||
	    py_dict_values(w, dict, names, 2, NAMES_MAX, v) || !v[0] || !v[1] ||
	    py_expect(w, v[0], PY_IS_TYPE) || py_expect(w, v[1], PY_IS_TYPE) ||
	    !is_compiled(w, v[0]) || !is_compiled(w, v[1]))
		return;
	h->task = v[0];
	h->future = v[1];
	h->pure = 0;
}

/* -ENOENT: the interpreter has not loaded asyncio, or not completely so far. */
static int read_home(struct py_walk *w, uint64_t interp, struct async_home *h)
{
	/* While asyncio is imported, the sets are still those that are about to be replaced. */
	static const char *const names[] = { "asyncio.tasks", "asyncio.futures",
					     "asyncio.unix_events", "_asyncio" };
	uint64_t v[4], modules;
	int err = py_pointer(w, interp + w->o->interp_modules, &modules);

	if (!err)
		err = py_dict_values(w, modules, names, 4, MODULES_MAX, v);
	if (!err && (!v[0] || !v[1] || !v[2]))
		err = -ENOENT;
	if (!err)
		err = read_tasks_module(w, v[0], h);
	if (!err)
		err = read_futures_module(w, v[1], h);
	if (!err)
		read_c_module(w, v[3], h);
	return err;
}

static int add_home(struct py_walk *w, const struct py_layout *l, uint64_t interp,
		    struct async_homes *out)
{
	struct async_home h = { .interp = interp };
	int err = 0;

	if (l->interp_id != ABI_NO_OFF32)
		err = py_get(w, interp + l->interp_id, &h.interp_id, 8);
	if (!err)
		err = read_home(w, interp, &h);
	if (err)
		return err;
	if (out->cnt == ASYNC_HOMES_MAX)
		out->cut = 1;
	else
		out->home[out->cnt++] = h;
	return 0;
}

int async_homes_find(struct py_walk *w, const struct py_layout *l, uint64_t interps,
		     struct async_homes *out)
{
	uint64_t interp;
	uint32_t left;
	int err, bad = 0;

	memset(out, 0, sizeof(*out));
	if (!w->o->interp_modules || !async_fields_of(w->o->minor, w->head, &out->fields))
		return -EOPNOTSUPP;
	out->minor = w->o->minor;
	err = py_get(w, interps, &interp, 8);
	for (left = INTERPS_MAX; !err && interp && left; left--) {
		err = add_home(w, l, interp, out);
		if (err && err != -ENOENT) {
			bad = err;
			out->cut = 1;
		}
		err = py_get(w, interp + l->interp_next, &interp, 8);
	}
	if (err || interp)
		out->cut = 1;
	return out->cnt ? 0 : err ? err : bad;
}
