/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pyscratch.bpf.h - per-CPU memory of the walk, its maps and its limits.
 *
 * Contains every limit on what is read from a target.
 */
#ifndef TACHBPF_PYSCRATCH_H
#define TACHBPF_PYSCRATCH_H

#include "abi_memory.h"
#include "common.bpf.h"

/*
 * Frames are next to each other in chunks of the thread's data stack, each caller below its callee.
 * So one read of a window that ends at a frame also brings its callers. The window must not begin
 * below the chunk, because a read that faults costs 1 to 2 microseconds.
 */
#define WINDOW_BYTES 2048
#define PAGE_BYTES 4096
/* Minimum size of a chunk: a frame that lies less than this above its start is in the chunk. */
#define CHUNK_BYTES (16 * 1024)
/* Offset in scratch.frames, after the window, for a frame outside the data stack. */
#define SINGLE_POS WINDOW_BYTES
#define SINGLE_BYTES 128
#define FIELD_MASK (SINGLE_BYTES - 1)
/* A frame that is part of its object begins less than this above the object's start. */
#define FRAME_OBJECT_BYTES 256
/* A caller that lies less than this below a frame of the data stack is assumed to be in it. */
#define NEAR_BYTES (64 * 1024)
/* A C stack is assumed to reach less than this below and above the stack pointer. */
#define C_STACK_BYTES (8 * 1024 * 1024)
/* Variables of one C function are less than this apart. */
#define NEAR_CFRAME_BYTES 4096
/* Part of the C stack that is searched for a _PyCFrame, in steps of one word. */
#define FIND_BYTES 8192
#define FIND_STEPS 8
/*
 * A sample has a time limit (start_clock()): the target determines how far apart its objects are in
 * memory, and each read can miss every cache, or fault. The clock is read after this many reads of
 * memory by the helper; one that faults counts as several, a direct one as half of one. A walk
 * checks whether it is due before each STEPS_A_CALL steps, and after each fault.
 */
#define READS_PER_CLOCK 16
#define FAULT_READS 6
/*
 * The work between two readings of the clock takes a few microseconds. If this much time has
 * passed, the host or a non-maskable interrupt had the CPU: a stall. The deadline is moved by its
 * length, but only STALLS_MAX times, because an emulated machine is always that slow.
 */
#define STALL_NS 50000
#define STALLS_MAX 2
/* Time after the limit in which code objects may still be sent, so that all are in the end. */
#define NAMES_NS 5000
/*
 * Steps of a walk (frames and shims) in one call of walk_steps(), and in total. The verifier takes
 * about 1,400 instructions for each step of a call, the kernel up to 11 ns for each call.
 */
#define STEPS_A_CALL 6
#define MAX_STEPS (86 * STEPS_A_CALL)	/* ABI_MAX_FRAMES, and 260 shims */
#define MAX_EXC_ITEMS 8
/*
 * Steps through the interpreters' thread lists: LIST_STEPS_A_CALL * LIST_CALLS * LIST_ROUNDS. A
 * thread state is a step, and so is an interpreter. The clock is read after 16 of them.
 */
#define LIST_STEPS_A_CALL 4
#define LIST_CALLS 32
#define LIST_CALLS_PER_CLOCK 4
#define LIST_ROUNDS 64
/*
 * How far above the stack pointer to look for the innermost _PyCFrame of a thread whose key leads
 * to no state. C code that is called from Python and uses more of the stack is rare.
 */
#define NEAR_C_STACK_BYTES (1024 * 1024)
/*
 * Bytes of PyCodeObject that are read for a fingerprint, from co_firstlineno on. Free-threaded
 * builds need most: 72 bytes and a pointer.
 */
#define CODE_BYTES 88
/* Bytes of a str from its length on, with at least STRING_HEAD bytes of text. */
#define NAME_BYTES (40 + STRING_HEAD)
/* Limit on the position of the text in it; a mask. */
#define TEXT_MAX 56
/* Limit on words that read_words() reads. */
#define READ_WORDS 4
#define CODE_CACHE_SETS 512
/* A code object's fingerprint, which is valid for a sample with this stamp: see code_id(). */
struct code_cache_entry {
	u64 code;
	u64 stamp;	/* 0: not valid */
	u32 id;
	u32 process;	/* its process' ident, folded to 32 bits */
};

/*
 * The walk's cursor. It is in map memory, whose values the verifier does not follow as it does
 * on the BPF stack: a loop of n steps costs the verifier n states and not n * n.
 */
struct walk {
	u64 fr;		/* address of the next frame */
	u64 ts;		/* address of the thread state whose frames these are */
	u64 win;	/* target address of frames[0] */
	u64 win_last;	/* last offset in frames[] where a whole frame fits; 0: nothing was read */
	u64 chunk;	/* start of the current chunk of the data stack */
	u64 low;	/* lowest frame of the data stack so far; its callers are below it */
	u64 stamp;	/* this sample's: see code_id() */
	/* A collection; see pygc.bpf.h. */
	u64 gc_frame;	/* the frame that was current when it began; 0: unknown */
	u64 gc_list;	/* the head of a list that its C functions have; 0: not found */
	u64 last;	/* the last frame of the stack so far */
	/* The C stack; see is_on_c_stack(). */
	u64 sp;		/* 0: unknown */
	u64 self;	/* pthread_self() */
	/* For walk_from_caller(): */
	u64 cframe;		/* the _PyCFrame whose frames these are; 0: none */
	u64 entered_from;	/* the caller's current frame, from its _PyCFrame */
	u64 from_cframe;	/* that _PyCFrame */
	u64 caller_cframe;	/* the caller's caller's _PyCFrame; 0: none */
	u64 entered;	/* the first frame, if it has run no instruction and is_caller() must
			 * check its caller; 0: nothing to check */
	u32 n;		/* frames of the stack so far */
	u32 shim;	/* 1: the last step was a shim */
	u32 unchecked;	/* 1: no entry frame has confirmed the chain so far */
	u32 from_caller;	/* 1: there is no further chain to try */
	u32 owner;	/* _PyInterpreterFrame.owner of the last frame */
	u32 half_reads;	/* reads of memory since the clock was last read, twice */
	u32 out_of_time;	/* 1: the time limit has passed */
	u32 entries;	/* calls from C so far, with cfg_native: see note_entry() */
	u32 certain;	/* 1: the stamp is that of a counter: the code objects have not changed */
	u32 unverified;	/* 1: a code object could not be read */
	/* Of the frame of this step, here because the BPF stack has no room: */
	u32 tlbc;	/* tlbc_index; 0: none */
	u64 object;	/* frame_obj, if it may_have_object() */
	u32 gc_looks;	/* frames that may still be looked at, plus 1; 0: skip note_gc_frame() */
	u32 gc_open;	/* 1: the last frame belongs to it, and perhaps its caller */
	u32 gc_top;	/* RAW_GC: as far as is known, it is on top of the stack */
};

/* What distinguishes the current thread's state in the thread lists. */
enum list_how {
	LIST_BY_ID = 0,		/* its thread_id, and that it is bound to the thread (3.12+) */
	LIST_BY_ID_AND_FRAMES = 1,	/* its thread_id, and that it runs Python (up to 3.9) */
	LIST_BY_C_STACK = 2,	/* its _PyCFrame is the innermost in the thread's C stack */
	LIST_OUTER = 3,		/* the thread left it to run another interpreter inside */
};

/* A thread that runs interpreters inside each other: at most this many outer ones are walked. */
#define OUTER_MAX 8

/* Cursor of the search through the thread lists; in map memory for the same reason. */
struct list_walk {
	u64 is;		/* next interpreter */
	u64 ts;		/* next thread state; 0: continue with is */
	u64 self;	/* pthread_self() of the current thread */
	u64 sp;		/* LIST_BY_C_STACK: where its C stack begins (the stack pointer) ... */
	u64 sp_end;	/* ... and where it ends */
	u64 found;
	u64 cframe;	/* address of found's _PyCFrame */
	u32 cnt;	/* number of matching states */
	u32 unbound;	/* number of states that have its thread_id but are not bound to it */
	u32 unreadable;	/* 1: a list could not be read further */
	u32 how;	/* enum list_how */
	/* LIST_OUTER: */
	u32 id;		/* of the interpreter whose frames were walked last */
	u32 before;	/* frames of the stack before found's */
};

/* The stack of a thread that leaves its CPU: see pystamp.bpf.h. */
struct stamp {
	u64 before;	/* that of the thread's last record; 0: none that counts */
	u64 now;	/* that of the thread's stack; 0: none */
	u64 fr;		/* the next frame */
	u64 cframe;	/* the _PyCFrame where the walk begins (3.12); 0: none */
	u32 wanted;	/* 0: do not look */
	u32 tried;	/* 1: it was computed, or should have been */
	u32 same;	/* 1: it is the same stack */
	u32 pad;
};

/* The last tick of an admitted process on this CPU, for count_missed(). */
struct last_tick {
	u64 pid_tgid;
	u64 switches;	/* current_switches() */
	u64 time_ns;
};

/* The event of page faults of this CPU. */
struct fault_event {
	u64 period;	/* at the last fault that it chose */
	u64 count;	/* faults that the chosen ones stand for */
	u64 looked_ns;	/* when user space was last woken for one */
};

/* Limit on new code objects sent with one sample; a later sample sends the others. */
#define MAX_NEW_CODES 128
/* Limit for one process in a second (2^30 ns), for a process that constantly creates code. */
#define MAX_CODES_A_SECOND 4096
struct new_code {
	u64 code;
	u64 hash;	/* stored in sent_codes when the code object was sent */
	u32 id;
	u32 pad;
};

/* Where a thread keeps the pointer to its thread context; see thread_ctx.bpf.h. */
#define TRACE_SLOTS 64
struct trace_slot {
	u64 thread;	/* tgid and tid; 0: free */
	u64 place;	/* the process' ident and struct thread_ctx_place, in one number */
	u64 slot;
};

/* What a fingerprint consists of. */
struct code_fields {
	u64 filename, name, qualname, linetable;
	u32 firstlineno, version;
};

/* A page of the current process: see direct.bpf.h. */
struct direct_page {
	u64 key;	/* its first byte in the process, and direct.tag; 0: none */
	u64 at;		/* ... and in the direct map */
	u64 entry_at, entry;	/* its entry in a page table, and the entry's address */
};

#define DIRECT_PAGES 32
#define APART DIRECT_PAGES	/* the place for read_apart() */
struct direct {
	u64 table;	/* of the current process; 0: this program must not read directly */
	u64 tag;	/* 1 to PAGE_BYTES - 1: in the keys of pages that this program found */
	struct direct_page pages[DIRECT_PAGES + 1];	/* by place_of_page(); APART */
};

/* Time for walks on this CPU: see budget.bpf.h. */
struct purse {
	s64 ns;		/* what is in it; negative: a debt */
	u64 at_ns;	/* when something was last put in */
};

/*
 * The code object that the frame at a place of a data stack had last, by known_at(): frames that
 * are next to each other have theirs next to each other here; in the code cache they are apart.
 */
#define KNOWN_FRAMES 256	/* 16 KiB of a data stack */
#define KNOWN_SHIFT 6		/* few frames are smaller than 64 bytes */
struct known_frame {
	u64 key;	/* its address and the stamp of its code_cache_entry, in one number */
	u32 id;
	u32 process;	/* as in struct code_cache_entry */
};

/*
 * What each sample needs is together, from `known` to `sample`: at low rates each page of this
 * memory costs a walk of the kernel's page tables.
 */
struct scratch {
	u8 frames[WINDOW_BYTES + 2 * SINGLE_BYTES + 8];	/* the window; from SINGLE_POS one frame */
	u8 code[2 * SINGLE_BYTES];	/* CODE_BYTES of a PyCodeObject */
	u8 name[NAME_BYTES];	/* a str from its length on */
	struct list_walk list;
	struct stamp stamp;
	struct fault_event fault_event;
	struct raw_extra extra;
	struct new_code new_codes[MAX_NEW_CODES];
	struct trace_slot trace_slots[TRACE_SLOTS];
	struct known_frame known[KNOWN_FRAMES];
	u8 ts[2 * 512];		/* PyThreadState: at most ABI_TS_BYTES; masked offsets can reach
				 * further */
	struct direct direct;
	struct code_fields fields;	/* of the code object in `code` */
	u64 words[READ_WORDS];	/* what read_words() has read */
	u64 ahead, ahead_at;	/* for read_ahead(): a word, and where it is, or NOWHERE */
	u64 seq;		/* samples on this CPU */
	u64 began_ns;		/* when this sample began (CLOCK_MONOTONIC) */
	u64 deadline;		/* end of its time limit */
	u64 more_ns;		/* time that it has in addition to cfg_limit_ns */
	u64 clock_read_ns;	/* when the clock was last read */
	u64 stalled_ns;		/* total time of this sample's stalls */
	u64 stalls;
	struct last_tick last_tick;
	struct purse ticks;	/* for samples at ticks */
	struct purse budget;	/* for walks at switch-outs and other events */
	u32 busy;		/* 1: on_switch() uses this memory, and a non-maskable tick
				 * that interrupts it must not */
	u32 passed;		/* events since the one that was walked: cfg_event_every */
	struct walk walk;
	u64 gil_holder;		/* PY_GIL_RT_CURRENT: the thread state that holds the GIL */
	u64 exception;		/* the exception that has_exception() has found, or its type */
	u64 none;		/* py_proc.none */
	u64 file;		/* the last file name's object in this sample */
	u32 file_hash;		/* its string_hash() */
	u32 pad2;
	u64 ident;		/* py_proc.ident and layout of the process, for functions
				 * that the verifier checks separately */
	struct py_layout l;
	u32 new_cnt;		/* new_codes that are valid */
	u32 codes_left;		/* how many its process may still send in this second */
	u64 unasked;		/* bytes since seldom_wakeup_flags() last asked */
	u64 switch_in_waits;	/* 1: switch_in must be sent, with the sample or by itself */
	struct raw_switch_in switch_in;	/* of the thread that gets the CPU; right before sample */
	struct raw_sample sample;
};
_Static_assert(__builtin_offsetof(struct scratch, switch_in) + sizeof(struct raw_switch_in) ==
	       __builtin_offsetof(struct scratch, sample), "one call sends both");

/*
 * A code object has two places, the first for what was read last: with one, a tenth of a deep
 * stack's code objects would evict each other at every sample.
 */
struct code_cache_set {
	struct code_cache_entry first, second;
};

struct code_cache {
	struct code_cache_set sets[CODE_CACHE_SETS];
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
 * Hashes of the code objects that were sent, in SENT_SLOTS slots, a power of two. A hash can
 * be in one slot only, and the last hash written there stays. All CPUs write into the same array,
 * in place and without a lock. A lost write only repeats a record; with an array for each CPU,
 * every CPU would send every code object.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SENT_SLOTS);
	__type(key, u32);
	__type(value, u64);
} sent_codes __weak SEC(".maps");

/* The slot of a hash; never NULL, but the verifier does not know that. */
static __always_inline u64 *sent_slot(u64 hash)
{
	u32 slot = hash & (SENT_SLOTS - 1);

	return bpf_map_lookup_elem(&sent_codes, &slot);
}

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct raw_code);
} code_records __weak SEC(".maps");

/* The code objects of the interpreter is are certainly what they were while its counter is e. */
static __always_inline void set_certain(struct walk *w, u64 ident, u64 is, u32 e)
{
	w->stamp = (ident ^ is * 0x9e3779b97f4a7c15ULL) + (u64)e * 0xbf58476d1ce4e5b9ULL;
	w->certain = 1;
}

/* No code object was read before this sample. */
static __always_inline void set_fresh(struct scratch *s, struct walk *w, u64 ident)
{
	w->stamp = ++s->seq * 0x94d049bb133111ebULL ^ ident;
	w->certain = 0;
}

/*
 * A sample begins at now (CLOCK_MONOTONIC, ns). more_ns: time that it has in addition to
 * cfg_limit_ns.
 */
static __always_inline void start_clock(struct scratch *s, u64 now, u64 more_ns)
{
	s->began_ns = now;
	s->more_ns = more_ns;
	s->deadline = now + cfg_limit_ns + more_ns;
	s->clock_read_ns = now;
	s->stalled_ns = 0;
	s->stalls = 0;
	s->walk.half_reads = 0;
}

/* The clock was read: now. Counts a stall since the last time, and moves the deadline. */
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

/* Returns true if the time limit of the sample plus spare_ns has passed. */
static __always_inline bool is_out_of_time(struct scratch *s, u64 now, u64 spare_ns)
{
	if (!cfg_limit_ns)
		return false;
	detect_stall(s, now);
	return now > s->deadline + spare_ns;
}

/* Check the time limit. */
static __always_inline void read_clock(struct scratch *s)
{
	s->walk.half_reads = 0;
	if (is_out_of_time(s, bpf_ktime_get_ns(), 0))
		s->walk.out_of_time = 1;
}

int check_time(void);
/* The same, with external linkage: what counts reads is in many places. Returns 0. */
__weak __noinline int check_time(void)
{
	struct scratch *s;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (s)
		read_clock(s);
	return 0;
}

/* Count reads of memory in a step of the walk: walk_steps() checks the time limit. */
static __always_inline void note_reads(struct scratch *s, u32 reads)
{
	s->walk.half_reads += 2 * reads;
}

/* The same for a direct read, which takes less than half of the time. */
static __always_inline void note_direct_read(struct scratch *s)
{
	s->walk.half_reads++;
}

static __always_inline bool is_clock_due(const struct scratch *s)
{
	return s->walk.half_reads >= 2 * READS_PER_CLOCK;
}

/* Count reads of memory, and check the time limit after READS_PER_CLOCK of them. */
static __always_inline void count_reads(struct scratch *s, u32 reads)
{
	note_reads(s, reads);
	if (unlikely(is_clock_due(s)))
		check_time();
}

/* Fields of the PyThreadState in s->ts. */
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
