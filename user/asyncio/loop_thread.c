// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * loop_thread.c - see loop_thread.h.
 *
 * Sources, at v3.8.0 ... v3.13.0: Modules/_asynciomodule.c (set_running_loop(): up to 3.12 the dict
 * has the loop, up to 3.11 in a PyRunningLoopHolder, whose rl_loop comes first),
 * Lib/asyncio/base_events.py (run_forever()).
 */
#include "asyncio/loop_thread.h"

#include <errno.h>
#include <string.h>

#include "cpython/attributes.h"
#include "cpython/frames.h"

#define THREAD_KEYS_MAX 256

int loop_of_thread(struct py_walk *w, uint64_t ts, uint64_t *loop)
{
	uint64_t dict, holder = 0;
	int err;

	if (w->o->ts_running_loop)	/* 3.13 */
		return py_pointer(w, ts + w->o->ts_running_loop, loop);
	err = py_pointer(w, ts + py_thread_dict(w->o->minor), &dict);
	if (!err)
		err = py_dict_value(w, dict, "__asyncio_running_event_loop__", THREAD_KEYS_MAX,
				    &holder);
	*loop = holder;
	if (!err && w->o->minor < 12)
		err = py_pointer(w, holder + w->head, loop);
	return !err && py_type_named(w, *loop, "NoneType") ? -ENOENT : err;
}

/*
 * Note the loops that run in an interpreter's threads, or, if !loops, its main thread, whose state
 * is the last one: new ones are put before it.
 */
static void read_interp(struct py_walk *w, const struct py_layout *l, uint64_t interp, bool loops,
			struct loop_threads *c)
{
	uint64_t ts = 0, next, ident = 0, loop;
	uint32_t left = PY_THREADS_MAX;

	if (py_get(w, interp + l->interp_threads_head, &ts, 8))
		return;
	for (; ts && left; ts = next, left--) {
		if (py_get(w, ts + l->ts_next, &next, 8) ||
		    ((loops || !next) && py_get(w, ts + l->ts_thread_id, &ident, 8)))
			return;
		if (!loops && !next)
			c->main = ident;
		if (loops && c->run_cnt < LOOP_THREADS_MAX && !loop_of_thread(w, ts, &loop)) {
			c->runs[c->run_cnt].loop = loop;
			c->runs[c->run_cnt++].ident = ident;
		}
	}
}

/* The thread of a loop that does not say it itself. */
static uint64_t find_ident(struct py_walk *w, const struct py_layout *l,
			   const struct async_homes *h, struct loop_threads *c, uint64_t loop)
{
	uint32_t i;

	for (i = 0; !c->listed && i < h->cnt && i < ASYNC_HOMES_MAX; i++)
		read_interp(w, l, h->home[i].interp, true, c);
	c->listed = true;
	for (i = 0; i < c->run_cnt; i++)
		if (c->runs[i].loop == loop)
			return c->runs[i].ident;
	return 0;
}

/* Its thread's pthread_self(); 0: none. */
static uint64_t ident_of(struct py_walk *w, const struct py_layout *l, const struct async_homes *h,
			 struct loop_threads *c, uint64_t loop)
{
	uint64_t value, ident;

	if (py_attribute(w, loop, "_thread_id", &value))
		return find_ident(w, l, h, c, loop);
	return py_ident_of(w, value, &ident) ? 0 : ident;	/* None: it does not run */
}

const struct loop_thread *loop_thread_of(struct py_walk *w, const struct py_layout *l,
					 const struct async_homes *h,
					 const struct async_home *home, struct loop_threads *cache,
					 uint64_t loop)
{
	struct loop_thread *t;
	uint32_t i;

	for (i = 0; loop && i < LOOP_THREADS_CACHED; i++)
		if (cache->known[i].loop == loop)
			return &cache->known[i];
	t = &cache->known[cache->next++ % LOOP_THREADS_CACHED];
	*t = (struct loop_thread){ .loop = loop };
	if (!cache->main)
		read_interp(w, l, home->interp, false, cache);
	if (loop)
		t->ident = ident_of(w, l, h, cache, loop);
	if (t->ident && py_thread_tid(w, h->musl, t->ident, &t->tid))
		t->tid = 0;
	t->main = t->tid && t->ident == cache->main;
	return t;
}
