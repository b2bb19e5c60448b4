/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fake_greenlets.h - greenlets in the memory of fake_threads.h, as greenlet 1.x, 2.0 and 3.1.1 on
 * have them in CPython 3.6 to 3.15: a main one, and others with two frames.
 */
#ifndef TACHBPF_TESTS_FAKE_GREENLETS_H
#define TACHBPF_TESTS_FAKE_GREENLETS_H

#include "cpython/greenlet.h"
#include "tests/unit/cpython/fake_values.h"

#define EACH_GREENLET(minor, big, old) \
	for (unsigned int minor = 6; minor <= 15; minor++) \
		for (unsigned int big = 0; big < 2; big++) \
			for (unsigned int old = 0; old < 3; old++)

enum fake_release { FAKE_NEW, FAKE_OLD, FAKE_EARLY };	/* 3.1.1 on, 1.x, 2.0 */

/* Where the fake C stack is, which is no memory of the fake process. */
#define FAKE_STACK 0x7f0000000000ull
#define FAKE_STACK_BYTES 256u
/* Where a fake main greenlet of 2.0 on has itself. */
#define FAKE_SELF_AT 21

struct fake_greenlets {
	struct fake_threads t;
	struct fake_types types;
	struct target_mem target;
	struct py_layout layout;
	struct py_greenlet_kind kind;
	uint64_t type, type_type, frame_type, main;
	enum fake_release release;
};

static inline uint64_t fake_word_of(const struct fake_greenlets *f, uint64_t addr)
{
	uint64_t v = 0;

	if (addr >= FAKE_BASE && addr - FAKE_BASE <= FAKE_BYTES - 8)
		memcpy(&v, f->t.mem + (addr - FAKE_BASE), 8);
	return v;
}

/* Its data; the object is at *obj. */
static inline uint64_t fake_greenlet_object(struct fake_greenlets *f, uint64_t *obj)
{
	uint64_t data;

	fake_take(&f->t, 16);
	*obj = fake_object(&f->t, f->type, f->release == FAKE_OLD ? 112 : 24);
	if (f->t.head == 32 && f->t.at.objects.minor >= 13)
		fake_poke(&f->t, *obj + 12, 1, 4);
	else
		fake_poke(&f->t, *obj + f->t.head - 16, 1, 8);
	if (f->release == FAKE_OLD)
		return *obj + f->t.head;
	data = fake_take(&f->t, 8 * PY_GREENLET_WORDS);
	fake_poke(&f->t, *obj + f->t.head + 16, data, 8);
	fake_poke(&f->t, data + (f->release == FAKE_EARLY ? 8 * FAKE_SELF_AT : 8), *obj, 8);
	return data;
}

static inline uint64_t fake_stack_at(const struct fake_greenlets *f)
{
	return f->release == FAKE_OLD ? 0 :
	       (f->t.at.objects.minor >= 11 ? 56 : 72) - (f->release == FAKE_EARLY ? 8 : 0);
}

static inline uint64_t fake_parent_at(const struct fake_greenlets *f)
{
	return FAKE_SELF_AT + (f->release == FAKE_EARLY ? 3 : 2);
}

/* top 0: it is not suspended. start 0: not active; stop 0: it has not begun. */
static inline uint64_t fake_greenlet(struct fake_greenlets *f, uint64_t parent, uint64_t start,
				     uint64_t stop, uint64_t copy, uint64_t saved, uint64_t top)
{
	const uint64_t stack[4] = { start, stop, copy, saved };
	uint64_t obj, data = fake_greenlet_object(f, &obj);

	fake_pointers(&f->t, stack, 4, data + fake_stack_at(f));
	fake_poke(&f->t, data + fake_stack_at(f) + (f->release == FAKE_OLD ? 56 : 48), top, 8);
	fake_poke(&f->t, data + (f->release == FAKE_OLD ? 40 : 8 * fake_parent_at(f)), parent, 8);
	if (f->release == FAKE_NEW)
		fake_poke(&f->t, data + 8 * FAKE_SELF_AT, parent ? f->main : obj, 8);
	return obj;
}

/* A frame with this code, which is called by `previous`. */
static inline uint64_t fake_python_frame(struct fake_greenlets *f, uint64_t code,
					 uint64_t previous)
{
	uint64_t at = fake_object(&f->t, f->frame_type, 64);

	fake_poke(&f->t, at + f->t.head, code, 8);
	fake_poke(&f->t, at + f->t.head + 8, previous, 8);
	return at;
}

/* The object of a frame: up to 3.10 the frame itself. */
static inline uint64_t fake_frame_object(struct fake_greenlets *f, uint64_t frame)
{
	uint64_t at;

	if (f->layout.lasti_unit)
		return frame;
	at = fake_object(&f->t, f->frame_type, 64);
	fake_poke(&f->t, at + f->t.head + 8, frame, 8);
	return at;
}

static inline void fake_greenlets_make(struct fake_greenlets *f, unsigned int minor, bool big,
				       enum fake_release release)
{
	struct py_walk w;

	memset(f, 0, sizeof(*f));
	fake_threads_make(&f->t, minor, big);
	fake_types_make(&f->t, &f->types);
	f->target = f->t.target;
	f->release = release;
	f->type_type = fake_named_type(&f->t, "type", PY_IS_TYPE);
	f->frame_type = fake_named_type(&f->t, "frame", 0);
	f->type = fake_named_type(&f->t, "greenlet.greenlet", 0);
	fake_poke(&f->t, f->type + f->t.head - 8, f->type_type, 8);
	fake_poke(&f->t, f->type + f->t.head + 16, f->t.head + (release == FAKE_OLD ? 112 : 24),
		  8);
	f->layout = (struct py_layout){ .fr_base = f->t.head, .fr_code = 0, .fr_previous = 8,
					.fr_bytes = 16, .fr_owner = ABI_NO_OFF,
					.lasti_unit = minor <= 10 };
	f->main = fake_greenlet(f, 0, FAKE_STACK + 512, UINT64_MAX, 0, 0, 0);
	py_walk_init(&w, &f->target, &f->t.at.objects, 100);
	py_greenlet_kind_of(&w, f->type, &f->kind);
}

#endif
