/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fake_homes.h - the memory of a process that runs asyncio, as CPython 3.8 to 3.13 has it: the
 * modules and their sets, an event loop that a thread runs, futures and tasks of both kinds.
 */
#ifndef TACHBPF_TESTS_FAKE_HOMES_H
#define TACHBPF_TESTS_FAKE_HOMES_H

#include "asyncio/future.h"
#include "asyncio/home_tasks.h"
#include "tests/unit/cpython/fake_values.h"

#define EACH_HOME(minor, big, pure) \
	for (unsigned int minor = 8; minor <= 13; minor++) \
		for (unsigned int big = 0; big < 2; big++) \
			for (unsigned int pure = 0; pure < 2; pure++)

#define FAKE_TID 100
#define FAKE_SLOTS 64

struct fake_homes {
	struct fake_threads t;
	struct fake_types types;
	struct tasks_at at;
	struct target_mem target;
	bool pure;
	uint64_t interp, thread, loop;
	uint64_t set, eager, current, current_keys;
	uint64_t task_type, future_type, c_task_type, c_future_type, py_task_type, py_future_type;
	uint64_t ref_type, type_type;
	uint64_t tasks_module, modules_keys;
	/* Called before each read; may change the memory. */
	void (*before)(struct fake_homes *f, uint64_t addr);
};

static inline int fake_homes_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct fake_homes *f = ctx;

	if (f->before)
		f->before(f, addr);
	return fake_threads_read(&f->t, addr, buf, len);
}

static inline void fake_put(struct fake_homes *f, uint64_t addr, uint64_t v)
{
	fake_poke(&f->t, addr, v, 8);
}

static inline uint64_t fake_see(const struct fake_homes *f, uint64_t addr)
{
	uint64_t v = 0;

	if (addr >= FAKE_BASE && addr - FAKE_BASE <= FAKE_BYTES - 8)
		memcpy(&v, f->t.mem + (addr - FAKE_BASE), 8);
	return v;
}

/* A class with these bases after itself in its method resolution order. */
static inline uint64_t fake_class(struct fake_homes *f, const char *name, bool python,
				  const uint64_t *bases, uint32_t cnt)
{
	bool managed = python && f->t.at.objects.minor >= 11;
	uint64_t type = fake_named_type(&f->t, name,
					PY_HEAP_TYPE | (managed ? PY_MANAGED_DICT : 0));
	uint64_t mro[4] = { type };
	uint32_t i;

	for (i = 0; i < cnt && i < 3; i++)
		mro[i + 1] = bases[i];
	fake_put(f, type + f->t.head - 8, f->type_type);
	fake_put(f, type + f->t.head + PY_TYPE_MRO,
		 fake_tuple(&f->t, &f->types, mro, i + 1));
	fake_put(f, type + f->t.head + 272, f->t.head);		/* tp_dictoffset */
	return type;
}

/* An object of a class of Python, with attributes in a dict. */
static inline uint64_t fake_py_object(struct fake_homes *f, uint64_t type,
				      const char *const *names, const uint64_t *values,
				      uint32_t cnt)
{
	bool managed = f->t.at.objects.minor >= 11;
	bool no_gc_head = f->t.at.objects.minor >= 13 && f->t.head == 32;
	uint64_t keys = fake_keys(&f->t, false), dict = fake_dict(&f->t, keys, 0), at;
	uint32_t i;

	for (i = 0; i < cnt; i++)
		fake_add(&f->t, keys, fake_str(&f->t, &f->types, names[i]), values[i]);
	fake_take(&f->t, 32);
	at = fake_object(&f->t, type, 32);
	fake_put(f, managed ? at - (no_gc_head ? 8 : 24) : at + f->t.head, dict);
	return at;
}

/* What the values of a future or task are; 0: it has none. */
struct fake_future {
	uint64_t callback0, callbacks, coro, name, waiter;
	bool done;
};

static inline uint64_t fake_c_future(struct fake_homes *f, uint64_t type, bool task,
				     const struct fake_future *v)
{
	const struct async_fields *a = &f->at.homes.fields;
	uint64_t at = fake_object(&f->t, type, a->task_bytes);

	fake_put(f, at + a->loop, f->loop);
	fake_put(f, at + a->callback0, v->callback0);
	fake_put(f, at + a->callbacks, v->callbacks);
	fake_poke(&f->t, at + a->state, v->done ? 2 : 0, 4);
	if (!task)
		return at;
	fake_put(f, at + a->fut_waiter, v->waiter);
	fake_put(f, at + a->coro, v->coro);
	fake_put(f, at + a->name, v->name);
	return at;
}

static inline uint64_t fake_py_future(struct fake_homes *f, uint64_t type, bool task,
				      const struct fake_future *v)
{
	static const char *const names[] = { "_log_destroy_pending", "_loop", "_callbacks",
					     "_name", "_coro", "_fut_waiter", "_state" };
	uint64_t values[7] = { f->types.none, f->loop, v->callbacks };
	uint32_t cnt = 3;
	const char *used[7];

	memcpy(used, names, sizeof(used));
	if (task) {
		values[cnt++] = v->name;
		values[cnt++] = v->coro;
		values[cnt++] = v->waiter ? v->waiter :
				fake_object(&f->t, f->types.none, 8);
	}
	if (v->done) {
		used[cnt] = "_state";
		values[cnt++] = fake_str(&f->t, &f->types, "FINISHED");
	}
	return fake_py_object(f, type, used, values, cnt);
}

static inline uint64_t fake_future(struct fake_homes *f, bool task, const struct fake_future *v)
{
	uint64_t type = task ? f->task_type : f->future_type;

	return f->pure ? fake_py_future(f, type, task, v) : fake_c_future(f, type, task, v);
}

/* ---- sets ---- */

static inline uint64_t fake_empty_set(struct fake_homes *f, uint32_t slots)
{
	uint64_t at = fake_object(&f->t, f->types.set, 64);

	fake_put(f, at + f->t.head + 16, slots - 1);
	fake_put(f, at + f->t.head + 24, fake_take(&f->t, slots * 16));
	return at;
}

static inline uint64_t fake_slot(const struct fake_homes *f, uint64_t set, uint32_t slot)
{
	return fake_see(f, set + f->t.head + 24) + 16 * slot;
}

/* Put an object into a free slot. */
static inline void fake_into(struct fake_homes *f, uint64_t set, uint32_t slot, uint64_t obj)
{
	fake_put(f, fake_slot(f, set, slot), obj);
	fake_put(f, fake_slot(f, set, slot) + 8, slot + 7);
	fake_put(f, set + f->t.head, fake_see(f, set + f->t.head) + 1);
	fake_put(f, set + f->t.head + 8, fake_see(f, set + f->t.head + 8) + 1);
}

static inline uint64_t fake_ref(struct fake_homes *f, uint64_t obj)
{
	uint64_t at = fake_object(&f->t, f->ref_type, 48);

	fake_put(f, at + f->t.head, obj);
	return at;
}

/* A task in the set of all, in this slot. */
static inline uint64_t fake_home_task(struct fake_homes *f, uint32_t slot,
				      const struct fake_future *v)
{
	uint64_t task = fake_future(f, true, v);

	fake_into(f, f->set, slot, fake_ref(f, task));
	return task;
}

static inline uint64_t fake_named_task(struct fake_homes *f, uint32_t slot, const char *name)
{
	return fake_home_task(f, slot, &(struct fake_future){
		.name = fake_str(&f->t, &f->types, name) });
}

/* ---- the process ---- */

static inline uint64_t fake_module(struct fake_homes *f, const char *const *names,
				   const uint64_t *values, uint32_t cnt)
{
	uint64_t keys = fake_keys(&f->t, false), at = fake_object(&f->t, f->types.thing, 32), i;

	for (i = 0; i < cnt; i++)
		fake_add(&f->t, keys, fake_str(&f->t, &f->types, names[i]), values[i]);
	fake_put(f, at + f->t.head, fake_dict(&f->t, keys, 0));
	return at;
}

static inline void fake_home_types(struct fake_homes *f)
{
	f->type_type = fake_named_type(&f->t, "type", PY_IS_TYPE);
	f->ref_type = fake_named_type(&f->t, "weakref", 0);
	f->py_future_type = fake_class(f, "Future", true, NULL, 0);
	f->py_task_type = fake_class(f, "Task", true, &f->py_future_type, 1);
	f->future_type = f->py_future_type;
	f->task_type = f->py_task_type;
	if (f->pure)
		return;
	f->future_type = fake_class(f, "_asyncio.Future", false, NULL, 0);
	f->task_type = fake_class(f, "_asyncio.Task", false, &f->future_type, 1);
	f->c_future_type = f->future_type;
	f->c_task_type = f->task_type;
}

static inline void fake_home_modules(struct fake_homes *f)
{
	bool eager = f->t.at.objects.minor >= 12;
	const char *const tasks[] = { "__name__", eager ? "_scheduled_tasks" : "_all_tasks",
				      "_current_tasks", "Task", "_PyTask", "_eager_tasks" };
	const char *const futures[] = { "Future", "_PyFuture" };
	uint64_t weak = fake_instance(&f->t, &f->types, "WeakSet", "_iterating", f->types.none,
				      "data", f->set);
	const uint64_t in_tasks[] = { f->types.none, weak, f->current, f->task_type,
				      f->py_task_type, f->eager };
	const uint64_t in_futures[] = { f->future_type, f->py_future_type };
	const char *const c_names[] = { "Task", "Future" };
	const uint64_t c_types[] = { f->c_task_type, f->c_future_type };

	f->modules_keys = fake_keys(&f->t, false);
	f->tasks_module = fake_module(f, tasks, in_tasks, eager ? 6 : 5);
	fake_add(&f->t, f->modules_keys, fake_str(&f->t, &f->types, "asyncio.tasks"),
		 f->tasks_module);
	fake_add(&f->t, f->modules_keys, fake_str(&f->t, &f->types, "asyncio.futures"),
		 fake_module(f, futures, in_futures, 2));
	fake_add(&f->t, f->modules_keys, fake_str(&f->t, &f->types, "asyncio.unix_events"),
		 f->types.none);
	fake_add(&f->t, f->modules_keys, fake_str(&f->t, &f->types, "_asyncio"),
		 f->pure ? f->types.none : fake_module(f, c_names, c_types, 2));
	fake_put(f, f->interp + 64, fake_dict(&f->t, f->modules_keys, 0));
}

static inline void fake_home_thread(struct fake_homes *f)
{
	uint64_t ident = fake_take(&f->t, 1024);

	fake_poke(&f->t, ident + PTHREAD_GLIBC_TID, FAKE_TID, 4);
	f->thread = fake_take(&f->t, 512);
	fake_put(f, f->thread + f->at.l.ts_thread_id, ident);
	fake_put(f, f->interp + f->at.l.interp_threads_head, f->thread);
	f->loop = fake_instance(&f->t, &f->types, "Loop", "_thread_id",
				fake_number(&f->t, ident), NULL, 0);
}

/* Look for asyncio, as the rest of the program does. Returns the error. */
static inline int fake_find(struct fake_homes *f)
{
	struct py_walk w;

	py_walk_init(&w, &f->target, &f->at.objects, TASK_READS_MAX);
	return async_homes_find(&w, &f->at.l, f->at.interps, &f->at.homes);
}

/* big_head: as fake_threads_make(). Two interpreters; the older one has asyncio. */
static inline bool fake_homes_make(struct fake_homes *f, unsigned int minor, bool big_head,
				   bool pure)
{
	memset(f, 0, sizeof(*f));
	fake_threads_make(&f->t, minor, big_head);
	fake_types_make(&f->t, &f->types);
	f->t.dict_type = f->types.dict;
	f->target = (struct target_mem){ fake_homes_read, f };
	f->pure = pure;
	f->at.objects = f->t.at.objects;
	f->at.objects.ts_running_loop = minor == 13 ? 256 : 0;
	f->at.l = (struct py_layout){ .interp_next = 8, .interp_id = 16, .interp_threads_head = 24,
				      .interp_threads_main = ABI_NO_OFF32, .ts_next = 8,
				      .ts_thread_id = 64 };
	f->at.interps = f->t.at.interps;
	f->interp = fake_see(f, fake_see(f, f->at.interps) + 8);
	async_fields_of((uint8_t)minor, (uint16_t)f->t.head, &f->at.homes.fields);
	fake_home_types(f);
	f->set = fake_empty_set(f, FAKE_SLOTS);
	f->eager = minor >= 12 ? fake_empty_set(f, 8) : 0;
	f->current_keys = fake_keys(&f->t, true);
	f->current = fake_dict(&f->t, f->current_keys, 0);
	fake_home_thread(f);
	fake_home_modules(f);
	f->at.head = f->set;
	return fake_find(f) == 0 && f->at.homes.cnt == 1;
}

#endif
