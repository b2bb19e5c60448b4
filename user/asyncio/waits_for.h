/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * waits_for.h - what a suspended task waits for at the end of its coroutines, on 3.8 and later:
 * asyncio.sleep(), a lock, semaphore, condition, event or queue (with the attribute or variable of
 * the caller that has it, "self.jobs"), a socket with its descriptor.
 */
#ifndef TACHBPF_ASYNCIO_WAITS_FOR_H
#define TACHBPF_ASYNCIO_WAITS_FOR_H

#include "cpython/frames.h"
#include "asyncio/tasks.h"

/*
 * frames: the task's coroutines, innermost first. Sets *out; kind WAITS_UNKNOWN if it is none of
 * these. Makes at most 200 reads.
 */
void waits_for_read(struct py_walk *w, const struct py_frames_at *at, const struct py_frame *frames,
		    uint32_t cnt, struct task_waits_for *out);

#endif
