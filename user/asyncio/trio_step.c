// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * trio_step.c - see trio_step.h.
 *
 * Sources: trio/_core/_run.py at v0.22.0 ... v0.33.0: the generator unrolled_run() has the task
 * that it runs in its variable `task`, and calls task.context.run(task.coro.send, ...), which is
 * all C.
 */
#include "asyncio/trio_step.h"

#include <errno.h>
#include <string.h>

#include "cpython/attributes.h"
#include "cpython/callable.h"
#include "cpython/layout.h"

#define MODULES_MAX 32768
#define NAMES_MAX 4096
#define INTERPS_MAX 1024
/* sizeof(PyObject) that py_code_layout() assumes. */
#define PLAIN_HEAD 16

/* The index of a code object's variable. -ENOENT: it has no such one. */
static int local_of(struct py_walk *w, uint64_t code, const char *name, uint32_t *index)
{
	const struct py_code_layout *row = py_code_layout(w->o->minor);
	uint64_t names, item;
	uint32_t i;
	int err = !row ? -EOPNOTSUPP :
		  py_pointer(w, code + w->head - PLAIN_HEAD + row->names, &names);

	for (i = 0; !err && i < TRIO_LOCALS_MAX; i++) {
		err = py_tuple_item(w, names, i, &item);
		if (err || !py_is_text(w, item, name))
			continue;
		*index = i;
		return 0;
	}
	return err ? err : -ENOENT;
}

/* -ENOENT: the interpreter has not loaded trio, or not completely so far. */
static int add_interp(struct py_walk *w, uint64_t interp, struct trio_steps *out)
{
	struct py_callable_types types = { .next = 0 };
	struct py_callable function;
	uint64_t modules, module, dict, obj;
	uint32_t local;
	int err = py_pointer(w, interp + w->o->interp_modules, &modules);

	if (!err)
		err = py_dict_value(w, modules, "trio._core._run", MODULES_MAX, &module);
	if (!err)
		err = py_pointer(w, module + w->head, &dict);	/* md_dict */
	if (!err)
		err = py_dict_value(w, dict, "unrolled_run", NAMES_MAX, &obj);
	if (!err)
		err = py_callable_read(w, &types, obj, &function);
	if (!err && function.kind != PY_CALL_FUNCTION)
		err = -EBADMSG;
	if (!err)
		err = local_of(w, function.code, "task", &local);
	if (err || out->cnt == TRIO_STEPS_MAX)
		return err;
	out->step[out->cnt].interp = interp;
	out->step[out->cnt].code = function.code;
	out->step[out->cnt++].local = local;
	return 0;
}

int trio_steps_find(struct py_walk *w, const struct py_layout *l, uint64_t interps,
		    struct trio_steps *out)
{
	uint64_t interp;
	uint32_t left;
	int err;

	memset(out, 0, sizeof(*out));
	if (!w->o->interp_modules || w->o->minor < 8 || !py_code_layout(w->o->minor))
		return -EOPNOTSUPP;
	err = py_get(w, interps, &interp, 8);
	for (left = INTERPS_MAX; !err && interp && left; left--) {
		add_interp(w, interp, out);
		err = py_get(w, interp + l->interp_next, &interp, 8);
	}
	return out->cnt ? 0 : err;
}
