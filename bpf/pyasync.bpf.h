/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pyasync.bpf.h - which tasks await the asyncio task that the current thread runs (--async).
 *
 * Knows struct async_layout and no CPython version. The walk of the thread's stack finds the frame
 * of the task's coroutine; if it is there, its awaiters are walked: task by task, and in each the
 * coroutines that await each other. Up to 3.13 user space walks them: see pyhome.bpf.h. All of that
 * memory may be hostile: every offset is masked before its use, every chain is bounded, and the
 * sample's time limit holds. Without cfg_async the verifier removes all calls of this. Kernels that
 * check each function by itself (5.10) do so whether it is called or not, so each checks cfg_async
 * first.
 */
#ifndef TACHBPF_PYASYNC_BPF_H
#define TACHBPF_PYASYNC_BPF_H

#include "pyhome.bpf.h"

/* Steps (a task or a coroutine) in one call of async_steps(), and limit on calls. */
#define ASYNC_STEPS_A_CALL 8
#define ASYNC_CALLS ((RAW_ASYNC_TASKS + RAW_ASYNC_FRAMES) / ASYNC_STEPS_A_CALL + 2)
/* Slots of a set that are searched for an awaiter. */
#define ASYNC_SET_SLOTS 256
/* PyTypeObject.tp_flags, counted from the end of its PyObject header: see pyextra.bpf.h. */
#define ASYNC_TP_FLAGS 152
#define TPFLAGS_UNICODE_SUBCLASS (1ull << 28)

/* Returns true if this is the current process' place, not that of one with its tgid before. */
static __always_inline bool is_of_current(struct async_place *place)
{
	if (!place->start_ns)
		place->start_ns = current_start_ns();
	return place->start_ns == current_start_ns();
}

/* The process had not loaded both. If it has mapped code since then, it may have loaded them. */
static __always_inline void ask_again(struct async_place *place, u32 tgid)
{
	struct raw_tick t = {
		.h = { .kind = RAW_CHANGED, .why = CHANGED_ASYNC, .tgid = tgid },
		.exec_pages = current_exec_pages(),
	};

	if (place->exec_pages == t.exec_pages)
		return;
	t.h.time_ns = bpf_ktime_get_ns();
	t.h.start_ns = place->start_ns;
	/* If the ring buffer is full, the next tick tries again. */
	if (!bpf_ringbuf_output(&events, &t, sizeof(t), BPF_RB_FORCE_WAKEUP))
		place->exec_pages = t.exec_pages;
}

int async_begin(u64 ts);
/*
 * The walk of the stack of the state ts begins: find a->frame, the frame that it must pass if the
 * thread runs a task. Returns 0. This and the following functions have external linkage, so the
 * verifier checks each only once.
 */
__weak __noinline int async_begin(u64 ts)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32, zero = 0;
	struct async_place *place;
	struct async_scratch *a;
	struct scratch *s;
	u64 task = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	a = async_scratch();
	if (!cfg_async || !s || !a)
		return 0;
	a->frame = 0;
	a->at = ASYNC_NOT_THERE;
	a->old = 0;
	a->step = 0;
	a->trio = 0;
	a->current_cnt = 0;
	place = bpf_map_lookup_elem(&async_places, &tgid);
	if (!place || !is_of_current(place))
		return 0;
	if (!place->whole)
		ask_again(place, tgid);
	if (!place->l.valid && !place->old.cnt && !place->trio_cnt)
		return 0;
	a->place = *place;
	if (a->place.trio_cnt)
		trio_begin(s, a);
	if (!place->l.valid)
		return place->old.cnt ? home_begin(s, a) : 0;
	if (read_user(&task, 8, ts + a->place.l.task.ts_running_task) || !task ||
	    read_object(s, a, task, a->place.l.task.task_bytes) ||
	    object_u8(a, a->place.l.task.task_is_task) != 1)
		return 0;
	a->task = a->running = task;
	a->name = object_u64(a, a->place.l.task.task_name) & ~REFERENCE_TAGS;
	a->coro = object_u64(a, a->place.l.task.task_coro) & ~REFERENCE_TAGS;
	if (a->coro)
		a->frame = a->coro + a->place.l.coro.gen_frame;
	return 0;
}

int async_note_frame(u64 fr, u64 code, u32 owner);
/* The walk of the stack is at the frame fr with this code object and owner. Returns 0. */
__weak __noinline int async_note_frame(u64 fr, u64 code, u32 owner)
{
	struct async_scratch *a = async_scratch();
	struct scratch *s;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!cfg_async || !s || !a)
		return 0;
	if (!s->walk.n) {	/* the walk begins, perhaps again */
		a->at = ASYNC_NOT_THERE;
		a->inside = 0;
	}
	if (a->at != ASYNC_NOT_THERE) {
		a->inside |= owner == ASYNC_FRAME_OWNER;
	} else if (a->frame == fr) {
		a->at = s->walk.n;
		a->by_home = 0;
	} else if (a->trio && code == a->trio) {
		home_note_step(fr, 1);
	} else if (a->old) {
		home_note_frame(s, a, fr, code);
	}
	a->owner = owner;
	return 0;
}

/*
 * The first entry of the set at addr; 0: none in the first ASYNC_SET_SLOTS slots. Sets
 * ASYNC_SEVERAL. An emptied slot has the hash -1 (Objects/setobject.c, dummy).
 */
static __always_inline u64 first_of_set(struct scratch *s, struct async_scratch *a, u64 addr)
{
	u64 used = 0, mask = 0, table = 0;
	u32 i, k;

	count_reads(s, 3);
	if (read_user(&used, 8, addr + a->place.l.coro.set_used) ||
	    read_user(&mask, 8, addr + a->place.l.coro.set_mask) ||
	    read_user(&table, 8, addr + a->place.l.coro.set_table) || !used || used > mask + 1)
		return 0;
	if (used > 1)
		a->raw.flags |= ASYNC_SEVERAL;
#pragma clang loop unroll(disable)
	for (i = 0; i < ASYNC_SET_SLOTS / ASYNC_SLOTS_A_READ; i++) {
		count_reads(s, 1);
		if (i * ASYNC_SLOTS_A_READ > mask || s->walk.out_of_time ||
		    read_user(a->slots, sizeof(a->slots), table + i * sizeof(a->slots)))
			return 0;
#pragma clang loop unroll(disable)
		for (k = 0; k < ASYNC_SLOTS_A_READ; k++) {
			u32 slot = k & (ASYNC_SLOTS_A_READ - 1);

			if (i * ASYNC_SLOTS_A_READ + k <= mask && a->slots[2 * slot] &&
			    a->slots[2 * slot + 1] != ~0ull)
				return a->slots[2 * slot];
		}
	}
	return 0;
}

#define ASYNC_GOES_ON ASYNC_END_CNT

/* Add the awaiting task at addr. Returns how the walk ends, or ASYNC_GOES_ON. */
static __always_inline u32 enter_awaiter(struct scratch *s, struct async_scratch *a, u64 addr)
{
	u32 i, n = a->tasks;
	u8 is_task;

#pragma clang loop unroll(disable)
	for (i = 0; i < RAW_ASYNC_TASKS; i++)
		if (i < n && a->seen[i] == addr)
			return ASYNC_CYCLE;
	if (n >= RAW_ASYNC_TASKS)
		return ASYNC_DEPTH;
	if (read_object(s, a, addr, a->place.l.task.task_bytes))
		return ASYNC_UNREADABLE;
	is_task = object_u8(a, a->place.l.task.task_is_task);
	if (is_task > 1)
		return ASYNC_UNREADABLE;
	n &= RAW_ASYNC_TASKS - 1;
	barrier_var(n);
	a->seen[n] = addr;
	a->raw.starts[n] = a->n;
	a->tasks = n + 1;
	a->task = addr;
	a->first = 1;
	/* A future has awaiters, but no frames of its own. */
	a->coro = is_task ? object_u64(a, a->place.l.task.task_coro) & ~REFERENCE_TAGS : 0;
	return is_task && !a->coro ? ASYNC_NOT_SUSPENDED : ASYNC_GOES_ON;
}

int async_awaiter(void);
/* Find the task that awaits a->task. Returns how the walk ends, or ASYNC_GOES_ON. */
__weak __noinline int async_awaiter(void)
{
	struct async_scratch *a = async_scratch();
	struct scratch *s;
	u32 zero = 0;
	u64 by;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!cfg_async || !s || !a || read_object(s, a, a->task, a->place.l.task.task_bytes))
		return ASYNC_UNREADABLE;
	by = object_u64(a, a->place.l.task.task_awaited_by) & ~REFERENCE_TAGS;
	if (!by)
		return ASYNC_WHOLE;
	if (object_u8(a, a->place.l.task.task_awaited_by_is_set)) {
		by = first_of_set(s, a, by);
		if (!by)
			return s->walk.out_of_time ? ASYNC_TIME : ASYNC_UNREADABLE;
	}
	if (by == a->running)
		return ASYNC_CYCLE;
	return enter_awaiter(s, a, by);
}

/*
 * What the coroutine in a->object awaits; 0: it is not a coroutine of the same kind. A suspended
 * frame awaits the object that it has sent to, near the top of its stack.
 */
static __always_inline u64 awaited_by_coro(struct scratch *s, struct async_scratch *a)
{
	u64 top = object_u64(a, a->place.l.coro.gen_frame + a->place.l.coro.fr_stack), next, type;

	count_reads(s, 2);
	if (read_user(&next, 8, top - a->place.l.coro.awaited_below))
		return 0;
	next &= ~REFERENCE_TAGS;
	if (!next || read_user(&type, 8, next + a->place.l.coro.ob_type) || type != a->type)
		return 0;
	return next;
}

int async_coroutine(void);
/* Add the frame of a->coro. Returns as async_awaiter(). */
__weak __noinline int async_coroutine(void)
{
	struct async_scratch *a = async_scratch();
	u32 zero = 0, id, fr, tlbc = 0, n;
	struct code_cache *cache;
	struct scratch *s;
	u64 code;
	abi_s8 state;

	s = bpf_map_lookup_elem(&scratches, &zero);
	cache = bpf_map_lookup_elem(&code_caches, &zero);
	if (!cfg_async || !s || !a || !cache || read_object(s, a, a->coro, a->place.coro_bytes))
		return ASYNC_UNREADABLE;
	if (a->first && object_u64(a, a->place.l.coro.ob_type) != a->type)
		return ASYNC_FOREIGN;
	state = object_u8(a, a->place.l.coro.gen_state);
	if (state != a->place.l.coro.state_yield_from &&
	    state != a->place.l.coro.state_yield_from_locked)
		return ASYNC_NOT_SUSPENDED;
	fr = a->place.l.coro.gen_frame;
	if (object_u8(a, fr + s->l.fr_owner) != ASYNC_FRAME_OWNER)
		return ASYNC_UNREADABLE;
	if (s->l.fr_tlbc_index != ABI_NO_OFF)
		tlbc = object_u32(a, fr + s->l.fr_tlbc_index);
	code = object_u64(a, fr + s->l.fr_code) & ~(u64)s->l.code_tag_mask;
	id = code_id(cache, code, s->walk.stamp);
	if (!id || id == CODE_ID_HIDDEN)
		return ASYNC_UNREADABLE;
	n = a->n;
	if (n >= RAW_ASYNC_FRAMES)
		return ASYNC_DEPTH;
	n &= RAW_ASYNC_FRAMES - 1;
	barrier_var(n);
	a->raw.frames[n] = (struct raw_frame){
		.code = code,
		.lasti = offset_of(s, code, object_u64(a, fr + s->l.fr_ip), tlbc),
		.id = id,
	};
	a->n = n + 1;
	a->first = 0;
	a->coro = awaited_by_coro(s, a);
	return ASYNC_GOES_ON;
}

int async_steps(void);
/* ASYNC_STEPS_A_CALL steps. Returns as async_awaiter(). */
__weak __noinline int async_steps(void)
{
	struct async_scratch *a = async_scratch();
	struct scratch *s;
	u32 zero = 0, i;
	int end;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!cfg_async || !s || !a)
		return ASYNC_UNREADABLE;
#pragma clang loop unroll(disable)
	for (i = 0; i < ASYNC_STEPS_A_CALL; i++) {
		if (s->walk.out_of_time)
			return ASYNC_TIME;
		end = a->coro ? async_coroutine() : async_awaiter();
		if (end != ASYNC_GOES_ON)
			return end;
	}
	return ASYNC_GOES_ON;
}

/* The name of the running task, if it is a str. */
static __always_inline void read_task_name(struct scratch *s, struct async_scratch *a)
{
	u64 type = 0, flags = 0;
	u32 header = s->l.str_length;

	a->raw.name_at = (struct raw_piece){};
	if (!a->name || read_user(&type, 8, a->name + a->place.l.coro.ob_type) ||
	    read_user(&flags, 8, type + header + ASYNC_TP_FLAGS) ||
	    !(flags & TPFLAGS_UNICODE_SUBCLASS))
		return;
	read_piece(&a->raw.name_at, a->raw.name, RAW_ASYNC_NAME, a->name);
}

int async_walk(void);
/*
 * The stack was walked. If it contains the frame of the task, walk the task's awaiters: fill in
 * a->raw except its header. Before send_new_codes(): these frames' code objects may be new, too.
 * Returns 0.
 */
__weak __noinline int async_walk(void)
{
	struct async_scratch *a = async_scratch();
	u32 zero = 0, end = ASYNC_GOES_ON, i;
	struct scratch *s;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!cfg_async || !s || !a)
		return 0;
	if (a->at >= s->walk.n) {
		a->at = ASYNC_NOT_THERE;
		return 0;
	}
	if (a->by_home)
		return home_take_task();
	a->n = a->tasks = 0;
	a->raw.flags = a->inside ? ASYNC_INSIDE : 0;
	if (cfg_task_names)
		read_task_name(s, a);
	if (read_user(&a->type, 8, a->coro + a->place.l.coro.ob_type))
		end = ASYNC_UNREADABLE;
	a->coro = 0;
#pragma clang loop unroll(disable)
	for (i = 0; i < ASYNC_CALLS; i++) {
		if (end != ASYNC_GOES_ON)
			break;
		end = async_steps();
	}
	a->raw.end = end == ASYNC_GOES_ON ? ASYNC_DEPTH : end;
	a->raw.nframes = a->n;
	a->raw.ntasks = a->tasks;
	a->raw.at = a->at;
	return 0;
}

int async_send(void);
/* Send the result of async_walk(), for the record whose header is in s->sample. Returns 0. */
__weak __noinline int async_send(void)
{
	struct async_scratch *a = async_scratch();
	struct scratch *s;
	u32 zero = 0;
	u64 size;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!cfg_async || !s || !a || a->at == ASYNC_NOT_THERE)
		return 0;
	if (a->by_home)
		return home_send();
	a->raw.h = s->sample.h;
	a->raw.h.kind = RAW_ASYNC;
	a->raw.tid = (u32)bpf_get_current_pid_tgid();
	a->raw.interp_id = s->sample.interp_id;
	a->raw.cpu = bpf_get_smp_processor_id();
	size = offsetof(struct raw_async, frames) + a->raw.nframes * sizeof(struct raw_frame);
	barrier_var(size);
	if (size <= sizeof(a->raw) &&
	    bpf_ringbuf_output(&events, &a->raw, size, BPF_RB_NO_WAKEUP))
		count_end(CNT_ASYNC_LOST);
	return 0;
}

#endif
