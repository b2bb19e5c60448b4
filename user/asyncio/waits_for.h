/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * waits_for.h - what a suspended task waits for at the end of its coroutines, on 3.8 and later:
 * asyncio.sleep(), a lock, semaphore, condition, event, barrier or queue, with the variable or
 * attribute of the caller that has it ("self.jobs"), a socket with its descriptor, a subprocess, a
 * future of concurrent.futures.
 *
 * It is told by asyncio's own coroutines: the outermost of those at the chain's inner end. A future
 * of concurrent.futures is told by the callback of the asyncio future that stands for it.
 */
#ifndef TACHBPF_ASYNCIO_WAITS_FOR_H
#define TACHBPF_ASYNCIO_WAITS_FOR_H

#include "asyncio/task_read.h"

/* Limits: asyncio's own coroutines that are examined; entries of a dict that are searched. */
#define WAITS_FRAMES_MAX 8
#define WAITS_ENTRIES_MAX 512

/* Sets *out; kind WAITS_UNKNOWN if it is none of these. t: as read by task_coros_read(). */
void waits_for_read(struct task_reader *r, const struct task_read *t, struct task_waits_for *out);

/* Its kind in words: "Lock", "room in Queue", "a socket"; "": unknown. */
const char *waits_for_word(uint8_t kind);

#endif
