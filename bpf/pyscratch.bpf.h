/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pyscratch.bpf.h - per-CPU memory of the walk, its maps and its bounds.
 *
 * Owns every limit on what is read from a target, and the one way to read it:
 * only memory of the current process, in its own context.
 */
#ifndef TACHBPF_PYSCRATCH_H
#define TACHBPF_PYSCRATCH_H

#include "common.bpf.h"

/*
 * Frames lie next to each other in chunks of the thread's data stack, the caller
 * below the callee, so one read that ends with a frame brings its callers too. It
 * must not reach below the chunk: a read that faults costs a microsecond or two.
 */
#define WINDOW_BYTES 2048
#define PAGE_BYTES 4096
/* A frame this far above the start of the current chunk is in it (16 KiB, or bigger if need be). */
#define CHUNK_BYTES (16 * 1024)
/* Behind the window in the same buffer: a frame that lies elsewhere (generator, shim). */
#define SINGLE_POS WINDOW_BYTES
#define SINGLE_BYTES 128
#define FIELD_MASK (SINGLE_BYTES - 1)
/* A caller this far below the last frame of a data stack is taken to be in it. */
#define NEAR_BYTES (64 * 1024)
/*
 * What one sample may take, from the tick on (cfg_limit_ns): the target chooses how far
 * apart in memory its objects are, and a read can miss every cache or fault. The clock
 * is looked at after so many reads; one that faults counts for several.
 */
#define READS_A_LOOK 16
#define FAULT_READS 6
/*
 * Between two looks is work of a few microseconds. Where this much has passed, the host or
 * a non-maskable interrupt had the CPU: the sample gets it back. Not for ever, where
 * everything is that slow (emulation).
 */
#define STALL_NS 50000
#define STALLS_MAX 2
/* Names have this much time behind a walk that took all of its own. */
#define NAMES_NS 5000
/* Python frames plus the C-stack shims between them. */
#define STEPS_A_CALL 16
#define MAX_STEPS (ABI_MAX_FRAMES + 10 * STEPS_A_CALL)
#define MAX_EXC_ITEMS 8
/* The interpreters' lists of threads: LIST_STEPS_A_CALL * LIST_CALLS steps, an interpreter is one, too. */
#define LIST_STEPS_A_CALL 32
#define LIST_CALLS 256
/* PyCodeObject from co_firstlineno on; FT builds need most: 72 bytes + the last pointer. */
#define CODE_BYTES 88
#define CODE_CACHE_SIZE 1024
/* A code object whose fingerprint is known while stamp stands; see code_id(). */
struct code_cache_entry {
	u64 code;
	u64 stamp;
	u32 id;
	u32 process;	/* of which process, folded: with code and id, user space was told */
};

/*
 * The walk's cursor. It lives in map memory, not on the stack, so that the
 * verifier does not follow its values: a loop of n steps is n states, not n * n.
 */
struct walk {
	u64 fr;		/* frame to look at next */
	u64 ts;		/* whose chain it is */
	u64 win;	/* target address of frames[0] */
	u64 win_last;	/* where in frames[] the last whole frame can begin; 0: nothing read */
	u64 chunk;	/* start of the current chunk of the data stack */
	u64 low;	/* lowest data stack frame seen: callers lie below */
	u64 stamp;
	u64 gc_frame;
	/* see walk_from_caller() */
	u64 entered_from;	/* the frame that the caller's _PyCFrame has */
	u64 caller_cframe;	/* the one before that; 0: none */
	u64 entered;	/* the first frame, which has not begun: see is_caller(); 0: checked */
	u32 n;
	u32 shim;	/* the last step was a C-stack shim */
	u32 unchecked;	/* no entry frame seen yet */
	u32 from_caller;	/* there is no other way to go */
	u32 by_generator;	/* the last frame is a generator's, and it called one */
	u32 reads;	/* since the clock was looked at */
	u32 late;	/* the clock said so */
};

/* Looking through the thread lists. In map memory for the same reason. */
struct list_walk {
	u64 is;		/* interpreter to look at next */
	u64 ts;		/* thread state to look at next; 0: go to is */
	u64 self;	/* whose: pthread_self() */
	u64 sp;		/* end of its C stack; 0: look for its thread_id instead */
	u64 found;
	u64 cframe;	/* of found */
	u32 cnt;	/* how many were found */
	u32 unbound;	/* how many have its thread_id, but it does not run them */
	u32 unreadable;
	u32 pad;
};

/* For note_missed(). */
struct last_tick {
	u64 pid_tgid;
	u64 switches;
	u64 time_ns;
};

/* Code objects of one sample that user space has not been told of; more wait for the next. */
#define MAX_NEW_CODES 32
/* Of one process in a second (of 2^30 ns): who makes code without end waits. */
#define MAX_CODES_A_SECOND 4096
struct new_code {
	u64 code;
	u64 mark;	/* what is noted in sent_codes once it is sent */
	u32 id;
	u32 pad;
};

struct scratch {
	u8 ts[2 * 512];		/* PyThreadState: ABI_TS_BYTES at most, masks reach further */
	u8 frames[WINDOW_BYTES + 2 * SINGLE_BYTES + 8];
	u8 code[2 * SINGLE_BYTES];
	u8 name[40 + STRING_HEAD];	/* a str from its length to its first bytes, and then some */
	u64 seq;		/* samples on this CPU */
	u64 deadline;		/* of this one; ns */
	u64 looked_ns;		/* at the clock */
	u64 stalled_ns;
	u64 stalls;
	struct last_tick last_tick;
	s64 budget_ns;		/* may be a debt */
	u64 budget_at_ns;	/* for looking at threads that leave this CPU */
	u32 busy;		/* a program that a non-maskable tick can interrupt uses all this */
	u32 pad3;
	struct walk walk;
	struct list_walk list;
	u64 gil_holder;		/* PY_GIL_RT_CURRENT: the state it is */
	u64 exception;		/* has_exception()'s, or its type */
	struct raw_extra extra;
	u64 file;		/* the last file name's object and stamp in this sample */
	u32 file_stamp;
	u32 pad2;
	u64 ident;		/* of the process, and its layout: for what the verifier sees apart */
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
 * Which code objects were sent: one slot per hash, the last one wins. All CPUs store
 * into the same array, in place and without a lock: a store that is lost only repeats
 * a record, and a table for each CPU would have every record sent by every CPU.
 * cfg_sent_slots of them, a power of two.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SENT_SLOTS);	/* user space sets the real size */
	__type(key, u32);
	__type(value, u64);
} sent_codes __weak SEC(".maps");

static __always_inline u64 *sent_slot(u64 mark)
{
	u32 slot = mark & (cfg_sent_slots - 1);

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
	s->looked_ns = now;
	s->stalled_ns = 0;
	s->stalls = 0;
}

/* See STALL_NS. */
static __always_inline void note_stall(struct scratch *s, u64 now)
{
	u64 passed = now - s->looked_ns;

	s->looked_ns = now;
	if (passed <= STALL_NS)
		return;
	s->stalled_ns += passed;
	if (s->stalls++ < STALLS_MAX)
		s->deadline += passed;
}

/* Is the sample's time, and spare_ns, over? */
static __always_inline bool is_late(struct scratch *s, u64 now, u64 spare_ns)
{
	if (!cfg_limit_ns)
		return false;
	note_stall(s, now);
	return now > s->deadline + spare_ns;
}

/* reads have been made: is this the moment to stop? */
static __always_inline void spend(struct scratch *s, u32 reads)
{
	struct walk *w = &s->walk;

	w->reads += reads;
	if (w->reads < READS_A_LOOK)
		return;
	w->reads = 0;
	if (is_late(s, bpf_ktime_get_ns(), 0))
		w->late = 1;
}

/* Fields of the PyThreadState in scratch. */
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
