/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * abi_await.h - which tasks await the asyncio task that a thread runs (--async): where the BPF side
 * finds that, and the record that it sends. Like abi.h, it knows no kernel type, and all fields
 * have fixed widths.
 */
#ifndef TACHBPF_ABI_AWAIT_H
#define TACHBPF_ABI_AWAIT_H

#include "abi.h"
#include "abi_async.h"

/*
 * CPython 3.8 to 3.13: asyncio's dict of running tasks (user/asyncio/home.h), and what the BPF side
 * must know of dicts, tasks and coroutines. User space limits all offsets to 255.
 */
#define ASYNC_PLACE_HOMES 4	/* interpreters of a process that have loaded asyncio */
struct async_place_home {
	abi_u64 interp;		/* address of the PyInterpreterState */
	abi_u64 current;	/* address of the dict: loop -> task */
	abi_u64 step;		/* address of the code object of the method of a Python Task that
				 * runs its coroutine; 0: none */
};
struct async_old_layout {
	abi_u8 cnt;		/* of home; 0: 3.14+, or asyncio is not loaded */
	abi_u8 dict_keys;	/* PyDictObject.ma_keys */
	abi_u8 keys_log2;	/* 1: dk_log2_size, a byte; 0: dk_size. Both at KEYS_SIZE */
	abi_u8 keys_entries;	/* dk_nentries */
	abi_u8 keys_indices;	/* dk_indices, one byte each; the entries follow */
	abi_u8 coro, callback0, callbacks, name;	/* TaskObj */
	abi_u8 task_bytes;	/* all of these are below */
	abi_u8 coro_frame;	/* a coroutine: its frame */
	abi_u8 frame_points;	/* 1: its pointer to its frame */
	abi_u8 pad[4];
	struct async_place_home home[ASYNC_PLACE_HOMES];
};
_Static_assert(sizeof(struct async_old_layout) == 16 + 24 * ASYNC_PLACE_HOMES,
	       "async_old_layout has no hidden padding");
/*
 * CPython 3.8 to 3.15: the function of trio whose loop runs tasks: its variable has the task that
 * it runs, and the frame inside of its own is that of the task's coroutine.
 */
struct async_trio_step {
	abi_u64 interp;		/* address of the PyInterpreterState */
	abi_u64 code;		/* address of the function's code object */
	abi_u32 local;		/* the variable: bytes from the frame's first one on */
	abi_u32 pad;
};
#define KEYS_SIZE 8
#define DICT_ENTRY_BYTES 24	/* hash, key, value */

/*
 * Value of the map async_places, whose key is the tgid. User space writes it after looking for the
 * layout; if neither l nor old is valid, the process has not loaded asyncio so far, if trio_cnt is
 * 0 not trio. on_fork() copies it for the child, on_exec() and on_exit() delete it.
 */
struct async_place {
	abi_u64 start_ns;	/* identifies the process; 0: the BPF side fills it in */
	abi_u64 exec_pages;	/* not whole: mm->exec_vm at the last RAW_CHANGED; 0: none */
	abi_u32 coro_bytes;	/* all that is read of a coroutine is in its first coro_bytes */
	struct async_layout l;
	struct async_old_layout old;
	abi_u8 trio_cnt;	/* of trio */
	abi_u8 whole;		/* 1: asyncio and trio are known: nothing else can be found */
	abi_u8 pad[6];
	struct async_trio_step trio[ASYNC_PLACE_HOMES];
};
_Static_assert(sizeof(struct async_place) == 28 + sizeof(struct async_layout) +
	       sizeof(struct async_old_layout) + 24 * ASYNC_PLACE_HOMES,
	       "async_place has no hidden padding");
/* task_bytes and coro_bytes are not larger. */
#define ASYNC_OBJECT_BYTES 256

/* How the walk of the awaiters ended. Each is counted by process. */
enum async_end {
	ASYNC_WHOLE = 0,	/* at a task that nobody awaits                              */
	ASYNC_DEPTH,		/* more tasks or frames than fit into a record */
	ASYNC_TIME,		/* the sample's time limit has passed                        */
	ASYNC_CYCLE,		/* a task awaits itself */
	ASYNC_UNREADABLE,	/* memory was unreadable or invalid */
	ASYNC_NOT_SUSPENDED,	/* an awaiting task runs, has not begun, or has ended        */
	ASYNC_FOREIGN,		/* an awaiting task's coroutine is not a Python coroutine */
	/* Of user space: */
	ASYNC_GONE,		/* the task has ended, or gone on, before its awaiters were read */
	ASYNC_SHAPE,		/* its only callback is of no known shape: it may be awaited */
	ASYNC_END_CNT
};

enum async_flags {
	ASYNC_SEVERAL = 1,	/* several await a task: the chain follows the first one     */
	ASYNC_INSIDE = 2,	/* further out in the stack is a coroutine's or generator's frame */
};

/*
 * RAW_ASYNC: sent immediately before the RAW_NATIVE, RAW_EXTRA, RAW_SAMPLE, RAW_SWITCH_OUT or
 * RAW_ALLOC with the same time, tid and CPU, if the stack has the outermost frame of the task that
 * the thread runs: the frames of the tasks that await it, one task after another.
 */
#define RAW_ASYNC_TASKS 16
#define RAW_ASYNC_FRAMES 128
#define RAW_ASYNC_NAME 384	/* as RAW_CODE_NAME */
struct raw_async {
	struct raw_header h;
	abi_u32 tid;
	abi_u32 interp_id;
	abi_u16 cpu;
	abi_u16 at;		/* index of the task's outermost frame in that record's stack */
	abi_u8 nframes, ntasks;	/* ntasks: awaiting tasks; frames[starts[i]] is the first of i */
	abi_u8 end;		/* enum async_end */
	abi_u8 flags;		/* enum async_flags */
	abi_u8 starts[RAW_ASYNC_TASKS];
	/* With --task-names: the name of the running task if it is a str; else name_at.len is 0. */
	struct raw_piece name_at;
	abi_u8 name[RAW_ASYNC_NAME];
	/* Those of each task from its outermost coroutine to the innermost; nframes are sent. */
	struct raw_frame frames[RAW_ASYNC_FRAMES];
};
_Static_assert(sizeof(struct raw_async) == 40 + RAW_ASYNC_TASKS + sizeof(struct raw_piece) +
	       RAW_ASYNC_NAME + 16 * RAW_ASYNC_FRAMES, "raw_async has no hidden padding");

/*
 * RAW_TASK, of trio, and of asyncio in CPython 3.8 to 3.13: sent where RAW_ASYNC is, if the stack
 * has the outermost frame of the coroutine of a task that runs. With it, user space recognises the
 * task when it reads who awaits it: the members are what the task had when the sample was taken.
 */
#define RAW_TASK_NAME 96		/* a str's text begins at 40 to 64 */
struct raw_task {
	struct raw_header h;
	abi_u32 tid;
	abi_u32 interp_id;
	abi_u16 cpu;
	abi_u16 at;		/* index of that frame in the stack of the record that follows */
	abi_u8 pure;		/* 1: made by asyncio's Python classes: callback0, callbacks and
				 * name are 0, coro is the code object of the frame at `at`, and
				 * user space checks that and frame */
	abi_u8 flags;		/* enum async_flags: ASYNC_INSIDE */
	abi_u8 trio;		/* 1: a task of trio; pure is 1, too */
	abi_u8 pad;
	abi_u64 task, coro;
	abi_u64 frame;		/* address of the frame at `at` */
	abi_u64 callback0, callbacks;
	abi_u64 name;		/* address of the task's name, a str or int */
	abi_u64 known;		/* id of the chain that it has (struct async_chain); 0: unknown */
	abi_u8 name_bytes[RAW_TASK_NAME];	/* the object at name; 0: unreadable. Not sent if
						 * known is not 0 */
};
_Static_assert(sizeof(struct raw_task) == 24 + 16 + 56 + RAW_TASK_NAME,
	       "raw_task has no hidden padding");

/*
 * Chains that user space has read. A chain follows from the memory that was used to read it: if the
 * task of a sample has the same callbacks, and all of that memory the same content, it has the same
 * chain. The BPF side compares, while the thread stands still. Of a task that is made by Python's
 * classes, that memory includes the task itself, and that it has this frame.
 *
 * Memory is noted in ranges of words: chain_range(). mask: which of its words were used.
 */
#define CHAIN_RANGE_WORDS 32
#define CHAIN_RANGES 64

/* addr: a multiple of 8 below 1 << CHAIN_ADDR_BITS. words: 1 to CHAIN_RANGE_WORDS. */
#define CHAIN_ADDR_BITS 56
static inline abi_u64 chain_range(abi_u64 addr, abi_u32 words)
{
	return addr | (abi_u64)(words - 1) << CHAIN_ADDR_BITS;
}

static inline __attribute__((always_inline)) abi_u64 chain_range_addr(abi_u64 range)
{
	return range & ((1ull << CHAIN_ADDR_BITS) - 1);
}

/* The number of words, never more than CHAIN_RANGE_WORDS. */
static inline __attribute__((always_inline)) abi_u32 chain_range_words(abi_u64 range)
{
	return (range >> CHAIN_ADDR_BITS & (CHAIN_RANGE_WORDS - 1)) + 1;
}

/*
 * What its used words are, of CHAIN_RANGE_WORDS. Without branches: they would be predicted badly. A
 * factor is odd, so no change of one word is lost.
 */
static inline __attribute__((always_inline)) abi_u64
chain_range_sum(abi_u32 mask, const abi_u64 *words)
{
	abi_u64 sum = 0;
	int i;

	/* A loop of a known length, which compilers unroll. */
	for (i = 0; i < CHAIN_RANGE_WORDS; i++)
		sum += (words[i] & -(abi_u64)(mask >> i & 1)) *
		       (0x9e3779b97f4a7c15ull + 0xc2b2ae3d27d4eb4eull * (abi_u64)i);
	return sum;
}

/* Of 0 and 0 it is not 0. */
static inline __attribute__((always_inline)) abi_u64 chain_hash(abi_u64 h, abi_u64 sum)
{
	h = (h + sum + 0x165667b19e3779f9ull) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

/*
 * Key of the map async_chains, a tree. Python uses the memory of what is gone again soon, so one
 * address has many callbacks, one after another. Where several chains have one key, the map has a
 * fork for it: a range in which they differ. With that range's chain_range_sum() in `way`,
 * chain_hash(way, sum), the key is that of the next fork, or of a chain.
 */
#define CHAIN_FORKS 6		/* before a chain */
struct async_chain_key {
	abi_u32 tgid;
	abi_u32 pure;		/* as in struct raw_task */
	abi_u64 first, second;	/* its callback0 and callbacks; pure: task and frame */
	abi_u64 way;		/* at first 0 */
};

/*
 * Its value. It can be replaced while the BPF side reads it, so the hash in it is that of its id,
 * too: chain_check().
 */
#define CHAIN_IS_FORK 0xffffffffu
struct async_chain {
	abi_u64 id;		/* never 0, never used twice */
	abi_u64 check;		/* of all ranges: chain_check() of range_check[]'s whole hash */
	abi_u32 cnt;		/* of the following; CHAIN_IS_FORK: the first range is the fork's */
	abi_u32 pad;
	abi_u64 range[CHAIN_RANGES];
	abi_u32 mask[CHAIN_RANGES];
	abi_u32 range_check[CHAIN_RANGES];	/* chain_hash() of the sums of the ranges up to
						 * each, the lower half */
};
_Static_assert(sizeof(struct async_chain) == 24 + 16 * CHAIN_RANGES,
	       "async_chain has no hidden padding");

static inline __attribute__((always_inline)) abi_u64 chain_check(abi_u64 id, abi_u64 hash)
{
	return hash ^ id * 0x9e3779b97f4a7c15ull;
}

#endif
