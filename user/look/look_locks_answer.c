// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* look_locks_answer.c - the worker's part of look_locks.h. */
#include <stdlib.h>
#include <string.h>

#include "base/u64map.h"
#include "base/util.h"
#include "cpython/attributes.h"
#include "cpython/pages.h"
#include "cpython/taken.h"
#include "asyncio/task_read.h"
#include "cpython/with.h"
#include "host/proc.h"
#include "look/look_locks.h"
#include "look/look_thread.h"

/*
 * ---- what a thread holds ----
 *
 * Which threads, or asyncio tasks, are inside a `with` statement of certain locks, or seem to have
 * acquired them by hand. Others may run meanwhile: a holder must be checked again at the end.
 */

/* Of one thread or task: deeper frames are ignored. */
#define LOOK_FRAMES_MAX 4096

/* Of one lock: the outermost frame of the first thread. */
struct look_holder {
	uint32_t thread_cnt;	/* number of threads */
	uint32_t thread;
	struct py_frame frame;
	struct py_frame importer;	/* of an import lock: the importer; otherwise code 0 */
	uint32_t since;		/* byte offset of the instruction that took it */
	bool by_hand;		/* of look_holders.by_hand */
	bool releases;		/* a function that it calls inside may release by hand */
};

struct look_holders {
	struct py_walk *walk;
	const struct py_frames_at *at;
	struct u64map locks;	/* address -> 1 + the number of the lock, as a pointer */
	bool cut;		/* frames of some thread could not be read */
	struct u64map quiet;	/* code objects that neither take nor release by hand */
	/* By the number of the lock. */
	struct look_holder by_with[LOOK_LOCKS_MAX], by_hand[LOOK_LOCKS_MAX];
};

/* Of one thread: more released locks are ignored. */
#define RELEASED_MAX 64

/* State of the thread whose frames are examined, from the innermost one on. */
struct thread {
	uint32_t number;
	uint64_t waits;
	const struct py_frame *frames;
	uint32_t cnt;
	/* Locks that it has released, with frame and position. */
	struct released {
		uint64_t lock;
		uint32_t frame, lasti;
	} released[RELEASED_MAX];
	uint32_t released_cnt;
	uint32_t checked;	/* frames that may_release() has examined, */
	bool releases;		/* and its result */
};

/* Returns true if a frame up to number i may have released a lock by hand. Examined once. */
static bool may_release(const struct look_holders *h, struct thread *t, uint32_t i)
{
	while (!t->releases && t->checked <= i)
		t->releases = py_code_releases(h->walk, t->frames[t->checked++].code);
	return t->releases;
}

static bool in_importlib(const struct look_holders *h, const struct py_frame *frame)
{
	uint64_t file;

	return !py_pointer(h->walk, frame->code + h->at->layout.co_filename, &file) &&
	       (py_is_text(h->walk, file, "<frozen importlib._bootstrap>") ||
		py_is_text(h->walk, file, "<frozen importlib._bootstrap_external>"));
}

/* Returns the caller of the function of importlib that is frame number i; code 0: none. */
static struct py_frame importer_of(const struct look_holders *h, const struct thread *t, uint32_t i)
{
	while (i < t->cnt && in_importlib(h, &t->frames[i]))
		i++;
	return i < t->cnt ? t->frames[i] : (struct py_frame){ 0 };
}

/* Returns true if the lock was released by hand inside frame i's statement that begins at lasti. */
static bool was_released(const struct thread *t, uint64_t lock, uint32_t i, uint32_t lasti)
{
	const struct released *r;

	for (r = t->released; r < t->released + t->released_cnt; r++)
		if (r->lock == lock && (r->frame < i || r->lasti > lasti))
			return true;
	return false;
}

static struct look_holder *holder_of(struct look_holders *h, struct look_holder *list,
				     uint64_t lock)
{
	uintptr_t number = lock ? (uintptr_t)u64map_get(&h->locks, lock) : 0;

	return number ? &list[number - 1] : NULL;
}

/* The outermost frame of a thread is kept. */
static void set_holder(struct look_holders *h, struct look_holder *holder, struct thread *t,
		       uint32_t i, uint32_t since, uint64_t lock, bool by_hand)
{
	if (holder->thread_cnt && holder->thread != t->number) {
		holder->thread_cnt++;
		return;
	}
	*holder = (struct look_holder){ .thread_cnt = 1, .thread = t->number,
					.frame = t->frames[i], .since = since, .by_hand = by_hand };
	if (py_type_named(h->walk, lock, "_ModuleLock"))
		holder->importer = importer_of(h, t, i);
	else if (!by_hand)
		holder->releases = may_release(h, t, i);
}

static void add_released(struct thread *t, uint64_t lock, uint32_t frame, uint32_t lasti)
{
	if (t->released_cnt < RELEASED_MAX)
		t->released[t->released_cnt++] = (struct released){ lock, frame, lasti };
}

/* Examines what frame number i has done by hand. */
static void take_by_hand(struct look_holders *h, struct thread *t, uint32_t i)
{
	struct py_taken taken[PY_TAKEN_MAX];
	struct look_holder *holder;
	uint64_t code = t->frames[i].code;
	uint32_t cnt, n;

	if (u64map_get(&h->quiet, code))
		return;
	if (!py_code_takes(h->walk, code)) {
		u64map_put(&h->quiet, code, h);
		return;
	}
	py_frame_taken(h->walk, h->at, &t->frames[i], taken, &cnt);
	for (n = 0; n < cnt; n++) {
		holder = holder_of(h, h->by_hand, taken[n].lock);
		if (!holder || taken[n].lock == t->waits)
			continue;
		if (!taken[n].held)
			add_released(t, taken[n].lock, i, taken[n].lasti);
		else if (!was_released(t, taken[n].lock, i, taken[n].lasti))
			set_holder(h, holder, t, i, taken[n].lasti, taken[n].lock, true);
	}
}

/* Examines which statements frame number i is inside of. */
static void take_withs(struct look_holders *h, struct thread *t, uint32_t i)
{
	struct py_with withs[PY_WITHS_MAX];
	struct look_holder *holder;
	uint32_t cnt, n;
	uint64_t lock;

	py_frame_withs(h->walk, h->at, &t->frames[i], withs, &cnt);
	for (n = 0; n < cnt; n++) {
		lock = py_lock_of(h->walk, withs[n].self);
		holder = holder_of(h, h->by_with, lock);
		if (holder && !was_released(t, lock, i, withs[n].lasti))
			set_holder(h, holder, t, i, withs[n].lasti, lock, false);
	}
}

/*
 * Examines cnt frames of a thread or task, innermost first. thread: a number for the caller; waits:
 * the lock that it waits for, 0: none. whole: these are all frames.
 */
static void look_holders_add(struct look_holders *h, uint32_t thread, uint64_t waits,
			     const struct py_frame *frames, uint32_t cnt, bool whole)
{
	struct thread t = { .number = thread, .waits = waits, .frames = frames, .cnt = cnt };
	uint64_t given_up;
	uint32_t i;

	for (i = 0; i < cnt && i < 2; i++) {
		given_up = py_lock_given_up(h->walk, h->at, &frames[i]);
		if (given_up)
			add_released(&t, given_up, i, UINT32_MAX);
	}
	for (i = 0; i < cnt; i++) {
		take_by_hand(h, &t, i);
		take_withs(h, &t, i);
	}
	h->cut |= !whole || !h->walk->reads_left;
}

/* Reads again: true if the frame is inside a statement of the lock, or acquired it by hand. */
static bool look_holder_is(const struct look_holders *h, const struct look_holder *holder,
			   uint64_t lock)
{
	struct py_with withs[PY_WITHS_MAX];
	struct py_taken taken[PY_TAKEN_MAX];
	uint32_t cnt;

	if (holder->by_hand)
		py_frame_taken(h->walk, h->at, &holder->frame, taken, &cnt);
	else
		py_frame_withs(h->walk, h->at, &holder->frame, withs, &cnt);
	while (cnt--)
		if (holder->by_hand ? taken[cnt].lock == lock && taken[cnt].held :
		    withs[cnt].lasti == holder->since &&
		    py_lock_of(h->walk, withs[cnt].self) == lock)
			return true;
	return false;
}

/* Sets the function, path and lines of a lock from its holder. */
static void look_holder_place(const struct look_holders *h, const struct look_holder *holder,
			      struct look_lock *lock)
{
	bool imports = holder->importer.code != 0;
	const struct py_frame *frame = imports ? &holder->importer : &holder->frame;
	struct code_position now, begin = { .line = LINE_NONE };
	struct code_object code;
	uint32_t lasti;

	if (py_frame_lasti(h->walk, h->at, frame, &lasti) ||
	    code_read(h->walk->mem, &h->at->layout, h->walk->o, frame->code, &code))
		return;
	code_position(&code, lasti, &now);
	if (!imports)
		code_position(&code, holder->since, &begin);
	lock->line = now.line;
	lock->since_line = begin.line;
	utf8_copy(lock->function, sizeof(lock->function), code.name, code.name_len);
	utf8_copy(lock->path, sizeof(lock->path), code.file, code.file_len);
	code_free(&code);
}

/* Memory reads for one answer: about a µs each. */
#define READS_MAX 400000
#define TASK_READS_ALL 2000000
/* A futex is given up after this many of its waiting threads were searched for the lock. */
#define TRIES_MAX 8

struct answer {
	struct look_locks *s;
	struct py_walk walk;
	struct py_thread *states;	/* by tid */
	uint32_t state_cnt;
	struct pages pages;
	uint32_t *own;		/* tids in the process's own pid namespace; NULL: the same */
	struct py_lock last;	/* the lock of the threads on this futex */
	uint64_t last_futex;
	uint32_t last_tries;
	struct look_holders holders;
	/* Tasks. */
	struct tasks_at tasks_at;
	struct task_reader reader;
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

/* Returns the index of the thread with this tid in its own namespace, or LOOK_NO_HOLDER. */
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

/* Searches each of the thread's states: it has several if it runs several interpreters. */
static bool find_by_states(struct answer *a, uint32_t tid, uint64_t futex, struct py_lock *out)
{
	const struct py_thread *t = py_threads_find(a->states, a->state_cnt, tid);

	for (; t && t < a->states + a->state_cnt && t->tid == tid; t++)
		if (!py_lock_find(&a->walk, &a->s->at, t->state, futex, out))
			return true;
	return false;
}

/* Many threads may wait on one futex: the result for one applies to all. */
static bool find_lock(struct answer *a, uint32_t i, struct py_lock *out)
{
	uint64_t futex = a->s->threads[i].futex;

	if (futex != a->last_futex) {
		a->last = (struct py_lock){ 0 };
		a->last_futex = futex;
		a->last_tries = 0;
	}
	if (!a->last.addr && a->last_tries++ < TRIES_MAX &&
	    !find_by_states(a, own_of(a, i), futex, &a->last))
		a->last.addr = 0;
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

/* Returns 1 + the number of the lock; 0: no room for it. */
static uint32_t add_lock(struct answer *a, const struct py_lock *lock)
{
	uint32_t known = (uint32_t)(uintptr_t)u64map_get(&a->holders.locks, lock->addr), tid = 0;
	struct look_lock *out = &a->s->locks[a->s->lock_cnt];

	if (known || a->s->lock_cnt == LOOK_LOCKS_MAX ||
	    u64map_put(&a->holders.locks, lock->addr, (void *)(uintptr_t)(a->s->lock_cnt + 1)))
		return known;
	*out = (struct look_lock){ .addr = lock->addr, .kind = lock->kind,
				   .holder = LOOK_NO_HOLDER, .foreign = lock->foreign };
	memcpy(out->module, lock->module, sizeof(out->module));
	if (lock->owner && !py_thread_tid(&a->walk, a->s->at.musl, lock->owner, &tid) && tid)
		out->holder = index_of(a, tid);
	out->sure = out->holder != LOOK_NO_HOLDER;
	return ++a->s->lock_cnt;
}

static void find_locks(struct answer *a)
{
	struct py_lock lock;
	uint32_t i;

	for (i = 0; i < a->s->cnt; i++) {
		struct look_lock_of *t = &a->s->threads[i];

		if (!t->futex || !find_lock(a, i, &lock) || !(t->stands || still_waits(a, t)))
			continue;
		t->lock = add_lock(a, &lock);
		/* An RLock's holder never waits for it: these readings differ in time. */
		if (t->lock && lock.kind == PY_LOCK_RLOCK && a->s->locks[t->lock - 1].holder == i)
			a->s->locks[t->lock - 1].holder = LOOK_NO_HOLDER;
	}
}

/* ---- holders ---- */

static bool has_holders(const struct look_lock *lock)
{
	return lock->kind != PY_LOCK_CONDITION;
}

/* Returns the lock that a thread waits for; 0: none. */
static uint64_t waited_by(const struct answer *a, uint32_t thread)
{
	uint32_t lock = thread < a->s->cnt ? a->s->threads[thread].lock : 0;

	return lock ? a->s->locks[lock - 1].addr : 0;
}

/*
 * Only one thread is inside a `with` of a Lock that does not record its holder, or seems to have
 * acquired it.
 */
static void guess_holder(struct answer *a, uint32_t number)
{
	const struct look_holder *with = &a->holders.by_with[number];
	const struct look_holder *hand = &a->holders.by_hand[number], *h = with;
	struct look_lock *lock = &a->s->locks[number];
	bool sure = with->thread_cnt == 1 && !with->releases && !a->holders.cut;

	if (!sure && with->thread_cnt + hand->thread_cnt != 1)
		return;
	if (!with->thread_cnt)
		h = hand;
	if (h->thread == LOOK_NO_HOLDER || !py_lock_is_held(&a->walk, lock->addr) ||
	    !look_holder_is(&a->holders, h, lock->addr))
		return;
	/* A thread that waits for a lock that it may have released does not hold it. */
	if (!sure && waited_by(a, h->thread) == lock->addr)
		return;
	lock->sure = sure;
	lock->by_hand = h->by_hand;
	lock->holder = h->thread;
	look_holder_place(&a->holders, h, lock);
}

/* Tasks are inside of an `async with` of a semaphore, which several can have. */
static void count_holders(struct answer *a, uint32_t number)
{
	const struct look_holder *h = &a->holders.by_with[number];
	struct look_lock *lock = &a->s->locks[number];

	if (!h->thread_cnt || !look_holder_is(&a->holders, h, lock->addr))
		return;
	lock->holders = h->thread_cnt;
	lock->first = h->thread;
	look_holder_place(&a->holders, h, lock);
}

/* Finds where the thread took the lock that records it as the holder. */
static void place_holder(struct answer *a, uint32_t number)
{
	struct look_lock *lock = &a->s->locks[number];
	const struct look_holder *h = &a->holders.by_with[number];

	if (lock->kind == PY_LOCK_IMPORT && !h->thread_cnt)	/* from 3.15 on */
		h = &a->holders.by_hand[number];
	if (h->thread_cnt && h->thread == lock->holder && h->thread != LOOK_NO_HOLDER &&
	    look_holder_is(&a->holders, h, lock->addr))
		look_holder_place(&a->holders, h, lock);
}

static void add_threads(struct answer *a)
{
	static struct py_frame frames[LOOK_FRAMES_MAX];
	uint32_t i, thread, cnt;
	bool whole;

	for (i = 0; i < a->state_cnt; i++) {
		thread = index_of(a, a->states[i].tid);
		if (thread == LOOK_NO_HOLDER && a->s->confirm)
			continue;
		py_frames_list(&a->walk, &a->s->at, a->states[i].state, frames, LOOK_FRAMES_MAX,
			       &cnt, &whole);
		look_holders_add(&a->holders, thread, waited_by(a, thread), frames, cnt, whole);
	}
}

/* Reads the frames of task number i, as task_frames_read() lists them. */
static uint32_t frames_of(struct answer *a, uint32_t i, struct py_frame out[TASK_FRAMES_MAX],
			  bool *whole, uint64_t *where)
{
	return task_frames_read(&a->reader, a->s->threads[i].task, out, whole, where);
}

static void add_tasks(struct answer *a)
{
	struct py_frame frames[TASK_FRAMES_MAX];
	uint32_t i, cnt;
	uint64_t where;
	bool whole;

	for (i = 0; i < a->s->cnt; i++) {
		cnt = frames_of(a, i, frames, &whole, &where);
		look_holders_add(&a->holders, i, waited_by(a, i), frames, cnt, whole);
	}
}

static void find_holders(struct answer *a)
{
	struct look_locks *s = a->s;
	bool any = false;
	uint32_t i;

	for (i = 0; i < s->lock_cnt; i++)
		any |= has_holders(&s->locks[i]);
	if (!any)
		return;
	if (s->tasks)
		add_tasks(a);
	else
		add_threads(a);
	pages_begin(&a->pages, &a->pages.mem);	/* nothing is cached from before */
	for (i = 0; i < s->lock_cnt; i++) {
		if (s->locks[i].kind == PY_LOCK_PLAIN || s->locks[i].kind == PY_LOCK_ASYNCIO)
			guess_holder(a, i);
		else if (s->locks[i].kind == PY_LOCK_PERMITS)
			count_holders(a, i);
		else if (has_holders(&s->locks[i]))
			place_holder(a, i);
	}
}

/* ---- threads, or tasks ---- */

static void find_thread_locks(struct answer *a)
{
	find_own_tids(a);
	a->states = calloc(PY_THREADS_MAX, sizeof(*a->states));
	/* Threads that are not listed may hold a lock that seems to be held by one thread only. */
	a->holders.cut = !a->states ||
			 py_threads_list(&a->walk, &a->s->at, a->states, PY_THREADS_MAX,
					 &a->state_cnt) || a->state_cnt == PY_THREADS_MAX;
	py_threads_sort(a->states, a->state_cnt);
	find_locks(a);
	find_holders(a);
	free(a->states);
	free(a->own);
}

/* Sets the locks that tasks wait for, and the current positions of these tasks. */
static void find_waiting_tasks(struct answer *a, uint64_t *where)
{
	struct py_frame frames[TASK_FRAMES_MAX];
	struct py_lock lock;
	uint32_t i, k, cnt;
	bool whole;

	for (i = 0; i < a->s->cnt; i++) {
		cnt = frames_of(a, i, frames, &whole, &where[i]);
		lock.addr = 0;
		/* The __await__() of a Future that Python code made is a generator. */
		for (k = 0; k < cnt && k < 2 && whole && !lock.addr; k++)
			py_lock_awaited(&a->walk, &a->s->at, &frames[k], &lock);
		if (lock.addr)
			a->s->threads[i].lock = add_lock(a, &lock);
	}
}

static void find_task_locks(struct answer *a)
{
	uint64_t *before = calloc(a->s->cnt + 1, sizeof(*before)), now;
	struct py_frame frames[TASK_FRAMES_MAX];
	bool whole;
	uint32_t i;

	if (!before)
		return;
	a->tasks_at = a->s->where;
	a->reader = (struct task_reader){ .walk = a->walk, .at = &a->tasks_at };
	a->holders.cut = a->s->cut;
	find_waiting_tasks(a, before);
	find_holders(a);
	for (i = 0; i < a->s->cnt; i++)
		a->s->threads[i].steady = a->s->threads[i].lock &&
					  frames_of(a, i, frames, &whole, &now) && whole &&
					  now == before[i];
	free(before);
}

static void find_all(struct look_locks *s)
{
	static struct answer a;
	const struct target_mem direct = { proc_mem_read, (void *)(intptr_t)s->tgid };
	const struct target_mem mem = { pages_read, &a.pages };

	memset(&a, 0, sizeof(a));
	a.s = s;
	a.holders.walk = &a.walk;
	a.holders.at = &s->at;
	pages_begin(&a.pages, &direct);
	py_walk_init(&a.walk, &mem, &s->at.objects, s->tasks ? TASK_READS_ALL : READS_MAX);
	if (s->tasks)
		find_task_locks(&a);
	else
		find_thread_locks(&a);
	u64map_free(&a.holders.locks);
	u64map_free(&a.holders.quiet);
}

void look_locks_answer(struct look_locks *s)
{
	uint64_t before[LOOK_CONFIRMED_MAX];
	uint32_t i;

	s->lock_cnt = 0;
	if (s->cnt > LOOK_THREADS_MAX || (s->confirm && s->cnt > LOOK_CONFIRMED_MAX))
		return;
	for (i = 0; i < s->cnt; i++) {
		s->threads[i].lock = 0;
		if (s->confirm)
			before[i] = look_switches(s->tgid, s->threads[i].tid);
	}
	find_all(s);
	for (i = 0; s->confirm && i < s->cnt; i++)
		s->threads[i].steady = before[i] &&
				       look_switches(s->tgid, s->threads[i].tid) == before[i];
}
