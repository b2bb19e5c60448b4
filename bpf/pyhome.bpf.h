/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pyhome.bpf.h - which asyncio task the current thread runs in CPython 3.8 to 3.13 (--async).
 *
 * asyncio has a dict with the task that each loop runs now. The task whose coroutine's frame is in
 * the walked stack is the one that this thread runs: no other frame has that address. Who awaits it
 * is in its callbacks, in so many shapes of Python objects that user space reads them, while the
 * task lives: so the task is sent and user space woken, unless that has read the chain before and
 * it is recognised by its memory. A task that is made by asyncio's Python
 * class is the first variable of the method that runs its coroutine; the frame inside of it is its
 * coroutine's, which user space checks. So it is with trio's tasks, in all versions.
 */
#ifndef TACHBPF_PYHOME_BPF_H
#define TACHBPF_PYHOME_BPF_H

#include "pyasync_mem.bpf.h"

/* Entries of a dict that are read at once, and how often: a dict of 128 slots has 85. */
#define HOME_ENTRIES_A_READ 10
#define HOME_READS 9
/* Entries of the smallest dict, which has 8 slots: they are read with its head. */
#define HOME_SLOTS 8
#define HOME_ENTRIES_FIRST 5
_Static_assert(HOME_ENTRIES_A_READ * DICT_ENTRY_BYTES <= ASYNC_OBJECT_BYTES, "the room for them");

/* A loop runs this task: its coroutine's frame is looked for. */
static __always_inline void home_add_task(struct scratch *s, struct async_scratch *a, u64 task)
{
	u64 coro, frame;
	u32 n = a->current_cnt;

	count_reads(s, 1);
	if (n >= ASYNC_CURRENT_MAX || read_u64(s, &coro, task + a->place.old.coro) || !coro)
		return;
	frame = coro + a->place.old.coro_frame;
	if (a->place.old.frame_points && (read_u64(s, &frame, frame) || !frame))
		return;
	n &= ASYNC_CURRENT_MAX - 1;
	barrier_var(n);
	a->current[n] = task;
	a->frames[n] = frame;
	a->current_cnt = n + 1;
}

int home_add_entries(u32 at, u32 cnt);
/*
 * The tasks of up to HOME_ENTRIES_A_READ entries that were read to a->object, from `at` on. Returns
 * 0. This and the following functions have external linkage, so the verifier checks each only once.
 */
__weak __noinline int home_add_entries(u32 at, u32 cnt)
{
	struct async_scratch *a = async_scratch();
	struct scratch *s;
	u32 zero = 0, i;
	u64 task;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!cfg_async || !s || !a)
		return 0;
#pragma clang loop unroll(disable)
	for (i = 0; i < HOME_ENTRIES_A_READ; i++) {
		if (i >= cnt)
			break;
		task = object_u64(a, at + i * DICT_ENTRY_BYTES + 16);
		if (task)
			home_add_task(s, a, task);
	}
	return 0;
}

int home_more_entries(void);
/* Read the next entries at a->entries, and add their tasks. Returns 0 to continue. */
__weak __noinline int home_more_entries(void)
{
	struct async_scratch *a = async_scratch();
	struct scratch *s;
	u32 zero = 0, cnt;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!cfg_async || !s || !a || !a->entries_left || s->walk.out_of_time)
		return 1;
	cnt = a->entries_left;
	if (cnt > HOME_ENTRIES_A_READ)
		cnt = HOME_ENTRIES_A_READ;
	if (read_object(s, a, a->entries, cnt * DICT_ENTRY_BYTES))
		return 1;
	home_add_entries(0, cnt);
	a->entries += cnt * DICT_ENTRY_BYTES;
	a->entries_left -= cnt;
	return 0;
}

int home_read_dict(u64 dict);
/*
 * Fill a->current with the dict's values. Its table changes while other threads run tasks: what is
 * torn has no frame in the stack. Returns 0.
 */
__weak __noinline int home_read_dict(u64 dict)
{
	struct async_scratch *a = async_scratch();
	u64 keys, size, cnt;
	struct scratch *s;
	u32 zero = 0, i, at;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!cfg_async || !s || !a || read_u64(s, &keys, dict + a->place.old.dict_keys) || !keys)
		return 0;
	at = a->place.old.keys_indices;
	if (read_object(s, a, keys, at + HOME_SLOTS + HOME_ENTRIES_FIRST * DICT_ENTRY_BYTES))
		return 0;
	size = object_u64(a, KEYS_SIZE);
	if (a->place.old.keys_log2)
		size = 1ull << (size & 63);
	cnt = object_u64(a, a->place.old.keys_entries);
	if (size == HOME_SLOTS)
		return home_add_entries(at + HOME_SLOTS, cnt);
	if (size < HOME_SLOTS || size > 128 || cnt > size)
		return 0;
	a->entries = keys + at + size;
	a->entries_left = cnt;
#pragma clang loop unroll(disable)
	for (i = 0; i < HOME_READS; i++)
		if (home_more_entries())
			break;
	return 0;
}

/* The walk of the stack begins: which tasks may be in it. Returns 0. */
static __always_inline int home_begin(struct scratch *s, struct async_scratch *a)
{
	u64 interp = ts_u64(s, s->l.ts_interp), current = 0;
	u32 i;

#pragma clang loop unroll(disable)
	for (i = 0; i < ASYNC_PLACE_HOMES; i++) {
		if (i >= a->place.old.cnt || a->place.old.home[i].interp != interp)
			continue;
		current = a->place.old.home[i].current;
		a->step = a->place.old.home[i].step;
	}
	a->old = 1;
	if (current)
		home_read_dict(current);
	return 0;
}

/* The walk of the stack begins: which loop of trio may be in it. */
static __always_inline void trio_begin(struct scratch *s, struct async_scratch *a)
{
	u64 interp = ts_u64(s, s->l.ts_interp);
	u32 i;

#pragma clang loop unroll(disable)
	for (i = 0; i < ASYNC_PLACE_HOMES; i++) {
		if (i >= a->place.trio_cnt || a->place.trio[i].interp != interp)
			continue;
		a->trio = a->place.trio[i].code;
		a->trio_local = a->place.trio[i].local;
	}
}

int home_note_step(u64 fr, u32 trio);
/*
 * The frame fr runs the coroutine of a Python task, or of one of trio's: that of the frame before.
 * Returns 0.
 */
__weak __noinline int home_note_step(u64 fr, u32 trio)
{
	struct async_scratch *a = async_scratch();
	struct scratch *s;
	u32 zero = 0;
	u64 task;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!cfg_async || !s || !a || !s->walk.n)
		return 0;
	/* What the loop itself has called, a function of its own, is no coroutine. */
	if (trio && s->l.fr_owner != ABI_NO_OFF && a->owner != ASYNC_FRAME_OWNER)
		return 0;
	if (read_u64(s, &task, fr + s->l.fr_locals + (trio ? a->trio_local : 0)))
		return 0;
	task &= ~REFERENCE_TAGS;
	if (!task)
		return 0;
	a->at = s->walk.n - 1;
	a->by_home = 1;
	a->found.pure = 1;
	a->found.trio = trio;
	a->found.task = task;
	a->found.frame = s->walk.last;
	return 0;
}

/* The walk is at the frame fr with this code object, and the task's frame is not found yet. */
static __always_inline void home_note_frame(struct scratch *s, struct async_scratch *a, u64 fr,
					    u64 code)
{
	u32 i;

	if (a->step && code == a->step) {
		home_note_step(fr, 0);
		return;
	}
#pragma clang loop unroll(disable)
	for (i = 0; i < ASYNC_CURRENT_MAX; i++) {
		if (i >= a->current_cnt)
			return;
		if (a->frames[i] != fr)
			continue;
		a->at = s->walk.n;
		a->by_home = 1;
		a->found.pure = 0;
		a->found.trio = 0;
		a->found.task = a->current[i];
		a->found.frame = fr;
		return;
	}
}

/* Read the range i of a chain. Returns 0 and what its used words are, or -1: it is unreadable. */
static __always_inline int home_range_sum(struct scratch *s, struct async_scratch *a,
					  const struct async_chain *c, u32 i, u64 *sum)
{
	u64 range = c->range[i];

	count_reads(s, 1);
	if (s->walk.out_of_time ||
	    read_user(a->object, 8 * chain_range_words(range), chain_range_addr(range)))
		return -1;
	*sum = chain_range_sum(c->mask[i], (const u64 *)a->object);
	return 0;
}

int home_follow_fork(void);
/*
 * Returns 1 if the map has a fork for a->key, which then has the next key; 0 if it has a chain; -1:
 * nothing.
 */
__weak __noinline int home_follow_fork(void)
{
	struct async_scratch *a = async_scratch();
	const struct async_chain *c;
	struct scratch *s;
	u32 zero = 0;
	u64 sum;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!cfg_async || !s || !a)
		return -1;
	c = bpf_map_lookup_elem(&async_chains, &a->key);
	if (!c)
		return -1;
	if (c->cnt != CHAIN_IS_FORK)
		return 0;
	if (home_range_sum(s, a, c, 0, &sum))
		return -1;
	a->key.way = chain_hash(a->key.way, sum);
	return 1;
}

int home_check_chain(void);
/* Set a->found.known if the chain of a->key is that of the task. Returns 0. */
__weak __noinline int home_check_chain(void)
{
	struct async_scratch *a = async_scratch();
	const struct async_chain *c;
	struct scratch *s;
	u64 id, hash = 0, sum;
	u32 zero = 0, i;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!cfg_async || !s || !a)
		return 0;
	c = bpf_map_lookup_elem(&async_chains, &a->key);
	if (!c)
		return 0;
	id = *(const volatile u64 *)&c->id;
#pragma clang loop unroll(disable)
	for (i = 0; i < CHAIN_RANGES; i++) {
		if (i >= c->cnt)
			break;
		if (home_range_sum(s, a, c, i, &sum))
			return 0;
		hash = chain_hash(hash, sum);
		if ((u32)hash != c->range_check[i])
			return 0;
	}
	if (c->check == chain_check(id, hash))
		a->found.known = id;
	return 0;
}

/*
 * If user space has read the chain of a task like a->found, and the memory that it follows from is
 * the same now: a->found.known.
 */
static __always_inline void home_find_chain(struct async_scratch *a)
{
	const struct raw_task *t = &a->found;
	int fork = 1;
	u32 i;

	a->key.tgid = bpf_get_current_pid_tgid() >> 32;
	a->key.pure = t->pure;
	a->key.first = t->pure ? t->task : t->callback0;
	a->key.second = t->pure ? t->frame : t->callbacks;
	a->key.way = 0;
#pragma clang loop unroll(disable)
	for (i = 0; i <= CHAIN_FORKS && fork > 0; i++)
		fork = home_follow_fork();
	if (!fork)
		home_check_chain();
}

int home_take_task(void);
/* The stack has the task a->found: read what it has now. Returns 0. */
__weak __noinline int home_take_task(void)
{
	struct async_scratch *a = async_scratch();
	struct raw_task *t;
	struct scratch *s;
	u32 zero = 0, at;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!cfg_async || !s || !a)
		return 0;
	t = &a->found;
	t->at = a->at;
	t->flags = a->inside ? ASYNC_INSIDE : 0;
	t->coro = t->callback0 = t->callbacks = t->name = t->known = 0;
	if (!t->pure && !read_object(s, a, t->task, a->place.old.task_bytes)) {
		t->coro = object_u64(a, a->place.old.coro);
		t->callback0 = object_u64(a, a->place.old.callback0);
		t->callbacks = object_u64(a, a->place.old.callbacks);
		t->name = object_u64(a, a->place.old.name);
	}
	at = a->at & (ABI_MAX_FRAMES - 1);
	barrier_var(at);
	if (t->pure)
		t->coro = s->sample.frames[at].code;
	if (!cfg_task_names)
		home_find_chain(a);
	/* On error, it is zeroed. */
	if (!t->known)
		read_user(t->name_bytes, RAW_TASK_NAME, t->name);
	count_reads(s, 1);
	return 0;
}

int home_send(void);
/*
 * Send it, for the record whose header is in s->sample. If its chain is not known, user space takes
 * it at once, while the task lives, unless it has said that it will not. Returns 0.
 */
__weak __noinline int home_send(void)
{
	struct async_scratch *a = async_scratch();
	struct scratch *s;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!cfg_async || !s || !a)
		return 0;
	a->found.h = s->sample.h;
	a->found.h.kind = RAW_TASK;
	a->found.tid = (u32)bpf_get_current_pid_tgid();
	a->found.interp_id = s->sample.interp_id;
	a->found.cpu = bpf_get_smp_processor_id();
	if (a->found.known ?
	    bpf_ringbuf_output(&events, &a->found, offsetof(struct raw_task, name_bytes),
			       BPF_RB_NO_WAKEUP) :
	    bpf_ringbuf_output(&events, &a->found, sizeof(a->found),
			       chains_wait ? BPF_RB_NO_WAKEUP : BPF_RB_FORCE_WAKEUP))
		count_end(CNT_ASYNC_LOST);
	return 0;
}

#endif
