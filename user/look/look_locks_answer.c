// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* look_locks_answer.c - the worker's part of look_locks.h. */
#include <stdlib.h>

#include "cpython/pages.h"
#include "cpython/rlock.h"
#include "host/proc.h"
#include "look/look_locks.h"
#include "look/look_status.h"

/* Reads of memory of one answer: some µs each. */
#define READS_MAX 65536
/* So many threads that wait on a futex are searched for its lock, before it is given up. */
#define TRIES_MAX 8

struct answer {
	struct look_locks *s;
	struct py_walk walk;
	struct py_thread *states;	/* by tid; NULL: not needed */
	uint32_t state_cnt;
	uint32_t *own;		/* tids in the process' own pid namespace; NULL: the same */
	struct py_rlock last;	/* what the threads on this futex wait for */
	uint64_t last_futex;
	uint32_t last_tries;
};

/* ---- ids ---- */

static void find_own_tids(struct answer *a)
{
	uint32_t i;

	a->own = a->s->nested ? calloc(a->s->cnt, sizeof(*a->own)) : NULL;
	for (i = 0; a->own && i < a->s->cnt; i++)
		a->own[i] = look_own_tid(a->s->tgid, a->s->threads[i].tid);
}

static uint32_t own_of(const struct answer *a, uint32_t i)
{
	return a->own ? a->own[i] : a->s->threads[i].tid;
}

static int by_tid_of_lock(const void *key, const void *item)
{
	const struct look_lock_of *x = key, *y = item;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* The index of the thread with this tid of its own namespace; LOOK_NO_HOLDER: there is none. */
static uint32_t index_of(const struct answer *a, uint32_t own)
{
	const struct look_lock_of key = { .tid = own }, *all = a->s->threads, *found;
	uint32_t i;

	if (!a->own) {
		found = bsearch(&key, all, a->s->cnt, sizeof(key), by_tid_of_lock);
		return found ? (uint32_t)(found - all) : LOOK_NO_HOLDER;
	}
	for (i = 0; i < a->s->cnt; i++)
		if (a->own[i] == own)
			return i;
	return LOOK_NO_HOLDER;
}

/* ---- locks ---- */

static void list_states(struct answer *a)
{
	if (!py_rlock_needs_state(&a->s->at.objects))
		return;
	a->states = calloc(PY_THREADS_MAX, sizeof(*a->states));
	if (!a->states)
		return;
	py_threads_list(&a->walk, &a->s->at, a->states, PY_THREADS_MAX, &a->state_cnt);
	py_threads_sort(a->states, a->state_cnt);
}

/* By each of the thread's states: it has several if it runs several interpreters. */
static bool find_by_states(struct answer *a, uint32_t tid, uint64_t futex, struct py_rlock *out)
{
	const struct py_thread *t = py_threads_find(a->states, a->state_cnt, tid);

	for (; t && t < a->states + a->state_cnt && t->tid == tid; t++)
		if (!py_rlock_find(&a->walk, &a->s->at, t->state, futex, out))
			return true;
	return false;
}

/* Many threads may wait on one futex: what is known of one holds for all. */
static bool find_rlock(struct answer *a, uint32_t i, struct py_rlock *out)
{
	uint64_t futex = a->s->threads[i].futex;

	if (!py_rlock_needs_state(&a->s->at.objects))
		return !py_rlock_find(&a->walk, &a->s->at, 0, futex, out);
	if (futex != a->last_futex) {
		a->last = (struct py_rlock){ 0 };
		a->last_futex = futex;
		a->last_tries = 0;
	}
	if (!a->last.addr && a->last_tries++ < TRIES_MAX)
		find_by_states(a, own_of(a, i), futex, &a->last);
	*out = a->last;
	return out->addr != 0;
}

static bool still_waits(const struct answer *a, const struct look_lock_of *t)
{
	struct look_syscall call;
	bool timed;

	return !look_read_syscall(a->s->tgid, t->tid, &call) &&
	       look_futex_of(&call, &timed) == t->futex;
}

static void find_lock(struct answer *a, uint32_t i)
{
	struct look_lock_of *t = &a->s->threads[i];
	struct py_rlock lock;
	uint32_t owner = 0, holder;

	if (!find_rlock(a, i, &lock) || !still_waits(a, t))
		return;
	t->lock = lock.addr;
	if (!lock.owner || py_thread_tid(&a->walk, &a->s->at, lock.owner, &owner) || !owner)
		return;
	holder = index_of(a, owner);
	t->holder = holder == i ? LOOK_NO_HOLDER : holder;
}

static void find_locks(struct look_locks *s)
{
	static struct pages pages;
	const struct target_mem direct = { proc_mem_read, (void *)(intptr_t)s->tgid };
	const struct target_mem mem = { pages_read, &pages };
	struct answer a = { .s = s };
	uint32_t i;

	pages_begin(&pages, &direct);
	py_walk_init(&a.walk, &mem, &s->at.objects, READS_MAX);
	find_own_tids(&a);
	list_states(&a);
	for (i = 0; i < s->cnt; i++)
		if (s->threads[i].futex)
			find_lock(&a, i);
	free(a.states);
	free(a.own);
}

void look_locks_answer(struct look_locks *s)
{
	uint64_t before[LOOK_CONFIRMED_MAX];
	uint32_t i;

	if (s->cnt > LOOK_THREADS_MAX || (s->confirm && s->cnt > LOOK_CONFIRMED_MAX))
		return;
	for (i = 0; i < s->cnt; i++) {
		s->threads[i].lock = 0;
		s->threads[i].holder = LOOK_NO_HOLDER;
		if (s->confirm)
			before[i] = look_switches(s->tgid, s->threads[i].tid);
	}
	find_locks(s);
	for (i = 0; s->confirm && i < s->cnt; i++)
		s->threads[i].steady = before[i] &&
				       look_switches(s->tgid, s->threads[i].tid) == before[i];
}
