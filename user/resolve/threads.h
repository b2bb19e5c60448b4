/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * threads.h - the last stack of each thread of one process.
 *
 * The record of a thread that has ended is freed: for each new thread two others are checked for
 * whether they are still alive, least recently checked first. So there are at most about twice as
 * many records as live threads, and never more than THREADS_MAX: beyond that a thread that was not
 * used for long is forgotten.
 */
#ifndef TACHBPF_THREADS_H
#define TACHBPF_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/lru.h"
#include "bpf/abi.h"
#include "bpf/abi_await.h"
#include "model/event.h"

/*
 * Limit of one process. A record takes 160 bytes and 20 for each frame of the deepest stack so far,
 * rounded up to 16, 32, 64, ..: 5.2 KiB at most; 1 KiB if its thread had an exception or a kernel
 * stack, 640 bytes if it had a thread context, 4 KiB at most if it had frames of machine code, and
 * 3 KiB if it ran an asyncio task (--async).
 */
#define THREADS_MAX 8192
/* A thread's first stack gets room for this many frames. */
#define THREAD_FRAMES_MIN 16
/* Up to this many, nobody checks which of them are alive. */
#define THREADS_FEW 64

/* Where the native frames of a thread's last record stand among its Python frames. */
#define NATIVE_STACK_PYTHON UINT32_MAX	/* in place of an id: the next Python frame ... */
#define NATIVE_STACK_GAP (UINT32_MAX - 1)	/* ... or left_out native frames; once at most */
#define NATIVE_STACK_MAX 1024
struct native_stack {
	uint32_t cnt;		/* 0: the record had none */
	uint32_t frames;	/* native frames */
	uint32_t left_out;
	uint32_t ids[NATIVE_STACK_MAX];	/* innermost first */
};

/* Awaiters of the asyncio task of a thread's last record. */
struct async_stack {
	bool shown;		/* 1: these frames replace those outside index at */
	uint32_t at;		/* index of the task's outermost frame among the Python frames */
	uint32_t cnt;
	uint32_t ids[RAW_ASYNC_FRAMES + 1];	/* innermost first */
	struct raw_async raw;	/* belongs to the record with the same time */
};

/* Kernel stack and exception type of a thread's last record. */
struct thread_extra {
	uint32_t kernel[RAW_KERNEL_FRAMES];	/* kernel frames, innermost first */
	struct raw_extra raw;	/* belongs to the record with the same time */
};

/* The last stack of one (thread, interpreter), right-aligned: the root is at the end. */
struct thread {
	uint64_t key;
	struct lru_item lru;
	bool used;		/* since threads.c last checked it */
	uint32_t cap;		/* capacity in frames */
	uint32_t nframes;	/* of the last stack; all their ids are filled in */
	uint64_t stack_ns;	/* time of the record with the last stack; 0: none */
	uint32_t known;		/* number of valid frames, counted from the root */
	uint32_t coroutine;	/* the outermost frame of a coroutine, counted so; 0: none */
	struct raw_frame *raw_end;	/* end of the array (after the root's); NULL while cap is
					 * 0 */
	uint32_t *ids_end;	/* the same; in the same allocation, after the raw frames */
	uint32_t exception;	/* frame with the exception's type; UINT32_MAX: no exception */
	uint32_t nkernel;	/* in extra->kernel */
	struct thread_extra *extra;	/* its own; NULL: no record had one */
	uint64_t ended_ns;	/* when it was found to have ended (CLOCK_MONOTONIC); 0: not yet */
	struct native_stack *native;	/* its own; NULL: it never had one */
	uint32_t native_cap;	/* ids for which it has room */
	struct async_stack *async;	/* its own; NULL: it never ran a task */
	struct raw_trace *trace;	/* its own; NULL: it never had a context */
	uint32_t trace_len;	/* valid bytes of the last record's context; 0: it has none */
};

static inline uint32_t thread_tid(const struct thread *t)
{
	return t->key >> 32;
}

static inline uint32_t thread_interp(const struct thread *t)
{
	return (uint32_t)t->key;
}

/* Called when a record is freed: the thread has ended, or, with lives, there are too many. */
typedef void (*thread_gone_fn)(void *ctx, const struct thread *t, bool lives);

struct threads {
	pid_t tgid;
	uint64_t keep_ns;	/* how long an ended thread is kept: its records may still come */
	thread_gone_fn gone;
	void *ctx;
	struct u64map by_key;
	struct thread *last;	/* found last */
	struct lru lru;		/* least recently checked first */
};

/* The struct must not be moved. Freed by threads_free(), which does not call gone(). */
void threads_init(struct threads *l, pid_t tgid, uint64_t keep_ns, thread_gone_fn gone, void *ctx);
void threads_free(struct threads *l);

/* Returns NULL if there is none. */
struct thread *threads_find(struct threads *l, uint32_t tid, uint32_t interp_id);
/*
 * Creates the record of a thread that has none; others may be freed. Its stack is not filled in.
 * NULL: no memory.
 */
struct thread *threads_add(struct threads *l, uint32_t tid, uint32_t interp_id);
/*
 * Makes room for a stack of n frames, at most ABI_MAX_FRAMES; also if n is 0. Known frames stay. 0,
 * or -ENOMEM with nothing changed.
 */
int thread_reserve(struct thread *t, uint32_t n);
/*
 * Keeps a RAW_EXTRA of len bytes, whose length was checked, for the record to come. 0 or -ENOMEM.
 */
int thread_set_extra(struct thread *t, const struct raw_extra *x, size_t len);
/* Keeps the context of a thread's last record; len 0: it has none. 0 or -ENOMEM. */
int thread_set_trace(struct thread *t, const void *trace, size_t len);
/* Keeps the native frames of a thread's last record; cnt 0: it has none. 0 or -ENOMEM. */
int thread_set_native(struct thread *t, const struct native_stack *native);
/* Removes a thread that has ended. Does not call gone(). */
void threads_remove(struct threads *l, uint32_t tid, uint32_t interp_id);

#endif
