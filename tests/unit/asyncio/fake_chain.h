/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fake_chain.h - tasks that await one another, with their coroutines, as CPython 3.8 to 3.13 has
 * them, in the memory of fake_coros.h.
 */
#ifndef TACHBPF_TESTS_FAKE_CHAIN_H
#define TACHBPF_TESTS_FAKE_CHAIN_H

#include "asyncio/chain.h"
#include "tests/unit/asyncio/fake_coros.h"

struct fake_chain {
	struct fake_tasks f;
	uint64_t builtin, partial, function, tuple;	/* types */
	uint64_t code;
};

static inline uint16_t fake_words(const struct fake_chain *c)
{
	return fake_head_bytes(&c->f);
}

/* big: as fake_old_make(). Returns false if there are no offsets of this version. */
static inline bool fake_chain_make(struct fake_chain *c, unsigned int minor, bool big)
{
	struct async_homes *homes = &c->f.at.homes;

	if (!fake_old_make(&c->f, minor, big))
		return false;
	homes->cnt = 1;
	homes->minor = (uint8_t)minor;
	homes->home[0].task = fake_type(&c->f, "_asyncio.Task", 0);
	homes->home[0].future = fake_type(&c->f, "_asyncio.Future", 0);
	c->builtin = fake_type(&c->f, "builtin_function_or_method", 0);
	c->partial = fake_type(&c->f, "functools.partial", 0);
	c->function = fake_type(&c->f, "function", 0);
	c->tuple = fake_type(&c->f, "tuple", PY_IS_TUPLE);
	c->code = fake_code(&c->f, "f");
	return async_fields_of((uint8_t)minor, fake_words(c), &homes->fields);
}

static inline uint64_t fake_pending(struct fake_chain *c)
{
	return fake_object(&c->f, c->f.at.homes.home[0].future, 256);
}

static inline void fake_called_back(struct fake_chain *c, uint64_t future, uint64_t callback)
{
	fake_word(&c->f, future + c->f.at.homes.fields.callback0, callback);
}

/* A task with a coroutine that awaits something, at this offset. */
static inline uint64_t fake_waiting(struct fake_chain *c, const char *name, uint32_t lasti,
				    uint64_t awaited)
{
	const struct async_fields *fields = &c->f.at.homes.fields;
	uint64_t task = fake_object(&c->f, c->f.at.homes.home[0].task, 256);

	fake_next(&c->f, c->code, lasti, true);
	fake_word(&c->f, task + fields->name, fake_str(&c->f, name));
	fake_word(&c->f, task + fields->coro,
		  fake_old_coro(&c->f, FAKE_CORO, c->code, lasti, CORO_SUSPENDED, awaited));
	return task;
}

static inline uint64_t fake_c_words(struct fake_chain *c, uint64_t type, uint64_t a, uint64_t b)
{
	uint64_t obj = fake_object(&c->f, type, 160);

	fake_word(&c->f, obj + fake_words(c), a);
	fake_word(&c->f, obj + fake_words(c) + 8, b);
	return obj;
}

/* task awaits future. 3.8 and 3.9 have an object of its own, and this one would do. */
static inline void fake_wakes(struct fake_chain *c, uint64_t future, uint64_t task)
{
	uint64_t ml = fake_alloc(&c->f, 32), name = fake_alloc(&c->f, 112);

	fake_set(&c->f, name, "task_wakeup", 12);
	fake_word(&c->f, ml, name);
	fake_called_back(c, future, fake_c_words(c, c->builtin, ml, task));
}

static inline uint64_t fake_named_function(struct fake_chain *c, const char *name)
{
	uint64_t func = fake_object(&c->f, c->function, 160);

	fake_word(&c->f, func + fake_words(c) + 8 * (c->f.minor < 10 ? 11 : 3),
		  fake_str(&c->f, name));
	return func;
}

/* The future is done when this one is: as wait_for() does it. */
static inline void fake_releases(struct fake_chain *c, uint64_t future, uint64_t waiter)
{
	uint64_t args = fake_c_words(c, c->tuple, 1, waiter);

	fake_called_back(c, future,
			 fake_c_words(c, c->partial, fake_named_function(c, "_release_waiter"),
				      args));
}

/* What the BPF side has sent of a task. */
static inline struct raw_task fake_sent(struct fake_chain *c, uint64_t task)
{
	const struct async_fields *fields = &c->f.at.homes.fields;
	struct raw_task q = { .tid = 7, .at = 3, .task = task };

	q.h.tgid = 5;
	q.coro = fake_get(&c->f, task + fields->coro);
	q.callback0 = fake_get(&c->f, task + fields->callback0);
	q.callbacks = fake_get(&c->f, task + fields->callbacks);
	q.name = fake_get(&c->f, task + fields->name);
	memcpy(q.name_bytes, c->f.mem + (q.name - FAKE_BASE), sizeof(q.name_bytes));
	return q;
}

#endif
