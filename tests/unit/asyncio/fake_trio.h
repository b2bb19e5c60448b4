/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fake_trio.h - the memory of a process that runs trio: its module, the thread-local object, a
 * Runner and tasks with slots, in the memory of fake_homes.h.
 */
#ifndef TACHBPF_TESTS_FAKE_TRIO_H
#define TACHBPF_TESTS_FAKE_TRIO_H

#include "asyncio/trio.h"
#include "cpython/slots.h"
#include "tests/unit/asyncio/fake_homes.h"

/* Where a fake Task has its slots, behind its head; where a thread's state has its dict. */
#define FAKE_TASK_CORO 0
#define FAKE_TASK_NAME 8
#define FAKE_TASK_NURSERY 16
#define FAKE_TASK_COUNTER 24
#define FAKE_STATE_DICT 88

struct fake_trio {
	struct fake_homes h;
	uint64_t set, task_type, member_type, runner;
	uint64_t code;		/* of the function that runs tasks */
	uint64_t of_thread;	/* keys of the dict of a thread's attributes */
	uint32_t made;
};

/* Give a class its bases, itself first, and the descriptors of its slots. */
static inline void fake_slots(struct fake_trio *f, uint64_t type, const char *const *names,
			      uint32_t cnt)
{
	uint64_t keys = fake_keys(&f->h.t, false), descriptor, member;
	uint32_t i;

	for (i = 0; i < cnt; i++) {
		member = fake_take(&f->h.t, 40);
		fake_poke(&f->h.t, member + 8, 16, 4);
		fake_put(&f->h, member + 16, f->h.t.head + 8 * i);
		descriptor = fake_object(&f->h.t, f->member_type, 40);
		fake_put(&f->h, descriptor + f->h.t.head + 24, member);
		fake_add(&f->h.t, keys, fake_str(&f->h.t, &f->h.types, names[i]), descriptor);
	}
	fake_put(&f->h, type + f->h.t.head + 248, fake_dict(&f->h.t, keys, 0));
}

/* A task in a slot of the set; nursery 0: None. */
static inline uint64_t fake_trio_task(struct fake_trio *f, uint32_t slot, const char *name,
				      uint64_t nursery)
{
	uint64_t at = fake_object(&f->h.t, f->task_type, 32) + f->h.t.head;
	uint64_t none = fake_object(&f->h.t, f->h.types.none, 8);

	fake_put(&f->h, at + FAKE_TASK_CORO, none);
	fake_put(&f->h, at + FAKE_TASK_NAME, fake_str(&f->h.t, &f->h.types, name));
	fake_put(&f->h, at + FAKE_TASK_NURSERY, nursery ? nursery : none);
	fake_put(&f->h, at + FAKE_TASK_COUNTER, fake_small(&f->h.t, &f->h.types, ++f->made));
	fake_into(&f->h, f->set, slot, at - f->h.t.head);
	return at - f->h.t.head;
}

static inline uint64_t fake_nursery(struct fake_trio *f, uint64_t parent)
{
	return fake_instance(&f->h.t, &f->h.types, "Nursery", "_closed", f->h.types.none,
			     "_parent_task", parent);
}

static inline uint64_t fake_small_dict(struct fake_trio *f, const char *name, uint64_t value)
{
	uint64_t keys = fake_keys(&f->h.t, true);

	fake_add(&f->h.t, keys, fake_str(&f->h.t, &f->h.types, name), value);
	f->of_thread = keys;
	return fake_dict(&f->h.t, keys, 0);
}

/* The thread-local object: with a dict of one thread's attributes. */
static inline uint64_t fake_local(struct fake_trio *f)
{
	bool direct = f->h.t.at.objects.minor >= 13;
	uint64_t dummy = fake_object(&f->h.t, f->h.types.thing, 16);
	uint64_t keys = fake_keys(&f->h.t, true), of_thread, at;

	of_thread = fake_small_dict(f, "runner", f->runner);
	fake_add(&f->h.t, keys, direct ? dummy : fake_ref(&f->h, dummy), of_thread);
	at = fake_object(&f->h.t, f->h.types.thing, 64);
	fake_put(&f->h, at + f->h.t.head + (direct ? 24 : 32), fake_dict(&f->h.t, keys, 0));
	keys = f->of_thread;
	fake_put(&f->h, f->h.thread + FAKE_STATE_DICT,
		 direct ? dummy : fake_small_dict(f, "thread.local.1", dummy));
	f->of_thread = keys;
	return at;
}

/* The function that runs tasks; `task` is its third variable. */
#define FAKE_TRIO_LOCAL 2
static inline uint64_t fake_trio_run(struct fake_trio *f)
{
	unsigned int minor = f->h.t.at.objects.minor;
	uint64_t type = fake_named_type(&f->h.t, "function", 0);
	uint64_t run = fake_object(&f->h.t, type, 12 * 8), at = run + f->h.t.head;
	uint64_t name = fake_str(&f->h.t, &f->h.types, "unrolled_run");
	uint64_t names[] = {
		fake_str(&f->h.t, &f->h.types, "runner"), fake_str(&f->h.t, &f->h.types, "tasks"),
		fake_str(&f->h.t, &f->h.types, "task"),
	};

	f->code = fake_object(&f->h.t, 0, 256);
	fake_put(&f->h, f->code + f->h.t.head - 16 + py_code_layout((uint8_t)minor)->names,
		 fake_tuple(&f->h.t, &f->h.types, names, 3));
	fake_put(&f->h, at + (minor < 10 ? 0 : 4 * 8), f->code);
	fake_put(&f->h, at + (minor < 10 ? 11 : 3) * 8, name);
	return run;
}

static inline bool fake_trio_make(struct fake_trio *f, unsigned int minor, bool big_head)
{
	static const char *const of_task[] = { "coro", "name", "_parent_nursery", "_counter" };
	static const char *const of_runner[] = { "clock", "tasks" };
	static const char *const name[] = { "GLOBAL_RUN_CONTEXT", "unrolled_run" };
	uint64_t type, of_module[2];

	memset(f, 0, sizeof(*f));
	if (!fake_homes_make(&f->h, minor, big_head, false))
		return false;
	f->member_type = fake_named_type(&f->h.t, "member_descriptor", 0);
	f->task_type = fake_class(&f->h, "Task", true, NULL, 0);
	fake_slots(f, f->task_type, of_task, 4);
	type = fake_class(&f->h, "Runner", true, NULL, 0);
	fake_slots(f, type, of_runner, 2);
	f->runner = fake_object(&f->h.t, type, 32);
	f->set = fake_empty_set(&f->h, 64);
	fake_put(&f->h, f->runner + f->h.t.head + 8, f->set);
	of_module[0] = fake_local(f);
	of_module[1] = fake_trio_run(f);
	fake_add(&f->h.t, f->h.modules_keys,
		 fake_str(&f->h.t, &f->h.types, "trio._core._run"),
		 fake_module(&f->h, name, of_module, 2));
	f->h.at.library = TASKS_TRIO;
	f->h.at.head = f->set;
	return f->h.t.used < FAKE_BYTES;
}

#endif
