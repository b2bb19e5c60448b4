/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pyasync_mem.bpf.h - what pyasync.bpf.h and pyhome.bpf.h share: where tasks are, the cursor, and
 * how objects are read.
 */
#ifndef TACHBPF_PYASYNC_MEM_BPF_H
#define TACHBPF_PYASYNC_MEM_BPF_H

#include "abi_await.h"
#include "losses.bpf.h"
#include "pycode.bpf.h"

/* async_scratch.at: the stack does not have the task's frame. */
#define ASYNC_NOT_THERE 0xffffffffu
/* Set in no object's address: the tags of references. */
#define REFERENCE_TAGS 7ull
/* Slots of a set that are read at once. */
#define ASYNC_SLOTS_A_READ 8
/* _PyInterpreterFrame.owner, see pyunwind.bpf.h */
#define ASYNC_FRAME_OWNER 1
/* Tasks of 3.8 to 3.13 that run now, one in each loop: as many are compared with the stack. */
#define ASYNC_CURRENT_MAX 8

/* tgid -> where the process' tasks are; without --async 1 element */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);		/* with it user space sets MAX_PROCS */
	__type(key, u32);
	__type(value, struct async_place);
} async_places __weak SEC(".maps");

/* Chains of tasks in CPython 3.8 to 3.13; without --async, or with --task-names, 1 element */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);		/* user space sets KNOWN_CHAINS_MAX */
	__type(key, struct async_chain_key);
	__type(value, struct async_chain);
} async_chains __weak SEC(".maps");

/* The cursor, in map memory as struct walk. */
struct async_scratch {
	struct async_place place;
	u64 frame;	/* of the running task's coroutine; 0: none, or unknown */
	u64 task;	/* the next task whose awaiter is looked for; initially the running one */
	u64 coro;	/* the awaiting task's next coroutine; 0: none */
	u64 type;	/* of the running task's coroutine: the others must have the same */
	u64 running, name;	/* the running task, its name */
	u32 at;		/* index of that frame in the stack, or ASYNC_NOT_THERE */
	u32 n, tasks;	/* frames and awaiting tasks so far */
	u32 first;	/* 1: coro is its task's outermost one */
	u64 seen[RAW_ASYNC_TASKS];	/* the awaiting tasks */
	u64 slots[2 * ASYNC_SLOTS_A_READ];	/* of a set: key, hash */
	u8 object[ASYNC_OBJECT_BYTES + 8];
	struct raw_async raw;
	/* 3.8 to 3.13: pyhome.bpf.h. */
	u64 step;	/* the code object of a Python Task's step; 0: none */
	u64 current[ASYNC_CURRENT_MAX], frames[ASYNC_CURRENT_MAX];	/* tasks, and the frames of
									 * their coroutines */
	u64 entries;	/* the next entries of the dict to be read */
	u32 current_cnt, entries_left;
	u32 old;	/* 1: current, frames and step are valid */
	u32 by_home;	/* 1: the frame at `at` was found by pyhome.bpf.h: found is valid */
	u64 trio;	/* the code object of trio's loop; 0: none */
	u32 trio_local;	/* ... its variable: bytes from its frame's first one on */
	u32 owner;	/* of the frame before */
	u32 inside;	/* 1: a frame outside of the task's is a generator's */
	struct raw_task found;	/* at the frame at `at` */
	struct async_chain_key key;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct async_scratch);
} async_scratches __weak SEC(".maps");

/* Never returns NULL, but the verifier does not know that. */
static __always_inline struct async_scratch *async_scratch(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&async_scratches, &zero);
}

/* Read this many bytes of the object at addr, and zero the rest. 0, or -1: unreadable. */
static __always_inline int read_object(struct scratch *s, struct async_scratch *a, u64 addr,
				       u64 bytes)
{
	count_reads(s, 1);
	if (!bytes || !addr)
		return -1;
	/* A single comparison of bytes - 1 would not bound bytes for the verifier. */
	barrier_var(bytes);
	if (bytes > ASYNC_OBJECT_BYTES)
		return -1;
	if (!read_user(a->object, bytes, addr))
		return 0;
	count_reads(s, FAULT_READS);
	return -1;
}

/* Fields of the object read last. */
static __always_inline u64 object_u64(const struct async_scratch *a, u32 off)
{
	off &= ASYNC_OBJECT_BYTES - 1;
	barrier_var(off);
	return *(const u64 *)(a->object + off);
}

static __always_inline u32 object_u32(const struct async_scratch *a, u32 off)
{
	return (u32)object_u64(a, off);
}

static __always_inline u8 object_u8(const struct async_scratch *a, u32 off)
{
	return (u8)object_u64(a, off);
}

#endif
