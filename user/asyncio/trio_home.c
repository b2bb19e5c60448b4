// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * trio_home.c - the sets of trio's tasks: one of each thread that runs trio. See trio.h.
 *
 * A threading.local has a dict with a dict of each thread's attributes: its keys are weak
 * references to a dummy object that the thread keeps in a dict of its own, from 3.13 on the dummy
 * itself, which the thread's state points to. Sources, at v3.8.0 ... v3.15.0:
 * Modules/_threadmodule.c (localobject), Objects/weakrefobject.h; trio/_core/_run.py (RunContext).
 */
#include "asyncio/trio.h"

#include <errno.h>
#include <string.h>

#include "asyncio/task_read.h"
#include "cpython/attributes.h"
#include "cpython/frames.h"
#include "cpython/slots.h"

#define MODULES_MAX 32768
#define NAMES_MAX 4096
#define INTERPS_MAX 1024
/* Bytes of a thread's state in which its dict, or dummy, is. */
#define STATE_BYTES 1024
/* A thread's dict: other libraries have theirs in it, too. */
#define STATE_NAMES_MAX 256

struct finder {
	struct py_walk walk;
	const struct tasks_at *at;
	struct task_lists *out;
	struct py_frames_at frames_at;
	struct py_thread threads[PY_THREADS_MAX];
	uint32_t thread_cnt;
	uint32_t state_at;	/* where a state has its dict, or dummy; 0: unknown so far */
	bool loaded;
};

/* ---- which thread has a dummy ---- */

static bool is_dummy(struct finder *f, uint64_t word, uint64_t dummy)
{
	struct py_entry e[WALK_ENTRIES];
	struct py_dict d;
	uint32_t from, n, i;

	if (f->walk.o->minor >= 13)
		return word == dummy;
	if (!word || word & 7 || py_expect(&f->walk, word, PY_IS_DICT) ||
	    py_open_dict(&f->walk, word, &d) || d.values)
		return false;
	for (from = 0; from < d.cnt && from < STATE_NAMES_MAX; from += WALK_ENTRIES) {
		if (py_read_entries(&f->walk, &d, from, e, &n))
			return false;
		for (i = 0; i < n; i++)
			if (e[i].key && e[i].value == dummy)
				return true;
	}
	return false;
}

/* Search a thread's state for it. */
static bool search_state(struct finder *f, uint64_t state, uint64_t dummy)
{
	uint64_t words[STATE_BYTES / 8];
	size_t n = sizeof(words), i;

	/* What follows a state may be unmapped. */
	if (py_get(&f->walk, state, words, n)) {
		n = object_first_read(state, 256, n) & ~(size_t)7;
		if (py_get(&f->walk, state, words, n))
			return false;
	}
	for (i = 0; i < n / 8; i++) {
		if (!is_dummy(f, words[i], dummy))
			continue;
		f->state_at = (uint32_t)i * 8;
		return true;
	}
	return false;
}

static uint32_t thread_of(struct finder *f, uint64_t dummy)
{
	uint64_t word;
	uint32_t i;

	for (i = 0; dummy && i < f->thread_cnt && f->walk.reads_left; i++) {
		if (!f->state_at && search_state(f, f->threads[i].state, dummy))
			return f->threads[i].tid;
		if (f->state_at && !py_get(&f->walk, f->threads[i].state + f->state_at, &word, 8) &&
		    is_dummy(f, word, dummy))
			return f->threads[i].tid;
	}
	return 0;
}

/* ---- runners ---- */

static uint64_t dummy_of(struct finder *f, uint64_t key)
{
	uint64_t dummy;

	if (f->walk.o->minor >= 13)
		return key;
	return py_pointer(&f->walk, key + f->walk.head, &dummy) ? 0 : dummy;	/* wr_object */
}

/* Add the tasks of a thread's runner, if it has one. */
static int add_runner(struct finder *f, const struct py_entry *e, struct task_list list)
{
	static const char *const names[] = { "runner", "task" };
	uint64_t v[2];
	int err = py_expect(&f->walk, e->value, PY_IS_DICT);

	if (!err)
		err = py_dict_values(&f->walk, e->value, names, 2, NAMES_MAX, v);
	if (err || !v[0])
		return err;
	err = py_slot(&f->walk, v[0], "tasks", &list.head);
	if (err)
		return err;
	list.running = v[1];
	list.tid = thread_of(f, dummy_of(f, e->key));
	if (f->out->cnt == TASK_LISTS_MAX)
		return -E2BIG;
	f->out->list[f->out->cnt++] = list;
	return 0;
}

/* The attributes of trio's threading.local in all threads. */
static int add_runners(struct finder *f, uint64_t local, const struct task_list *list)
{
	/* key, args, kw, weakreflist, dummies; from 3.13 on without the key. */
	uint32_t at = f->walk.o->minor >= 13 ? 24 : 32;
	struct py_entry e[WALK_ENTRIES];
	struct py_dict d;
	uint64_t dict;
	uint32_t from, n, i;
	int err = py_pointer(&f->walk, local + f->walk.head + at, &dict);

	if (!err)
		err = py_expect(&f->walk, dict, PY_IS_DICT);
	if (!err)
		err = py_open_dict(&f->walk, dict, &d);
	for (from = 0; !err && from < d.cnt && from < TRIO_THREADS_MAX; from += WALK_ENTRIES) {
		err = py_read_entries(&f->walk, &d, from, e, &n);
		for (i = 0; !err && i < n; i++)
			if (e[i].key && e[i].value && add_runner(f, &e[i], *list))
				f->out->cut = 1;
	}
	return err;
}

/* -ENOENT: the interpreter has not loaded trio. */
static int add_interp(struct finder *f, uint64_t interp)
{
	struct task_list list = { 0 };
	uint64_t modules, module, dict, local;
	int err = py_pointer(&f->walk, interp + f->walk.o->interp_modules, &modules);

	if (!err)
		err = py_dict_value(&f->walk, modules, "trio._core._run", MODULES_MAX, &module);
	if (err)
		return err;
	f->loaded = true;
	if (f->at->l.interp_id != ABI_NO_OFF32)
		err = py_get(&f->walk, interp + f->at->l.interp_id, &list.interp_id, 8);
	if (!err)
		err = py_pointer(&f->walk, module + f->walk.head, &dict);	/* md_dict */
	if (!err)
		err = py_dict_value(&f->walk, dict, "GLOBAL_RUN_CONTEXT", NAMES_MAX, &local);
	return err ? err : add_runners(f, local, &list);
}

int trio_lists_read(const struct target_mem *mem, const struct tasks_at *at,
		    struct task_lists *out)
{
	static struct finder f;
	uint64_t interp;
	uint32_t left;
	int err, one;

	memset(&f, 0, sizeof(f));
	f.at = at;
	f.out = out;
	f.frames_at = (struct py_frames_at){ .interps = at->interps, .layout = at->l,
					     .objects = at->objects, .musl = at->homes.musl };
	py_walk_init(&f.walk, mem, &at->objects, TASK_READS_MAX);
	out->cnt = 0;
	out->cut = 0;
	if (!at->objects.interp_modules)
		return -EOPNOTSUPP;
	py_threads_list(&f.walk, &f.frames_at, f.threads, PY_THREADS_MAX, &f.thread_cnt);
	err = py_get(&f.walk, at->interps, &interp, 8);
	for (left = INTERPS_MAX; !err && interp && left; left--) {
		one = add_interp(&f, interp);
		if (one && one != -ENOENT)
			out->cut = 1;
		err = py_get(&f.walk, interp + at->l.interp_next, &interp, 8);
	}
	return err ? err : f.loaded ? 0 : -ENOENT;
}
