/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * other_frames.h - the frames of a process' stacks that are no Python code: what the BPF side has
 * marked ("<GC>", "<truncated>"), what a thread waits for, the exception that it handles, native
 * and kernel functions. Each gets its row of the intern table when it is first needed.
 */
#ifndef TACHBPF_OTHER_FRAMES_H
#define TACHBPF_OTHER_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "bpf/abi_await.h"
#include "bpf/abi_native.h"

struct intern;
struct kallsyms;

/* Those with one name. */
enum other_frame {
	FRAME_OF_NATIVE, FRAME_OF_GC, FRAME_OF_TRUNCATED, FRAME_OF_UNREADABLE, FRAME_OF_SWITCHING,
	FRAME_OF_NO_PYTHON, FRAME_OF_WAIT_FOR_CPU, FRAME_OF_WAIT_FOR_GIL,
	FRAME_OF_NOT_WALKED, FRAME_OF_NOT_KEPT,
	OTHER_FRAME_CNT,
};

struct other_frames {
	struct intern *in;
	const struct kallsyms *kernel;	/* NULL: names of kernel functions are not known */
	uint32_t ids[OTHER_FRAME_CNT];	/* UINT32_MAX: not made yet */
	uint32_t ends[NATIVE_END_CNT];	/* as ids */
	uint32_t exceptions;		/* types that have a frame */
	uint32_t native_names;		/* of native threads that have a frame */
	uint32_t task_names;		/* of tasks that have a frame */
	uint32_t holders;		/* of held threads that have a frame */
	uint32_t interps;		/* that have a frame */
};

/* in and kernel (may be NULL) must stay valid. There is nothing to free. */
void other_frames_init(struct other_frames *o, struct intern *in, const struct kallsyms *kernel);

/* Set *id. This and the following functions return 0 or -ENOMEM, and then *id is not set. */
int other_frame(struct other_frames *o, enum other_frame which, uint32_t *id);
/* "<kernel NAME>" */
int other_frame_of_kernel(struct other_frames *o, uint64_t addr, uint32_t *id);
/* "<unwound no further: CAUSE>"; not of NATIVE_WHOLE. */
int other_frame_of_end(struct other_frames *o, enum native_end end, uint32_t *id);
/* "<interpreter ID>"; beyond 256 different ones of a process "<interpreter>". */
int other_frame_of_interpreter(struct other_frames *o, uint64_t interp_id, uint32_t *id);
/* "<blocked in NAME>": a system call, "page fault" or "the kernel". Not of a held thread. */
int other_frame_of_call(struct other_frames *o, uint16_t sysno, uint32_t *id);
/*
 * "<stopped by SIGSTOP>", "<traced by BY>", "<frozen in cgroup BY>". by: printable, from held_by.h;
 * "", or beyond 256 different ones of a process: "<traced>", "<frozen>".
 */
int other_frame_of_held(struct other_frames *o, uint16_t wait, const char *by, uint32_t *id);
/* "<exception NAME>"; beyond 1,000 types of a process "<exception ?>". type may have any bytes. */
int other_frame_of_exception(struct other_frames *o, const char type[RAW_EXCEPTION], uint32_t *id);
/*
 * "<native thread COMM>"; beyond 256 different names of a process, and without a name, "<native
 * thread>". comm may have any bytes.
 */
int other_frame_of_native_thread(struct other_frames *o, const char *comm, uint32_t *id);
/*
 * "<task NAME>" of an asyncio task; beyond 256 different names of a process "<task>". name: UTF-8,
 * len bytes, of which any may be control characters.
 */
int other_frame_of_task(struct other_frames *o, const char *name, size_t len, uint32_t *id);

/*
 * The index of the first of x's kernel frames to show: those before it lead from the scheduler to
 * the BPF program. Only with names of kernel functions.
 */
uint32_t other_frames_first_of_kernel(const struct other_frames *o, const struct raw_extra *x);

#endif
