/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * async_world.h - a thread that runs an asyncio task in CPython 3.8 to 3.13, and asyncio's dict of
 * running tasks.
 */
#ifndef TACHBPF_TESTS_ASYNC_WORLD_H
#define TACHBPF_TESTS_ASYNC_WORLD_H

#include "world.h"

#include "bpf/abi_await.h"
#include "bpf/pyasync.bpf.h"
#include "asyncio/home.h"

static struct world w;
static struct async_old_layout l;
static u64 coro;		/* of the task that the thread runs */

#define DICT (W_HEAP + 0x40000000ull)
#define KEYS (DICT + 0x2000ull)
#define NAME (DICT + 0x8000ull)
#define TASK(i) (W_HEAP + 0x50000000ull + (i) * 0x1000ull)
#define CORO(i) (W_HEAP + 0x70000000ull + (i) * 0x1000ull)
#define CALLBACK0 0x1234560
#define CALLBACKS 0x1234570
#define INTERP_2 (W_INTERP + 0x100000ull)

static inline void set(const volatile bool *setting, bool v)
{
	host_set(setting, &v, sizeof(v));
}

/* ---- objects ---- */

/* The task i, which has this coroutine. */
static inline void put_task(u32 i, u64 of)
{
	host_mem_map(TASK(i), 0x1000);
	host_mem_put64(TASK(i) + l.coro, of);
	host_mem_put64(TASK(i) + l.callback0, CALLBACK0);
	host_mem_put64(TASK(i) + l.callbacks, CALLBACKS);
	host_mem_put64(TASK(i) + l.name, NAME);
}

/* A coroutine, not in the stack. */
static inline void put_coro(u32 i)
{
	host_mem_map(CORO(i), 0x1000);
	host_mem_put64(CORO(i) + l.coro_frame, CORO(i) + 0x800);
}

/* The table of the dict: so many slots, and so many entries in use. */
static inline void put_keys(u32 slots, u64 entries)
{
	host_mem_unmap(KEYS, 0x4000);
	host_mem_map(KEYS, 0x4000);
	host_mem_map(DICT, 0x1000);
	host_mem_put64(DICT + l.dict_keys, KEYS);
	host_mem_put64(KEYS + KEYS_SIZE, slots);
	if (l.keys_log2)
		host_mem_put64(KEYS + KEYS_SIZE, 0xabcd00 + (u64)__builtin_ctz(slots));
	host_mem_put64(KEYS + l.keys_entries, entries);
}

static inline u64 entry_at(u32 slots, u32 i)
{
	return KEYS + l.keys_indices + slots + DICT_ENTRY_BYTES * i;
}

/* Entry number i: a loop that runs this task; 0: it was removed. */
static inline void put_entry(u32 slots, u32 i, u64 task)
{
	host_mem_put64(entry_at(slots, i), 0x5555);
	host_mem_put64(entry_at(slots, i) + 8, task ? 0x4000000 + 16 * i : 0);
	host_mem_put64(entry_at(slots, i) + 16, task);
}

static inline void put_place(void)
{
	struct async_place p = { .old = l };
	u32 tgid = host.task.tgid;

	assert_int_equal(bpf_map_update_elem(&async_places, &tgid, &p, BPF_ANY), 0);
}

static inline void read_layout(void)
{
	u32 head = w.img.objects.str_length;
	struct async_fields f;

	assert_true(async_fields_of(w.img.minor, head, &f));
	l = (struct async_old_layout){
		.cnt = 2, .dict_keys = head + 16, .keys_log2 = w.img.minor >= 11,
		.keys_entries = w.img.minor >= 11 ? 24 : 32,
		.keys_indices = w.img.minor >= 11 ? 32 : 40,
		.coro = f.coro, .callback0 = f.callback0, .callbacks = f.callbacks, .name = f.name,
		.task_bytes = f.task_bytes,
		.coro_frame = w.img.minor >= 11 ? w.img.layout.fr_generator : head,
		.frame_points = w.img.minor < 11,
		.home = { { INTERP_2, DICT + 0x800, 0 }, { W_INTERP, DICT, 0 } },
	};
}

/*
 * A thread in the task 0: two functions of the loop, the task's coroutine, and two functions that
 * it has called.
 */
static inline void make_world(int build)
{
	u32 i;

	world_init(&w, build);
	host_map_size(&async_places, 16);
	host_map_size(&async_chains, 64);
	read_layout();
	for (i = 0; i < 10; i++)
		world_code(&w);
	world_push(&w, OWNER_THREAD, 0, 4);
	world_push(&w, OWNER_THREAD, 1, 6);
	world_push(&w, OWNER_GENERATOR, 2, 8);
	coro = l.frame_points ? CORO(0) : w.top - l.coro_frame;
	host_mem_map(coro, 64);
	if (l.frame_points)
		host_mem_put64(coro + l.coro_frame, w.top);
	world_push(&w, OWNER_THREAD, 3, 10);
	world_push(&w, OWNER_THREAD, 4, 12);
	host_mem_map(NAME, 0x1000);
	host_mem_put64(NAME, 0x7777);
	put_task(0, coro);
	put_keys(8, 1);
	put_entry(8, 0, TASK(0));
	put_place();
	set(&cfg_async, true);
}

/* ---- records ---- */

/* Runs a tick, whose sample must be whole. Returns its RAW_TASK, or NULL. */
static inline const struct raw_task *tick(void)
{
	const struct raw_sample *s = world_expect(&w, w.want_cnt, 0);
	const struct raw_task *r;
	size_t len;
	int i = 0;

	r = host_record(RAW_TASK, &i, &len);
	if (!r)
		return NULL;
	assert_int_equal(len, r->known ? offsetof(struct raw_task, name_bytes) : sizeof(*r));
	assert_int_equal(r->h.time_ns, s->h.time_ns);
	assert_int_equal(r->h.tgid, s->h.tgid);
	assert_int_equal(r->h.start_ns, s->h.start_ns);
	assert_int_equal(r->tid, s->tid);
	assert_int_equal(r->cpu, s->cpu);
	assert_int_equal(r->interp_id, s->interp_id);
	assert_int_equal(r->at, 2);
	i = 0;
	assert_null(host_record(RAW_ASYNC, &i, NULL));
	return r;
}

static inline void expect_task(u32 task)
{
	const struct raw_task *r = tick();
	u64 name = 0x7777;

	assert_non_null(r);
	assert_int_equal(r->task, TASK(task));
	assert_int_equal(r->coro, coro);
	assert_int_equal(r->frame, w.at[2]);
	assert_int_equal(r->callback0, CALLBACK0);
	assert_int_equal(r->callbacks, CALLBACKS);
	assert_int_equal(r->name, NAME);
	assert_memory_equal(r->name_bytes, &name, sizeof(name));
	assert_int_equal(r->pure, 0);
	assert_int_equal(r->trio, 0);
	assert_int_equal(r->flags, 0);
}

#endif
