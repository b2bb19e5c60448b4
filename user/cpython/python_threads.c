// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * python_threads.c - see python_threads.h.
 *
 * Sources, at v3.6.15 ... v3.13.0: Objects/moduleobject.c (md_dict), Lib/threading.py.
 * tests/e2e/cpython/test_layouts.py compares interp_modules with the headers.
 */
#include "cpython/python_threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cpython/attributes.h"
#include "cpython/frames.h"

/* All reads of one call: a dict is read WALK_ENTRIES at a time. */
#define READS_MAX 16384
#define MODULES_MAX 32768
#define INTERPS_MAX 1024

struct walk {
	struct py_walk base;
	/* Cache of types: nearly all objects share them. */
	uint64_t shared_type;	/* whose objects have their name at name_index */
	uint32_t name_index;
};

/* The value of _name among those with the keys of the type. Keys are only appended. */
static int shared_name(struct walk *w, uint64_t type, uint64_t values, uint64_t *value)
{
	struct py_dict d;
	int err;

	if (type == w->shared_type)
		return py_pointer(&w->base, values + (w->base.o->minor >= 13 ? 8 : 0) +
				  8ull * w->name_index, value);
	err = py_shared_keys(&w->base, type, values, &d);
	if (!err)
		err = py_dict_find(&w->base, &d, "_name", PY_ATTRIBUTES_MAX, value, &w->name_index);
	w->shared_type = err ? 0 : type;
	return err;
}

/* A Thread's _name. */
static int name_of(struct walk *w, uint64_t obj, uint64_t *value)
{
	uint64_t type, dict, values;
	int err = py_attributes(&w->base, obj, &type, &dict, &values);

	if (err)
		return err;
	return values ? shared_name(w, type, values, value) :
			py_dict_value(&w->base, dict, "_name", PY_ATTRIBUTES_MAX, value);
}

/* ---- threading ---- */

/* New interpreters are inserted before the others. */
static int first_interpreter(struct walk *w, uint64_t head, uint32_t next_at, uint64_t *is)
{
	uint64_t next;
	unsigned int i;
	int err = py_pointer(&w->base, head, is);

	for (i = 0; !err && i < INTERPS_MAX; i++) {
		err = py_get(&w->base, *is + next_at, &next, sizeof(next));
		if (!err && !next)
			return 0;
		*is = next;
	}
	return err ? err : -E2BIG;
}

static int find_active(struct walk *w, const struct python_threads_at *at, uint64_t *active)
{
	uint64_t is, modules, module, dict;
	int err = first_interpreter(w, at->interps, at->interp_next, &is);

	if (!err)
		err = py_pointer(&w->base, is + w->base.o->interp_modules, &modules);
	if (!err)
		err = py_dict_value(&w->base, modules, "threading", MODULES_MAX, &module);
	if (!err)
		err = py_pointer(&w->base, module + w->base.head, &dict);	/* md_dict */
	return err ? err : py_dict_value(&w->base, dict, "_active", PY_ATTRIBUTES_MAX, active);
}

static int read_thread(struct walk *w, const struct py_entry *e, bool musl,
		       struct python_thread *out)
{
	uint64_t self = 0, name = 0;
	uint32_t len, tid = 0;
	char *s;
	int err = py_ident_of(&w->base, e->key, &self);

	if (!err)
		err = py_thread_tid(&w->base, musl, self, &tid);
	if (!err)
		err = name_of(w, e->value, &name);
	if (!err)
		err = code_read_string(w->base.mem, w->base.o, name, &s, &len);
	if (err)
		return err;
	out->tid = tid;
	utf8_copy(out->name, sizeof(out->name), s, len);
	free(s);
	return tid && *out->name ? 0 : -ENOENT;
}

static int list_threads(struct walk *w, const struct py_dict *d, bool musl,
			struct python_threads *out)
{
	struct py_entry entries[WALK_ENTRIES];
	uint32_t from, cnt, i;
	int err;

	for (from = 0; from < d->cnt && from < MODULES_MAX; from += WALK_ENTRIES) {
		err = py_read_entries(&w->base, d, from, entries, &cnt);
		for (i = 0; !err && i < cnt && out->cnt < PYTHON_THREADS_MAX; i++)
			if (entries[i].key && entries[i].value &&
			    !read_thread(w, &entries[i], musl, &out->list[out->cnt]))
				out->cnt++;
		if (err)
			return err;
	}
	return w->base.reads_left ? 0 : -E2BIG;
}

bool python_threads_known(const struct py_object_layout *o)
{
	return o->interp_modules && o->minor <= 13;
}

int python_threads_read(const struct target_mem *mem, const struct python_threads_at *at,
			struct python_threads *out)
{
	struct walk w = { .shared_type = 0 };
	struct py_dict d;
	int err = 0;

	py_walk_init(&w.base, mem, &at->objects, READS_MAX);
	out->cnt = 0;
	out->active = at->active;
	if (!python_threads_known(&at->objects) || !at->interps)
		return -ENOENT;
	if (!out->active)
		err = find_active(&w, at, &out->active);
	if (!err)
		err = py_open_dict(&w.base, out->active, &d);
	if (!err)
		err = list_threads(&w, &d, at->musl, out);
	if (err && !out->cnt)
		out->active = 0;
	return err;
}

/* If s begins with "prefix" and a number, returns the rest, else NULL. */
static const char *behind_number(const char *s, const char *prefix)
{
	size_t len = strlen(prefix), digits = strncmp(s, prefix, len) ? 0 :
						strspn(s + len, "0123456789");

	return digits ? s + len + digits : NULL;
}

bool python_thread_is_numbered(const char *name)
{
	const char *end = behind_number(name, "Thread-");

	return (end && (!*end || !strncmp(end, " (", 2))) || python_thread_is_dummy(name);
}

bool python_thread_is_dummy(const char *name)
{
	const char *end = behind_number(name, "Dummy-");

	return end && !*end;
}
