/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pyscratch.bpf.h - per-CPU memory of the walk, its maps and its limits.
 *
 * Owns every limit on what is read from a target, and the only way to read it: memory of
 * the current process, in its own context.
 */
#ifndef TACHBPF_PYSCRATCH_H
#define TACHBPF_PYSCRATCH_H

#include "common.bpf.h"

/*
 * Frames lie next to each other in chunks of the thread's data stack, each caller below its
 * callee. So one read (the window) that ends at a frame also brings its callers. It must
 * not begin below the chunk: a read that faults costs 1 to 2 microseconds.
 */
#define WINDOW_BYTES 2048
#define PAGE_BYTES 4096
/*
 * A frame this far above the start of the current chunk is in that chunk (16 KiB, or more
 * if needed).
 */
#define CHUNK_BYTES (16 * 1024)
/* Place in the buffer, behind the window, for a frame that is elsewhere (generator, shim). */
#define SINGLE_POS WINDOW_BYTES
#define SINGLE_BYTES 128
#define FIELD_MASK (SINGLE_BYTES - 1)
/* A caller at most this far below the last frame of a data stack is assumed to be in it. */
#define NEAR_BYTES (64 * 1024)
/*
 * Limits of one sample's time, counted from the tick (cfg_limit_ns): the target determines
 * how far apart its objects are in memory, and each read can miss every cache, or fault.
 * The clock is read after so many reads; a read that faults counts as several.
 */
#define READS_PER_CLOCK 16
#define FAULT_READS 6
/*
 * The work between two readings of the clock takes a few microseconds. If this much time has
 * passed, the CPU was taken away by the host or by a non-maskable interrupt: a stall. The deadline
 * is moved by its length, but only a few times, because an emulated machine is always that slow.
 */
#define STALL_NS 50000
#define STALLS_MAX 2
/* Time for sending code objects after a walk that has used up the limit. */
#define NAMES_NS 5000
/* Number of steps: Python frames, and C-stack shims between them. */
#define STEPS_A_CALL 16
#define MAX_STEPS (ABI_MAX_FRAMES + 10 * STEPS_A_CALL)
#define MAX_EXC_ITEMS 8
/*
 * Steps through the interpreters' thread lists: LIST_STEPS_A_CALL * LIST_CALLS. Each
 * interpreter is a step, too.
 */
#define LIST_STEPS_A_CALL 32
#define LIST_CALLS 256
/*
 * PyCodeObject from co_firstlineno on. Free-threaded builds need most: 72 bytes and the
 * last pointer.
 */
#define CODE_BYTES 88
#define CODE_CACHE_SIZE 1024
/* A code object whose fingerprint is valid while stamp is the current one; see code_id(). */
struct code_cache_entry {
	u64 code;
	u64 stamp;
	u32 id;
	u32 process;	/* its process' ident, folded to 32 bits */
};

/*
 * The walk's cursor. It is in map memory and not on the BPF stack, so that the verifier
 * does not track its values: a loop of n steps costs it n states and not n * n.
 */
struct walk {
	u64 fr;		/* address of the next frame */
	u64 ts;		/* address of the thread state whose frames these are */
	u64 win;	/* target address of frames[0] */
	u64 win_last;	/* last offset in frames[] where a whole frame fits; 0: nothing was read */
	u64 chunk;	/* start of the current chunk of the data stack */
	u64 low;	/* lowest frame of the data stack so far; its callers are below it */
	u64 stamp;
	u64 gc_frame;
	/* For walk_from_caller(): */
	u64 entered_from;	/* the caller's current frame, from its _PyCFrame */
	u64 caller_cframe;	/* the caller's caller's _PyCFrame; 0: none */
	u64 entered;	/* first frame, if it has run no instruction; its
			 * caller is checked by is_caller(); 0: was checked */
	u32 n;
	u32 shim;	/* 1: the last step was a C-stack shim */
	u32 unchecked;	/* 1: no entry frame was found yet that confirms the chain */
	u32 from_caller;	/* 1: the caller's chain is the last one that can be tried */
	u32 by_generator;	/* 1: the last frame is a generator's,
				 * and it has a callee in the stack */
	u32 reads;	/* since the clock was last read */
	u32 out_of_time;	/* 1: the time limit has passed */
};

/* Cursor of the search through the thread lists; in map memory for the same reason. */
struct list_walk {
	u64 is;		/* next interpreter */
	u64 ts;		/* next thread state; 0: go on with is */
	u64 self;	/* pthread_self() of the thread that is searched for */
	u64 sp;		/* stack pointer of its C stack; 0: compare thread_id instead */
	u64 found;
	u64 cframe;	/* address of found's _PyCFrame */
	u32 cnt;	/* number of matching states */
	u32 unbound;	/* number of states that have its thread_id but are not bound to it */
	u32 unreadable;
	u32 pad;
};

/* The last tick on this CPU, for count_missed(). */
struct last_tick {
	u64 pid_tgid;
	u64 switches;
	u64 time_ns;
};

/* At most so many new code objects are sent with one sample; the others wait for a later sample. */
#define MAX_NEW_CODES 32
/*
 * At most so many of one process in a second (of
 * 2^30 ns), for processes that make code endlessly.
 */
#define MAX_CODES_A_SECOND 4096
struct new_code {
	u64 code;
	u64 hash;	/* hash that is stored in sent_codes once it is sent */
	u32 id;
	u32 pad;
};

struct scratch {
	u8 ts[2 * 512];		/* PyThreadState: ABI_TS_BYTES at most;
				 * masked offsets can reach further */
	u8 frames[WINDOW_BYTES + 2 * SINGLE_BYTES + 8];
	u8 code[2 * SINGLE_BYTES];
	u8 name[40 + STRING_HEAD];	/* a str from its length on, up to
					 * STRING_HEAD bytes of text and some more */
	u64 seq;		/* samples on this CPU */
	u64 deadline;		/* end of this sample's time limit (CLOCK_MONOTONIC, ns) */
	u64 clock_read_ns;		/* when the clock was last read */
	u64 stalled_ns;
	u64 stalls;
	struct last_tick last_tick;
	s64 budget_ns;		/* for walking threads that leave this CPU; may be negative */
	u64 budget_at_ns;	/* when the budget was last topped up */
	u32 busy;		/* 1: a program is using this memory that
				 * a non-maskable tick can interrupt */
	u32 pad3;
	struct walk walk;
	struct list_walk list;
	u64 gil_holder;		/* PY_GIL_RT_CURRENT: the thread state that holds the GIL */
	u64 exception;		/* the exception that has_exception() found, or its type */
	struct raw_extra extra;
	u64 file;		/* the last file name's object in this sample, and its stamp */
	u32 file_hash;
	u32 pad2;
	u64 ident;		/* of the process, with its layout: for
				 * functions that the verifier checks separately */
	struct py_layout l;
	u32 new_cnt;
	u32 pad;
	struct new_code new_codes[MAX_NEW_CODES];
	struct raw_sample sample;
};

struct code_cache {
	struct code_cache_entry entries[CODE_CACHE_SIZE];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} scratches __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct code_cache);
} code_caches __weak SEC(".maps");

/*
 * Hashes of the code objects that were sent. Each hash has one slot, where the last one
 * written stays. All CPUs write into the same array, in place and without a lock: a lost
 * write only repeats a record, while an array for each CPU would make every CPU send every
 * code object. cfg_sent_slots of them, a power of two.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SENT_SLOTS);	/* user space sets the real size */
	__type(key, u32);
	__type(value, u64);
} sent_codes __weak SEC(".maps");

static __always_inline u64 *sent_slot(u64 hash)
{
	u32 slot = hash & (cfg_sent_slots - 1);

	return bpf_map_lookup_elem(&sent_codes, &slot);
}

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct raw_code);
} code_records __weak SEC(".maps");

static __always_inline int read_user(void *dst, u32 size, u64 addr)
{
	return bpf_probe_read_user(dst, size, (const void *)addr);
}

static __always_inline void start_clock(struct scratch *s, u64 now)
{
	s->deadline = now + cfg_limit_ns;
	s->clock_read_ns = now;
	s->stalled_ns = 0;
	s->stalls = 0;
}

/* Detect a stall since the clock was last read: see STALL_NS. */
static __always_inline void detect_stall(struct scratch *s, u64 now)
{
	u64 passed = now - s->clock_read_ns;

	s->clock_read_ns = now;
	if (passed <= STALL_NS)
		return;
	s->stalled_ns += passed;
	if (s->stalls++ < STALLS_MAX)
		s->deadline += passed;
}

/* Is the time limit of the sample, plus spare_ns, over? */
static __always_inline bool is_out_of_time(struct scratch *s, u64 now, u64 spare_ns)
{
	if (!cfg_limit_ns)
		return false;
	detect_stall(s, now);
	return now > s->deadline + spare_ns;
}

/* Count reads; after READS_PER_CLOCK of them, check the time limit. */
static __always_inline void count_reads(struct scratch *s, u32 reads)
{
	struct walk *w = &s->walk;

	w->reads += reads;
	if (w->reads < READS_PER_CLOCK)
		return;
	w->reads = 0;
	if (is_out_of_time(s, bpf_ktime_get_ns(), 0))
		w->out_of_time = 1;
}

/* Fields of the PyThreadState that is in scratch. */
static __always_inline u64 ts_u64(const struct scratch *s, u32 off)
{
	off &= 511;
	barrier_var(off);
	return *(const u64 *)(s->ts + off);
}

static __always_inline u32 ts_u32(const struct scratch *s, u32 off)
{
	off &= 511;
	barrier_var(off);
	return *(const u32 *)(s->ts + off);
}

#endif
