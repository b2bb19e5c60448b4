// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* look_holders.c - see look_holders.h. */
#include "look/look_holders.h"

#include <string.h>

#include "cpython/with.h"

/* Of one thread; deeper ones are not looked at. */
#define FRAMES_MAX 4096

static bool releases(const struct look_holders *h, const struct py_frame *frames, uint32_t cnt)
{
	uint32_t i;

	for (i = 0; i < cnt; i++)
		if (py_frame_releases(h->walk, &frames[i]))
			return true;
	return false;
}

/* Frame number i of the thread, from the innermost one on, is inside of these statements. */
static void take_frame(struct look_holders *h, uint32_t thread, const struct py_frame *frames,
		       uint32_t i, uint64_t given_up)
{
	struct py_with withs[PY_WITHS_MAX];
	struct look_holder *holder;
	uint32_t cnt, n;
	uint64_t lock;
	uintptr_t number;

	py_frame_withs(h->walk, h->at, &frames[i], withs, &cnt);
	for (n = 0; n < cnt; n++) {
		lock = py_lock_of(h->walk, withs[n].self);
		number = lock && lock != given_up ? (uintptr_t)u64map_get(&h->locks, lock) : 0;
		if (!number)
			continue;
		holder = &h->list[number - 1];
		if (holder->thread_cnt && holder->thread != thread) {
			holder->thread_cnt++;
			continue;
		}
		*holder = (struct look_holder){
			.thread_cnt = 1, .thread = thread, .frame = frames[i],
			.with_lasti = withs[n].lasti, .releases = releases(h, frames, i + 1),
		};
	}
}

void look_holders_add(struct look_holders *h, uint32_t thread, uint64_t state)
{
	static struct py_frame frames[FRAMES_MAX];
	uint64_t given_up;
	uint32_t cnt, i;
	bool whole;

	py_frames_list(h->walk, h->at, state, frames, FRAMES_MAX, &cnt, &whole);
	given_up = cnt ? py_lock_given_up(h->walk, h->at, &frames[0]) : 0;
	for (i = 0; i < cnt; i++)
		take_frame(h, thread, frames, i, given_up);
	h->cut |= !whole || !h->walk->reads_left;
}

bool look_holder_is(const struct look_holders *h, const struct look_holder *holder, uint64_t lock)
{
	struct py_with withs[PY_WITHS_MAX];
	uint32_t cnt;

	py_frame_withs(h->walk, h->at, &holder->frame, withs, &cnt);
	while (cnt--)
		if (withs[cnt].lasti == holder->with_lasti &&
		    py_lock_of(h->walk, withs[cnt].self) == lock)
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
	code_position(&code, holder->with_lasti, &begin);
	lock->line = now.line;
	lock->with_line = begin.line;
	copy_text(lock->function, sizeof(lock->function), code.name, code.name_len);
	copy_text(lock->path, sizeof(lock->path), code.file, code.file_len);
	code_free(&code);
}
