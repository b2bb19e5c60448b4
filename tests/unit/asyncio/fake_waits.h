/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fake_waits.h - a task that waits in a function of asyncio: the frames of that function and of
 * its caller, and the object that it waits for, in the memory of fake_values.h.
 */
#ifndef TACHBPF_TESTS_FAKE_WAITS_H
#define TACHBPF_TESTS_FAKE_WAITS_H

#include "asyncio/waits_for.h"
#include "tests/unit/cpython/fake_values.h"

#define FAKE_CO_FILE 224	/* in a code object, where nothing else is */
#define FAKE_CO_NAME 232

struct fake_waits {
	struct fake_threads t;
	struct fake_types types;
	struct tasks_at at;
	struct task_read task;
	struct task_reader reader;
	uint64_t nothing;	/* the name and value of variables of no interest */
	uint64_t type, obj;	/* what it waits for, and its class */
};

/*
 * Add a frame inside of those there are, of a function with two arguments and a variable that is
 * in a cell. 0: nothing.
 */
static inline struct fake_frame fake_waits_frame(struct fake_waits *f, const char *file,
						 const char *function, const char *const names[3],
						 const uint64_t values[3])
{
	struct coro_state *c = &f->task.coros[f->task.coro_cnt++];
	uint64_t strs[3], objs[3];
	struct fake_frame frame;
	int i;

	for (i = 0; i < 3; i++) {
		strs[i] = fake_str(&f->t, &f->types, names[i]);
		objs[i] = values[i] ? values[i] : f->nothing;
	}
	fake_frame_make(&f->t, &f->types, &frame, strs, objs, 3, 2);
	fake_poke(&f->t, frame.frame.code + FAKE_CO_FILE, fake_str(&f->t, &f->types, file), 8);
	fake_poke(&f->t, frame.frame.code + FAKE_CO_NAME, fake_str(&f->t, &f->types, function), 8);
	f->at.l = frame.at.layout;
	f->at.l.co_filename = FAKE_CO_FILE;
	f->at.l.co_name = FAKE_CO_NAME;
	c->frame = frame.frame.addr;
	c->code = frame.frame.code;
	return frame;
}

/* A function of asyncio that has the object as its first argument, or its second one. */
static inline void fake_waits_inside(struct fake_waits *f, const char *file, const char *function,
				     uint64_t obj, bool second)
{
	static const char *const names[3] = { "self", "sock", "fut" };

	fake_waits_frame(f, file, function, names,
			 (const uint64_t[3]){ second ? 0 : obj, second ? obj : 0 });
}

/* The globals of the innermost frame: one variable, which has this object. */
static inline void fake_waits_global(struct fake_waits *f, const char *name, uint64_t obj)
{
	unsigned int minor = f->t.at.objects.minor;
	uint64_t at = f->task.coros[f->task.coro_cnt - 1].frame, keys = fake_keys(&f->t, false);

	fake_add(&f->t, keys, fake_str(&f->t, &f->types, name), obj);
	fake_poke(&f->t, at + (minor <= 10 ? 16 : minor == 11 ? 8 : 24),
		  fake_dict(&f->t, keys, 0), 8);
}

/* No frames yet. The object is of a class of Python with this name. */
static inline void fake_waits_make(struct fake_waits *f, unsigned int minor, bool big,
				   const char *class)
{
	memset(f, 0, sizeof(*f));
	fake_threads_make(&f->t, minor, big);
	fake_types_make(&f->t, &f->types);
	f->t.dict_type = f->types.dict;
	f->at.objects = f->t.at.objects;
	f->nothing = fake_object(&f->t, f->types.none, 8);
	f->obj = fake_instance(&f->t, &f->types, class, "_loop", f->nothing, NULL, 0);
	memcpy(&f->type, f->t.mem + (f->obj + f->t.head - 8 - FAKE_BASE), 8);
}

/* A function with one variable in its closure, as a callback of _chain_future() has source_loop. */
static inline uint64_t fake_waits_callback(struct fake_waits *f, const char *file,
					   const char *function, const char *variable,
					   uint64_t value)
{
	const struct py_code_layout *row = py_code_layout(f->t.at.objects.minor);
	unsigned int minor = f->t.at.objects.minor;
	uint64_t func = fake_object(&f->t, fake_named_type(&f->t, "function", 0), 12 * 8);
	uint64_t code = fake_object(&f->t, 0, 256), words = func + f->t.head;
	uint64_t name = fake_str(&f->t, &f->types, variable);
	uint64_t cell = fake_object(&f->t, f->types.cell, 8);

	fake_poke(&f->t, cell + f->t.head, value, 8);
	fake_poke(&f->t, code + (minor < 11 ? row->third : row->names) + f->t.head - 16,
		  fake_tuple(&f->t, &f->types, &name, 1), 8);
	fake_poke(&f->t, code + FAKE_CO_FILE, fake_str(&f->t, &f->types, file), 8);
	fake_poke(&f->t, code + FAKE_CO_NAME, fake_str(&f->t, &f->types, function), 8);
	fake_poke(&f->t, words + (minor < 10 ? 0 : 32), code, 8);
	fake_poke(&f->t, words + (minor < 10 ? 32 : 56),
		  fake_tuple(&f->t, &f->types, &cell, 1), 8);
	return func;
}

/* A future with this first callback: by C, or by Python. */
static inline uint64_t fake_waits_future(struct fake_waits *f, uint64_t callback, bool pure)
{
	uint64_t pair[2] = { callback, f->nothing }, tuple, future;

	if (pure) {
		tuple = fake_tuple(&f->t, &f->types, pair, 2);
		return fake_instance(&f->t, &f->types, "Future", "_callbacks",
				     fake_list(&f->t, &f->types, &tuple, callback != 0), NULL, 0);
	}
	future = fake_object(&f->t, f->types.thing, 64);
	fake_poke(&f->t, future + f->t.head + 8, callback, 8);
	return future;
}

static inline void fake_waits_begin(struct fake_waits *f, uint32_t reads)
{
	memset(&f->reader, 0, sizeof(f->reader));
	f->reader.at = &f->at;
	py_walk_init(&f->reader.walk, &f->t.target, &f->at.objects, reads);
}

#endif
