/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fake_tasks.h - the memory of a process that runs asyncio, as CPython 3.14 or 3.15 lays it out:
 * one interpreter, a thread, tasks with coroutines.
 */
#ifndef TACHBPF_TESTS_FAKE_TASKS_H
#define TACHBPF_TESTS_FAKE_TASKS_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asyncio/section.h"
#include "cpython/layout.h"
#include "asyncio/tasks.h"

#ifndef GOLDEN_DIR
#define GOLDEN_DIR "tests/golden"
#endif

#define FAKE_BASE 0x7f0000000000ull
#define FAKE_BYTES (4u << 20)
/* Of an object: its fields lie within, and what is read in excess. */
#define FAKE_OBJECT 640

struct fake_tasks {
	uint8_t mem[FAKE_BYTES];
	size_t used;
	unsigned int minor;
	struct tasks_at at;
	struct target_mem target;
	uint64_t interp, thread;
	uint64_t types[5];	/* coroutine, async_generator, asend, str, int */
	uint64_t reads;
	/* Called before each read; may change the memory. */
	void (*before)(struct fake_tasks *f, uint64_t addr);
};

enum { FAKE_CORO, FAKE_AGEN, FAKE_ASEND, FAKE_STR, FAKE_INT };

static inline int fake_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct fake_tasks *f = ctx;

	f->reads++;
	if (f->before)
		f->before(f, addr);
	if (addr < FAKE_BASE || addr - FAKE_BASE > FAKE_BYTES ||
	    len > FAKE_BYTES - (addr - FAKE_BASE))
		return -EFAULT;
	memcpy(buf, f->mem + (addr - FAKE_BASE), len);
	return 0;
}

static inline uint64_t fake_alloc(struct fake_tasks *f, size_t bytes)
{
	uint64_t at = FAKE_BASE + f->used;

	f->used += (bytes + 15) & ~15ul;
	return f->used <= FAKE_BYTES ? at : 0;
}

static inline void fake_set(struct fake_tasks *f, uint64_t addr, const void *bytes, size_t len)
{
	uint64_t off = addr - FAKE_BASE;

	if (off > FAKE_BYTES || len > FAKE_BYTES - off)
		abort();		/* fake_alloc() has no more */
	memcpy(f->mem + off, bytes, len);
}

static inline void fake_word(struct fake_tasks *f, uint64_t addr, uint64_t word)
{
	fake_set(f, addr, &word, 8);
}

static inline uint64_t fake_get(const struct fake_tasks *f, uint64_t addr)
{
	uint64_t word;

	memcpy(&word, f->mem + (addr - FAKE_BASE), 8);
	return word;
}

static inline uint64_t fake_object(struct fake_tasks *f, uint64_t type, size_t bytes)
{
	uint64_t obj = fake_alloc(f, bytes);

	fake_word(f, obj + f->at.async.coro.ob_type, type);
	return obj;
}

static inline uint64_t fake_type(struct fake_tasks *f, const char *name, uint64_t flags)
{
	uint64_t type = fake_alloc(f, 256), at = fake_alloc(f, 32);
	uint16_t head = f->at.async.coro.ob_type + 8;

	fake_set(f, at, name, strlen(name) + 1);
	fake_word(f, type + head + 8, at);
	fake_word(f, type + head + 152, flags);
	return type;
}

/* A compact ASCII str. */
static inline uint64_t fake_str(struct fake_tasks *f, const char *text)
{
	const struct py_object_layout *o = &f->at.objects;
	uint64_t obj = fake_object(f, f->types[FAKE_STR], 64 + strlen(text));
	uint32_t state = 1u << o->str_kind_shift | o->str_compact_bit | o->str_ascii_bit;

	fake_word(f, obj + o->str_length, strlen(text));
	fake_set(f, obj + o->str_state, &state, 4);
	fake_set(f, obj + o->str_ascii_data, text, strlen(text));
	return obj;
}

static inline uint64_t fake_int(struct fake_tasks *f, uint64_t n)
{
	const struct async_coroutine_layout *c = &f->at.async.coro;
	uint64_t obj = fake_object(f, f->types[FAKE_INT], 64);
	uint32_t digit, cnt = 0;

	for (; n; n >>= 30, cnt++) {
		digit = n & ((1u << 30) - 1);
		fake_set(f, obj + c->int_digits + 4 * cnt, &digit, 4);
	}
	fake_word(f, obj + c->int_tag, cnt << 3 | !cnt);
	return obj;
}

/* A code object of this name. */
static inline uint64_t fake_code(struct fake_tasks *f, const char *name)
{
	uint64_t code = fake_alloc(f, FAKE_OBJECT);
	const struct py_layout *l = &f->at.l;

	fake_word(f, code + l->co_qualname, fake_str(f, name));
	fake_word(f, code + l->co_filename, fake_str(f, "/f.py"));
	return code;
}

/*
 * A coroutine (or FAKE_AGEN) of this code at byte offset lasti. awaited: it is suspended in await;
 * 0: it is not.
 */
static inline uint64_t fake_coro(struct fake_tasks *f, int type, uint64_t code, uint32_t lasti,
				 uint64_t awaited)
{
	const struct async_coroutine_layout *c = &f->at.async.coro;
	uint64_t obj = fake_object(f, f->types[type], FAKE_OBJECT), fr = obj + c->gen_frame;
	uint64_t sp = fr + f->at.l.fr_bytes + 64;
	int8_t state = awaited ? c->state_yield_from : f->minor == 15 ? 1 : -2;

	fake_word(f, fr + f->at.l.fr_code, code);
	fake_word(f, fr + f->at.l.fr_ip, code + f->at.l.co_code + lasti);
	fake_word(f, fr + c->fr_stack, sp);
	fake_word(f, sp - c->awaited_below, awaited | 1);	/* with a tag */
	fake_set(f, obj + c->gen_state, &state, 1);
	return obj;
}

/* A set of tasks with some that were removed. */
static inline uint64_t fake_set_of(struct fake_tasks *f, const uint64_t *tasks, uint32_t cnt,
				   uint32_t slots)
{
	const struct async_coroutine_layout *c = &f->at.async.coro;
	uint64_t set = fake_object(f, 0, 128), table = fake_alloc(f, 16 * slots);
	uint32_t i;

	fake_word(f, table, table);		/* removed: hash -1 */
	fake_word(f, table + 8, UINT64_MAX);
	for (i = 0; i < cnt; i++) {
		fake_word(f, table + 16 * (i + 2), tasks[i]);
		fake_word(f, table + 16 * (i + 2) + 8, i);
	}
	fake_word(f, set + c->set_used, cnt);
	fake_word(f, set + c->set_mask, slots - 1);
	fake_word(f, set + c->set_table, table);
	return set;
}

static inline uint64_t fake_node(const struct fake_tasks *f, uint64_t task)
{
	return task + f->at.async.task.task_node;
}

/* Add a node at the end of the list. */
static inline void fake_link(struct fake_tasks *f, uint64_t head, uint64_t node)
{
	uint64_t last = fake_get(f, head + 8);

	fake_word(f, node, head);
	fake_word(f, node + 8, last);
	fake_word(f, last, node);
	fake_word(f, head + 8, node);
}

static inline void fake_unlink(struct fake_tasks *f, uint64_t node)
{
	uint64_t next = fake_get(f, node), prev = fake_get(f, node + 8);

	fake_word(f, prev, next);
	fake_word(f, next + 8, prev);
	fake_word(f, node, 0);
	fake_word(f, node + 8, 0);
}

static inline uint64_t fake_head(const struct fake_tasks *f)
{
	return f->thread + f->at.async.task.ts_tasks_head;
}

/* A task of the thread. */
static inline uint64_t fake_task(struct fake_tasks *f, uint64_t name, uint64_t coro)
{
	uint64_t task = fake_alloc(f, 256);

	fake_word(f, task + f->at.async.task.task_name, name);
	fake_word(f, task + f->at.async.task.task_coro, coro);
	fake_set(f, task + f->at.async.task.task_is_task, &(uint8_t){ 1 }, 1);
	fake_link(f, fake_head(f), fake_node(f, task));
	return task;
}

static inline void fake_await(struct fake_tasks *f, uint64_t task, uint64_t by, bool set)
{
	fake_word(f, task + f->at.async.task.task_awaited_by, by);
	fake_set(f, task + f->at.async.task.task_awaited_by_is_set, &(uint8_t){ set }, 1);
}

static inline size_t fake_golden(const char *kind, unsigned int minor, const char *build,
				 uint8_t *out, size_t size)
{
	char path[512];
	size_t len = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s_3.%u%s.bin", GOLDEN_DIR, kind, minor, build);
	f = fopen(path, "rb");
	if (f) {
		len = fread(out, 1, size, f);
		fclose(f);
	}
	return len;
}

/* The offsets of this version, as its files have them. Returns false if they are not there. */
static inline bool fake_layouts(struct fake_tasks *f, unsigned int minor, const char *build)
{
	struct cpython_image img = { .minor = minor };
	uint8_t bytes[DEBUG_OFFSETS_MAX];
	struct debug_offsets d;
	const char *what;
	size_t len = fake_golden("debug_offsets", minor, build, bytes, sizeof(bytes));

	if (debug_offsets_read(bytes, len, minor, &d, &what) ||
	    layout_from_debug_offsets(&img, minor, &d, &what))
		return false;
	f->at.l = img.layout;
	f->at.objects = img.objects;
	f->at.async.coro = img.coro;
	len = fake_golden("asyncio", minor, "", bytes, sizeof(bytes));
	return !asyncio_section_parse(bytes, len, &f->at.async.task);
}

/* A process with one thread without tasks. */
static inline bool fake_tasks_make(struct fake_tasks *f, unsigned int minor, const char *build)
{
	uint64_t first, head;

	memset(f, 0, sizeof(*f));
	f->minor = minor;
	f->target = (struct target_mem){ fake_read, f };
	if (!fake_layouts(f, minor, build))
		return false;
	f->at.async.valid = 1;
	first = fake_alloc(f, 16);
	f->types[FAKE_CORO] = fake_type(f, "coroutine", 0);
	f->types[FAKE_AGEN] = fake_type(f, "async_generator", 0);
	f->types[FAKE_ASEND] = fake_type(f, "async_generator_asend", 0);
	f->types[FAKE_STR] = fake_type(f, "str", 1ull << 28);
	f->types[FAKE_INT] = fake_type(f, "int", 1ull << 24);
	f->interp = fake_alloc(f, 16384);
	f->thread = fake_alloc(f, 2048);
	fake_word(f, first, f->interp);
	fake_word(f, f->interp + f->at.l.interp_threads_head, f->thread);
	fake_word(f, f->interp + f->at.l.interp_threads_main, f->thread);
	fake_word(f, f->thread + f->at.objects.ts_native_id, 100);
	head = fake_head(f);
	fake_word(f, head, head);
	fake_word(f, head + 8, head);
	head = f->interp + f->at.async.task.interp_tasks_head;
	fake_word(f, head, head);
	fake_word(f, head + 8, head);
	f->at.interps = first;
	f->at.head = fake_head(f);
	return true;
}

#endif
