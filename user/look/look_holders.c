// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* look_holders.c - see look_holders.h. */
#include "look/look_holders.h"

#include "base/util.h"
#include "cpython/attributes.h"
#include "cpython/taken.h"
#include "cpython/with.h"

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

void look_holders_add(struct look_holders *h, uint32_t thread, uint64_t waits,
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

bool look_holder_is(const struct look_holders *h, const struct look_holder *holder, uint64_t lock)
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

void look_holder_place(const struct look_holders *h, const struct look_holder *holder,
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
