// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* look_holders.c - see look_holders.h. */
#include "look/look_holders.h"

#include <string.h>

#include "cpython/taken.h"
#include "cpython/with.h"

/* Of one thread: deeper frames are not looked at, nor more locks that it has released. */
#define FRAMES_MAX 4096
#define RELEASED_MAX 64

/* What is known of the thread whose frames are looked at, from the innermost one on. */
struct thread {
	uint32_t number;
	uint64_t waits;
	struct py_frame frames[FRAMES_MAX];
	/* Locks that it has released, in which frame and where. */
	struct released {
		uint64_t lock;
		uint32_t frame, lasti;
	} released[RELEASED_MAX];
	uint32_t released_cnt;
};

static bool releases(const struct look_holders *h, const struct py_frame *frames, uint32_t cnt)
{
	uint32_t i;

	for (i = 0; i < cnt; i++)
		if (py_code_releases(h->walk, frames[i].code))
			return true;
	return false;
}

/* Was the lock released by hand inside of the statement of frame number i that begins at lasti? */
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

/* Of one thread the outermost frame remains. */
static void set_holder(struct look_holder *holder, const struct thread *t, uint32_t i,
		       uint32_t since, bool releases)
{
	if (holder->thread_cnt && holder->thread != t->number)
		holder->thread_cnt++;
	else
		*holder = (struct look_holder){ .thread_cnt = 1, .thread = t->number,
						.frame = t->frames[i], .since = since,
						.releases = releases };
}

static void add_released(struct thread *t, uint64_t lock, uint32_t frame, uint32_t lasti)
{
	if (t->released_cnt < RELEASED_MAX)
		t->released[t->released_cnt++] = (struct released){ lock, frame, lasti };
}

/* What frame number i has done by hand. */
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
			set_holder(holder, t, i, taken[n].lasti, true);
	}
}

/* Which statements frame number i is inside of. */
static void take_withs(struct look_holders *h, const struct thread *t, uint32_t i)
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
			set_holder(holder, t, i, withs[n].lasti, releases(h, t->frames, i + 1));
	}
}

void look_holders_add(struct look_holders *h, uint32_t thread, uint64_t waits, uint64_t state)
{
	static struct thread t;
	uint64_t given_up;
	uint32_t cnt, i;
	bool whole;

	t.number = thread;
	t.waits = waits;
	t.released_cnt = 0;
	py_frames_list(h->walk, h->at, state, t.frames, FRAMES_MAX, &cnt, &whole);
	given_up = cnt ? py_lock_given_up(h->walk, h->at, &t.frames[0]) : 0;
	if (given_up)
		add_released(&t, given_up, 0, UINT32_MAX);
	for (i = 0; i < cnt; i++) {
		take_by_hand(h, &t, i);
		take_withs(h, &t, i);
	}
	h->cut |= !whole || !h->walk->reads_left;
}

bool look_holder_is(const struct look_holders *h, const struct look_holder *holder, uint64_t lock)
{
	struct py_with withs[PY_WITHS_MAX];
	uint32_t cnt;

	py_frame_withs(h->walk, h->at, &holder->frame, withs, &cnt);
	while (cnt--)
		if (withs[cnt].lasti == holder->since &&
		    py_lock_of(h->walk, withs[cnt].self) == lock)
			return true;
	return false;
}

bool look_holder_took(const struct look_holders *h, const struct look_holder *holder,
		      uint64_t lock)
{
	struct py_taken taken[PY_TAKEN_MAX];
	uint32_t cnt;

	py_frame_taken(h->walk, h->at, &holder->frame, taken, &cnt);
	while (cnt--)
		if (taken[cnt].lock == lock && taken[cnt].held)
			return true;
	return false;
}

static void copy_text(char *out, size_t size, const char *text, size_t len)
{
	if (len >= size)
		for (len = size - 1; len && (text[len] & 0xc0) == 0x80; len--)
			;
	memcpy(out, text, len);
	out[len] = '\0';
}

void look_holder_place(const struct look_holders *h, const struct look_holder *holder,
		       struct look_lock *lock)
{
	struct code_position now, begin;
	struct code_object code;
	uint32_t lasti;

	if (py_frame_lasti(h->walk, h->at, &holder->frame, &lasti) ||
	    code_read(h->walk->mem, &h->at->layout, h->walk->o, holder->frame.code, &code))
		return;
	code_position(&code, lasti, &now);
	code_position(&code, holder->since, &begin);
	lock->line = now.line;
	lock->since_line = begin.line;
	copy_text(lock->function, sizeof(lock->function), code.name, code.name_len);
	copy_text(lock->path, sizeof(lock->path), code.file, code.file_len);
	code_free(&code);
}
