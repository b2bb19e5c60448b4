/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * process_internal.h - struct process, and functions shared by the files process*.c. Only they may
 * include it (tests/rooms.py, PRIVATE).
 */
#ifndef TACHBPF_PROCESS_INTERNAL_H
#define TACHBPF_PROCESS_INTERNAL_H

#include "host/held_by.h"
#include "model/intern.h"
#include "resolve/shared_names.h"
#include "resolve/jit_watch.h"
#include "resolve/native_frames.h"
#include "resolve/native_records.h"
#include "resolve/other_frames.h"
#include "resolve/process.h"
#include "resolve/python_names.h"
#include "resolve/symbolize.h"
#include "resolve/threads.h"

struct memory_event;

#define US_NS 1000

/* Flags of a stack that may not reach the thread's outermost function. */
#define RAW_CUT (RAW_TRUNCATED | RAW_UNREADABLE | RAW_BROKEN_END | RAW_SWITCHING)

/* Who held a process when this was last checked. */
struct held {
	uint64_t asked_ns;	/* CLOCK_MONOTONIC; 0: never */
	char by[HELD_BY_BYTES];	/* "": not known */
};

struct process {
	struct process_args args;
	char comm[PROC_COMM_MAX];
	uint32_t said_tid;	/* the thread of process_say_comm(); 0: none */
	char said_comm[COMM_BYTES];
	const char *command;	/* from shared_text_get() */
	struct intern *in;
	struct shared_names *shared;	/* whose table `in` is; NULL: its own */
	struct symbolizer *sym;
	void *observed;		/* the observer's */
	struct threads threads;
	struct process_stats stats;
	struct losses_of_threads *losses;	/* NULL: none yet */
	struct other_frames others;
	struct waits *waits;	/* NULL: the mode has no waits */
	struct held held[2];	/* by the freezer, by a tracer */
	struct thread_names *names;	/* NULL: none yet */
	struct thread_names *given;	/* names set by the Python program; NULL: none yet */
	struct python_names python;
	struct jit_watch jit;
	struct native_frames *native;	/* NULL: native frames are not recorded */
	struct native_records native_records;
	struct process_memory *memory;	/* NULL: without --mode mem */
	struct gc_counters *gc;	/* process_gc.c's; NULL: none yet */
	bool ended;		/* the observer returned an error: the capture ends */
	uint32_t holds;		/* process_hold() */
	bool over;		/* process_free() was called: no more records come */
};

/*
 * Functions that take a record of at least the size that kinds[] in process.c requires. 0;
 * -EBADMSG; -ENOMEM: process_take() counts it as lost; or the observer's -errno.
 */

/* ---- process_threads.c ---- */

void process_names_init(struct process *p);
/* Sets the name of a thread, which may not have a sample yet. comm may have any bytes. */
void process_rename(struct process *p, uint32_t tid, const char *comm);
/* Returns the thread with its last stack; the names of a new one are read. NULL: no memory. */
struct thread *process_thread(struct process *p, uint32_t tid, uint32_t interp_id);

/* ---- process_stack.c ---- */

/* Takes the stack of a record; *t is its thread. 0 or -errno. */
int process_take_stack(struct process *p, const struct raw_sample *raw, size_t len,
		       struct thread **t);
/*
 * The same for a record without frames that repeats t's last stack. head: the record's, with that
 * stack's number of frames; trace: what follows it, len bytes.
 */
int process_repeat_stack(struct process *p, struct thread *t, const struct raw_head *head,
			 const void *trace, size_t len);
/*
 * Merges the native frames of a record, if it has any, and its Python frames, raw->nframes, into
 * one stack. python_whole: the last of them is the thread's outermost function. 0 or -ENOMEM; then
 * out->cnt is 0.
 */
int process_take_native(struct process *p, const struct raw_head *raw, bool python_whole,
			struct native_stack *out);
/* Keep a RAW_EXTRA or a RAW_NATIVE for the thread's next record, which has the same time. */
int process_keep_extra(struct process *p, const void *record, size_t len);
int process_keep_native(struct process *p, const void *record, size_t len);

/* ---- process_async.c ---- */

/* Keep a RAW_ASYNC for the thread's next record, which has the same time. */
int process_keep_async(struct process *p, const void *record, size_t len);
/*
 * Sets t->async from the record's RAW_ASYNC, or clears it. t has its Python frames. 0 or -ENOMEM.
 */
int process_take_async(struct process *p, struct thread *t, const struct raw_head *raw);
/* Returns true if it matters (--async) that t's stack has a coroutine, or <unresolved> frames. */
static inline bool process_needs_task(const struct process *p, const struct thread *t)
{
	return p->args.async && (t->coroutine || t->known < t->nframes);
}
/* Returns the awaiters of the task of t's last record, if nframes frames show them; or NULL. */
const struct async_stack *process_async_of(const struct thread *t, uint32_t nframes);

/* ---- process_event.c ---- */

/* Room for an event's frames while they are assembled. */
#define EVENT_ROOM 1536

/*
 * Sets ev's frames to t's last stack with all frames that are not Python code: the same for a
 * sample, a wait and for memory. At most EVENT_MAX_FRAMES: of more, those in the middle are
 * "<... N frames ...>". ev has its status and weight. The frames are in out or in t. 0 or -ENOMEM.
 */
int process_lay_out(struct process *p, const struct thread *t, const struct raw_head *raw,
		    const struct wait_stretch *wait, struct event *ev, uint32_t out[EVENT_ROOM]);
/* Emits an event of t's stack. weight: in the profile's unit. wait: NULL for a sample. */
int process_emit(struct process *p, const struct thread *t, const struct raw_head *raw,
		 uint64_t weight, const struct wait_stretch *wait);
/*
 * Sets ev's frames to those of a thread without a Python stack, in out: the record's native frames,
 * and the root "<native thread NAME>" or "<no Python frame>". end: the enum counter by which its
 * walk ended. *counter: the statistic to increment when an event is made of it. 0 or -ENOMEM.
 */
int process_no_stack_frames(struct process *p, const struct raw_head *head, uint32_t end,
			    const char *comm, struct event *ev, uint32_t out[EVENT_ROOM],
			    uint64_t **counter);
/* Takes a RAW_NO_STACK. */
int process_take_no_stack(struct process *p, const void *record, size_t len);
/*
 * Counts a record for which there is no memory (err is -ENOMEM) as lost; recording of other
 * processes goes on. tid: its thread; 0: several threads. Returns 0 then, else err.
 */
int process_without_memory(struct process *p, uint32_t tid, int err);

/* ---- process_memory.c ---- */

/* Returns 0 or -errno. Without --mode mem p->memory stays NULL. */
int process_memory_init(struct process *p);
void process_memory_free(struct process *p);
/* Take a RAW_ALLOC (a page fault or a block), a RAW_FREE, a RAW_MOVED. */
int process_take_alloc(struct process *p, const void *record, size_t len);
int process_take_free(struct process *p, const void *record, size_t len);
int process_take_moved(struct process *p, const void *record, size_t len);
/*
 * Passes an event to the observer and counts it. change, time_us, addr, bytes, stack, thread_id and
 * what the change needs are set; the frames are filled in here, and the time never goes back. 0 or
 * the observer's -errno.
 */
int process_memory_emit(struct process *p, struct memory_event *ev);

/* ---- process_gc.c ---- */

/*
 * Takes a RAW_GC_DONE. In a process that is older than the capture, an interpreter's first record
 * yields no collections: it is the baseline for later ones.
 */
int process_take_gc(struct process *p, const void *record, size_t len);

#endif
