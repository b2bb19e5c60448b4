/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * threads.h - the last stack of each thread of one process.
 *
 * A thread that has ended gives its record back: for each new thread two others are looked at,
 * whether they still live, beginning with those that were looked at longest ago. So at most about
 * twice as many records are kept as threads live, and never more than THREADS_MAX: beyond that a
 * thread that was not found for long is forgotten.
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
 * Of one process. A record takes 160 bytes and 20 for each frame of the deepest stack so far,
 * rounded up to 16, 32, 64, ..: 5.2 KiB at most; 1 KiB if its thread had an exception or a kernel
 * stack, 640 bytes if it had a thread context, 1 KiB if it had frames of machine code, and 3 KiB if
 * it ran an asyncio task (--async).
 */
#define THREADS_MAX 8192
/* A thread's first stack gets room for so many frames. */
#define THREAD_FRAMES_MIN 16
/* As long as there are no more, nobody looks which of them live. */
#define THREADS_FEW 64

/* Where the frames of machine code of a thread's last record stand among its Python frames. */
#define NATIVE_STACK_PYTHON UINT32_MAX	/* in place of an id: the next Python frame */
struct native_stack {
	uint32_t cnt;		/* 0: the record had none */
	uint32_t frames;	/* of machine code */
	uint32_t ids[EVENT_MAX_FRAMES + 1];	/* innermost first */
};

/* Who awaits the asyncio task of a thread's last record. */
struct async_stack {
	bool shown;		/* 1: these frames stand in place of those outside of at */
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
	bool used;		/* since threads.c looked at it last */
	uint32_t cap;		/* frames that there is room for */
	uint32_t nframes;	/* of the last stack, whose ids are all filled in */
	uint64_t stack_ns;	/* time of the record that the last stack came with; 0: none */
	uint32_t known;		/* number of valid frames, counted from the root */
	struct raw_frame *raw_end;	/* behind the root's; NULL while cap is 0 */
	uint32_t *ids_end;	/* the same; in the same allocation, behind the raw frames */
	uint32_t exception;	/* frame with the exception's type; UINT32_MAX: no exception */
	uint32_t nkernel;	/* in extra->kernel */
	struct thread_extra *extra;	/* its own; NULL: no record had one */
	uint64_t ended_ns;	/* when it was found to have ended (CLOCK_MONOTONIC); 0: not yet */
	struct native_stack *native;	/* its own; NULL: it never had one */
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

/* A record goes, because the thread has ended, or, if it lives, because there are too many. */
typedef void (*thread_gone_fn)(void *ctx, const struct thread *t, bool lives);

struct threads {
	pid_t tgid;
	uint64_t keep_ns;	/* how long an ended thread is kept: records of it may come */
	thread_gone_fn gone;
	void *ctx;
	struct u64map by_key;
	struct thread *last;	/* that was found */
	struct lru lru;		/* the oldest is the one that was looked at longest ago */
};

/* The struct must not be moved. Freed by threads_free(), which does not call gone(). */
void threads_init(struct threads *l, pid_t tgid, uint64_t keep_ns, thread_gone_fn gone, void *ctx);
void threads_free(struct threads *l);

/* NULL: there is none. */
struct thread *threads_find(struct threads *l, uint32_t tid, uint32_t interp_id);
/*
 * Make the record of a thread that has none; others may go. Its stack is not filled in. NULL: no
 * memory.
 */
struct thread *threads_add(struct threads *l, uint32_t tid, uint32_t interp_id);
/*
 * Make room for a stack of n frames, at most ABI_MAX_FRAMES, also if n is 0; those that are known
 * stay. 0, or -ENOMEM: nothing has changed.
 */
int thread_reserve(struct thread *t, uint32_t n);
/* Keep a RAW_EXTRA of len bytes, which are all it claims, for the record to come. 0 or -ENOMEM. */
int thread_set_extra(struct thread *t, const struct raw_extra *x, size_t len);
/* Keep the context of a thread's last record; len 0: it has none. 0 or -ENOMEM. */
int thread_set_trace(struct thread *t, const void *trace, size_t len);
/* The thread has ended. Does not call gone(). */
void threads_remove(struct threads *l, uint32_t tid, uint32_t interp_id);

#endif
