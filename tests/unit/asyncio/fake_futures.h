/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fake_futures.h - the memory of a process that runs asyncio, as CPython 3.8 to 3.13 has it:
 * futures and tasks of _asyncio with their callbacks, of every kind of callable.
 */
#ifndef TACHBPF_TESTS_FAKE_FUTURES_H
#define TACHBPF_TESTS_FAKE_FUTURES_H

#include "asyncio/future.h"
#include "cpython/layout.h"
#include "tests/unit/cpython/fake_values.h"

#define FAKE_FUTURES_CELLS 4
#define EACH_MINOR(minor, big) \
	for (unsigned int minor = 8; minor <= 13; minor++) \
		for (unsigned int big = 0; big < 2; big++)

struct fake_futures {
	struct fake_threads f;
	struct fake_types t;
	struct async_homes homes;
	uint64_t function, method, builtin, partial, cython, wrapper, deque;	/* types */
};

static inline void fake_futures_make(struct fake_futures *a, unsigned int minor, bool big)
{
	struct async_home *home = &a->homes.home[0];

	memset(&a->homes, 0, sizeof(a->homes));
	fake_threads_make(&a->f, minor, big);
	fake_types_make(&a->f, &a->t);
	a->homes.cnt = 1;
	a->homes.minor = (uint8_t)minor;
	async_fields_of((uint8_t)minor, (uint16_t)a->f.head, &a->homes.fields);
	home->task = fake_named_type(&a->f, "_asyncio.Task", 0);
	home->future = fake_named_type(&a->f, "_asyncio.Future", 0);
	a->function = fake_named_type(&a->f, "function", 0);
	a->method = fake_named_type(&a->f, "method", 0);
	a->builtin = fake_named_type(&a->f, "builtin_function_or_method", 0);
	a->partial = fake_named_type(&a->f, "functools.partial", 0);
	a->cython = fake_named_type(&a->f, "_cython_3_1.cython_function_or_method", 0);
	a->wrapper = fake_named_type(&a->f, "TaskWakeupMethWrapper", 0);
	a->deque = fake_named_type(&a->f, "collections.deque", 0);
}

static inline uint64_t fake_future(struct fake_futures *a)
{
	return fake_object(&a->f, a->homes.home[0].future, a->homes.fields.future_bytes);
}

static inline uint64_t fake_c_task(struct fake_futures *a)
{
	return fake_object(&a->f, a->homes.home[0].task, a->homes.fields.task_bytes);
}

static inline uint64_t fake_peek(const struct fake_threads *f, uint64_t addr)
{
	uint64_t word;

	memcpy(&word, f->mem + (addr - FAKE_BASE), sizeof(word));
	return word;
}

/* The first callback of a future, or a list with that many times the same one. */
static inline void fake_callback(struct fake_futures *a, uint64_t future, uint64_t callback)
{
	fake_poke(&a->f, future + a->homes.fields.callback0, callback, 8);
}

static inline void fake_more_callbacks(struct fake_futures *a, uint64_t future,
				       const uint64_t *callbacks, uint32_t cnt)
{
	uint64_t items[256], pair[2] = { 0 };
	uint32_t i;

	for (i = 0; i < cnt && i < 256; i++) {
		pair[0] = callbacks[i];
		items[i] = fake_tuple(&a->f, &a->t, pair, 2);
	}
	fake_poke(&a->f, future + a->homes.fields.callbacks,
		  fake_list(&a->f, &a->t, items, i), 8);
}

/*
 * A function, with a closure of so many variables (at most FAKE_FUTURES_CELLS) of these names and
 * values. Its other variables come first.
 */
static inline uint64_t fake_function(struct fake_futures *a, const char *qualname,
				     const char *const names[], const uint64_t values[],
				     uint32_t cnt)
{
	const struct py_code_layout *row = py_code_layout(a->f.at.objects.minor);
	bool is_old = a->f.at.objects.minor < 10, has_free = a->f.at.objects.minor < 11;
	uint64_t func = fake_object(&a->f, a->function, 12 * 8), code = fake_object(&a->f, 0, 256);
	uint64_t texts[1 + FAKE_FUTURES_CELLS] = { fake_str(&a->f, &a->t, "fut") };
	uint64_t cells[FAKE_FUTURES_CELLS];
	uint32_t i;

	for (i = 0; i < cnt; i++) {
		texts[1 + i] = fake_str(&a->f, &a->t, names[i]);
		cells[i] = fake_object(&a->f, a->t.cell, 8);
		fake_poke(&a->f, cells[i] + a->f.head, values[i], 8);
	}
	fake_poke(&a->f, code + (has_free ? row->third : row->names) + a->f.head - 16,
		  has_free ? fake_tuple(&a->f, &a->t, texts + 1, cnt) :
		  fake_tuple(&a->f, &a->t, texts, cnt + 1), 8);
	fake_poke(&a->f, func + a->f.head + 8 * (is_old ? 0 : 4), code, 8);
	fake_poke(&a->f, func + a->f.head + 8 * (is_old ? 4 : 7),
		  cnt ? fake_tuple(&a->f, &a->t, cells, cnt) : 0, 8);
	fake_poke(&a->f, func + a->f.head + 8 * (is_old ? 11 : 3),
		  fake_str(&a->f, &a->t, qualname), 8);
	return func;
}

static inline uint64_t fake_closure(struct fake_futures *a, const char *qualname, const char *name,
				    uint64_t value)
{
	const char *const names[] = { "aaa", name, "zzz" };
	const uint64_t values[] = { 0, value, a->t.none };

	return fake_function(a, qualname, names, values, 3);
}

/* An object of two words: a method, a partial. */
static inline uint64_t fake_pair(struct fake_futures *a, uint64_t type, uint64_t first,
				 uint64_t second)
{
	uint64_t at = fake_object(&a->f, type, 40);

	fake_poke(&a->f, at + a->f.head, first, 8);
	fake_poke(&a->f, at + a->f.head + 8, second, 8);
	return at;
}

static inline uint64_t fake_method(struct fake_futures *a, const char *qualname, uint64_t self)
{
	return fake_pair(a, a->method, fake_function(a, qualname, NULL, NULL, 0), self);
}

static inline uint64_t fake_partial(struct fake_futures *a, const char *qualname, uint64_t first)
{
	return fake_pair(a, a->partial, fake_function(a, qualname, NULL, NULL, 0),
			 fake_tuple(&a->f, &a->t, &first, 1));
}

static inline uint64_t fake_builtin(struct fake_futures *a, const char *name, uint64_t self)
{
	uint64_t ml = fake_take(&a->f, 32), text = fake_take(&a->f, 64);
	size_t i;

	for (i = 0; name[i]; i++)
		fake_poke(&a->f, text + i, (uint8_t)name[i], 1);
	fake_poke(&a->f, ml, text, 8);
	return fake_pair(a, a->builtin, ml, self);
}

/*
 * The qualified name follows the name, which is NULL until it is used, and that the dict: after 5
 * words (always in 3.8) or 6.
 */
static inline uint64_t fake_cython(struct fake_futures *a, const char *qualname, bool is_short)
{
	uint64_t at = fake_object(&a->f, a->cython, 12 * 8), words = at + a->f.head;
	bool is_old = a->f.at.objects.minor < 9;

	words += is_short || is_old ? 40 : 48;
	if (is_short)
		fake_poke(&a->f, words + 8, fake_str(&a->f, &a->t, "cb"), 8);
	fake_poke(&a->f, words + 16, fake_str(&a->f, &a->t, qualname), 8);
	fake_poke(&a->f, words + 24, fake_str(&a->f, &a->t, "What it does."), 8);
	return at;
}

/* The callback of a task that awaits a future. */
static inline uint64_t fake_wakeup(struct fake_futures *a, uint64_t task)
{
	return a->f.at.objects.minor < 10 ? fake_pair(a, a->wrapper, task, 0) :
	       fake_builtin(a, "task_wakeup", task);
}

/* An object with one attribute. */
static inline uint64_t fake_with(struct fake_futures *a, const char *name, uint64_t value)
{
	return fake_instance(&a->f, &a->t, "Thing", name, value, NULL, 0);
}

static inline uint64_t fake_deque(struct fake_futures *a, uint64_t item)
{
	uint64_t at = fake_object(&a->f, a->deque, 40), block = fake_take(&a->f, 66 * 8);

	fake_poke(&a->f, at + a->f.head, item != 0, 8);
	fake_poke(&a->f, at + a->f.head + 8, block, 8);
	fake_poke(&a->f, at + a->f.head + 16, block, 8);
	fake_poke(&a->f, at + a->f.head + 24, 31, 8);
	fake_poke(&a->f, block + 8 + 31 * 8, item, 8);
	return at;
}

#endif
