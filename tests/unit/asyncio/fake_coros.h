/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fake_coros.h - coroutines as CPython 3.8 to 3.13 lays them out, in the memory of fake_tasks.h,
 * which has those of 3.14 and 3.15.
 */
#ifndef TACHBPF_TESTS_FAKE_COROS_H
#define TACHBPF_TESTS_FAKE_COROS_H

#include "asyncio/coroutine.h"
#include "tests/unit/asyncio/fake_tasks.h"

#define FAKE_YIELD_FROM 72
#define FAKE_RESUME 151
#define FAKE_AFTER_YIELD 1	/* arguments of RESUME */
#define FAKE_AFTER_AWAIT 3

/* big: with longer heads: Py_TRACE_REFS, in 3.13 a free-threaded build. */
static inline bool fake_old_layouts(struct fake_tasks *f, unsigned int minor, bool big)
{
	struct cpython_image img = { .minor = minor, .micro = 18, .trace_refs = big };
	uint8_t bytes[DEBUG_OFFSETS_MAX];
	struct debug_offsets d;
	const char *what;
	size_t len;

	if (minor < 13) {
		if (layout_from_table(&img))
			return false;
	} else {
		len = fake_golden("debug_offsets", minor, big ? "t" : "", bytes, sizeof(bytes));
		if (debug_offsets_read(bytes, len, minor, &d, &what) ||
		    layout_from_debug_offsets(&img, minor, &d, &what))
			return false;
	}
	f->at.l = img.layout;
	f->at.objects = img.objects;
	/* For the functions of fake_tasks.h; the program does not look at it in these versions. */
	f->at.async.coro.ob_type = img.objects.str_length - 8;
	return true;
}

static inline bool fake_old_make(struct fake_tasks *f, unsigned int minor, bool big)
{
	memset(f, 0, sizeof(*f));
	f->minor = minor;
	f->target = (struct target_mem){ fake_read, f };
	if (!fake_old_layouts(f, minor, big))
		return false;
	f->used = 16;
	f->types[FAKE_CORO] = fake_type(f, "coroutine", 0);
	f->types[FAKE_AGEN] = fake_type(f, "async_generator", 0);
	f->types[FAKE_ASEND] = fake_type(f, "async_generator_asend", 0);
	f->types[FAKE_STR] = fake_type(f, "str", 1ull << 28);
	f->types[FAKE_INT] = fake_type(f, "int", 1ull << 24);
	return true;
}

static inline uint16_t fake_head_bytes(const struct fake_tasks *f)
{
	return f->at.async.coro.ob_type + 8;
}

/* Where the code object's instruction at byte offset lasti is. */
static inline uint64_t fake_instruction(struct fake_tasks *f, uint64_t code, uint32_t lasti)
{
	const struct py_layout *l = &f->at.l;
	uint64_t bytes;

	if (f->minor > 10)
		return code + l->co_code + lasti;
	bytes = fake_get(f, code + l->co_code);
	if (!bytes) {
		bytes = fake_alloc(f, FAKE_OBJECT);
		fake_word(f, code + l->co_code, bytes);
	}
	return bytes + l->bytes_data + lasti;
}

/* What the coroutine goes on with if it is resumed. */
static inline void fake_next(struct fake_tasks *f, uint64_t code, uint32_t lasti, bool awaits)
{
	uint8_t unit[2] = { f->minor <= 10 ? awaits ? FAKE_YIELD_FROM : 1 : FAKE_RESUME,
			    awaits ? FAKE_AFTER_AWAIT : FAKE_AFTER_YIELD };

	fake_set(f, fake_instruction(f, code, lasti + 2), unit, 2);
}

static inline int8_t fake_state_of(unsigned int minor, enum coroutine_state state)
{
	switch (state) {
	case CORO_CREATED:
		return minor == 13 ? -3 : -2;
	case CORO_SUSPENDED:
		return -1;
	case CORO_YIELDED:
		return minor == 13 ? -2 : -1;
	case CORO_RUNNING:
		return 0;
	default:
		return minor <= 10 ? 4 : 1;
	}
}

/* Up to 3.10: its frame. */
static inline void fake_old_frame(struct fake_tasks *f, uint64_t obj, uint64_t code,
				  uint32_t lasti, enum coroutine_state state, uint64_t awaited)
{
	const struct py_code_layout *row = py_code_layout((uint8_t)f->minor);
	const struct py_layout *l = &f->at.l;
	uint16_t more = fake_head_bytes(f) - 16;
	uint64_t frame = fake_alloc(f, FAKE_OBJECT), slots = frame + more + row->slots;
	int32_t ip = state == CORO_CREATED ? -1 : (int32_t)(lasti / l->lasti_unit);
	int8_t raw = fake_state_of(f->minor, state);

	fake_word(f, obj + fake_head_bytes(f), frame);
	fake_word(f, frame + more + row->generator, obj);
	fake_word(f, frame + l->fr_base + l->fr_code, code);
	fake_set(f, frame + l->fr_base + l->fr_ip, &ip, 4);
	fake_word(f, slots + 8, awaited);
	if (f->minor == 10) {
		fake_word(f, frame + more + row->stack, slots);
		fake_set(f, frame + more + row->depth, &(int32_t){ 2 }, 4);
		fake_set(f, frame + more + row->state, &raw, 1);
		return;
	}
	fake_word(f, frame + more + row->stack,
		  state == CORO_RUNNING || state == CORO_ENDED ? 0 : slots + 16);
	fake_set(f, obj + row->state + more, &(uint8_t){ state == CORO_RUNNING }, 1);
}

/* From 3.11 on. Its stack has `depth` entries; if they are many, they are not in what is read. */
static inline void fake_inner_frame(struct fake_tasks *f, uint64_t obj, uint64_t code,
				    uint32_t lasti, enum coroutine_state state, uint64_t awaited,
				    int32_t depth)
{
	const struct py_code_layout *row = py_code_layout((uint8_t)f->minor);
	const struct py_layout *l = &f->at.l;
	uint16_t more = fake_head_bytes(f) - 16;
	uint64_t frame = obj + row->generator + more;
	int8_t raw = fake_state_of(f->minor, state);

	fake_set(f, obj + row->state + more, &raw, 1);
	fake_word(f, frame + l->fr_code, code);
	fake_word(f, frame + l->fr_ip, code + l->co_code + lasti);
	fake_set(f, frame + l->fr_owner, &(uint8_t){ 1 }, 1);
	fake_set(f, frame + row->stack, &depth, 4);
	fake_word(f, frame + row->slots + 8 * (depth - 1), awaited);
}

static inline uint64_t fake_old_coro(struct fake_tasks *f, int type, uint64_t code, uint32_t lasti,
				     enum coroutine_state state, uint64_t awaited)
{
	uint64_t obj = fake_object(f, f->types[type], 2 * FAKE_OBJECT);

	fake_next(f, code, lasti, state == CORO_SUSPENDED);
	if (f->minor <= 10)
		fake_old_frame(f, obj, code, lasti, state, awaited);
	else
		fake_inner_frame(f, obj, code, lasti, state, awaited, 2);
	return obj;
}

#endif
