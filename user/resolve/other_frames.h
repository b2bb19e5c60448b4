/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * other_frames.h - the frames of a process' stacks that are not Python code: what the BPF side has
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

/* Frames with a fixed name. */
enum other_frame {
	FRAME_OF_NATIVE, FRAME_OF_GC, FRAME_OF_TRUNCATED, FRAME_OF_UNREADABLE, FRAME_OF_SWITCHING,
	FRAME_OF_NO_PYTHON, FRAME_OF_WAIT_FOR_CPU, FRAME_OF_WAIT_FOR_GIL,
	FRAME_OF_NOT_WALKED, FRAME_OF_NOT_KEPT,
	OTHER_FRAME_CNT,
};

struct other_frames {
	struct intern *in;
	const struct kallsyms *kernel;	/* NULL: names of kernel functions are not known */
	uint32_t ids[OTHER_FRAME_CNT];	/* UINT32_MAX: not created yet */
	uint32_t ends[NATIVE_END_CNT];	/* as ids */
	uint32_t exceptions;		/* exception types that have a frame */
	uint32_t native_names;		/* names of native threads that have a frame */
	uint32_t task_names;		/* names of tasks that have a frame */
	uint32_t holders;		/* holders of stopped threads that have a frame */
	uint32_t interps;		/* interpreters that have a frame */
	uint32_t gaps;			/* lengths of gaps that have a frame */
	uint32_t task_waits;		/* what tasks wait for that has a frame */
};

/* in and kernel (may be NULL) must stay valid. There is nothing to free. */
void other_frames_init(struct other_frames *o, struct intern *in, const struct kallsyms *kernel);

/* Sets *id. This and the following functions return 0, or -ENOMEM with *id unchanged. */
int other_frame(struct other_frames *o, enum other_frame which, uint32_t *id);
/* "<kernel NAME>" */
int other_frame_of_kernel(struct other_frames *o, uint64_t addr, uint32_t *id);
/* Text: "<unwound no further: CAUSE>". end must not be NATIVE_WHOLE. */
int other_frame_of_end(struct other_frames *o, enum native_end end, uint32_t *id);
/*
 * Text: "<... N frames ...>", N being at least 2; "<... frames ...>" after the first 256 numbers of
 * a process.
 */
int other_frame_of_gap(struct other_frames *o, uint32_t left_out, uint32_t *id);
/* Text: "<interpreter ID>", or "<interpreter>" for those after the first 256 of a process. */
int other_frame_of_interpreter(struct other_frames *o, uint64_t interp_id, uint32_t *id);
/* "<blocked in NAME>": a system call, "page fault" or "the kernel". Not for a held thread. */
int other_frame_of_call(struct other_frames *o, uint16_t sysno, uint32_t *id);
/*
 * Text: "<stopped by SIGSTOP>", "<traced by BY>", "<frozen in cgroup BY>". by: printable, from
 * held_by.h; if it is "", and after the first 256 of a process: "<traced>", "<frozen>".
 */
int other_frame_of_held(struct other_frames *o, uint16_t wait, const char *by, uint32_t *id);
/*
 * Text: "<exception NAME>", or "<exception ?>" after the first 1,000 types of a process. type may
 * have any bytes.
 */
int other_frame_of_exception(struct other_frames *o, const char type[RAW_EXCEPTION], uint32_t *id);
/*
 * Text: "<native thread COMM>", or "<native thread>" without a name and after the first 256 names
 * of a process. comm may have any bytes.
 */
int other_frame_of_native_thread(struct other_frames *o, const char *comm, uint32_t *id);
/*
 * Text: "<task NAME>" of an asyncio task, or "<task>" after the first 256 names of a process. name:
 * len bytes of UTF-8, which may include control characters.
 */
int other_frame_of_task(struct other_frames *o, const char *name, size_t len, uint32_t *id);

/*
 * Text: "<waiting for Lock self.lock>", what an asyncio task waits for (asyncio/waits_for.h), or
 * without its name after the first 256 of a process. word: waits_for_word(); name: UTF-8, may be
 * "".
 */
int other_frame_of_task_wait(struct other_frames *o, const char *word, const char *name,
			     uint32_t *id);

/*
 * Returns the index of the first of x's kernel frames to show: those before it lead from the
 * scheduler to the BPF program. Requires the names of kernel functions.
 */
uint32_t other_frames_first_of_kernel(const struct other_frames *o, const struct raw_extra *x);

#endif
