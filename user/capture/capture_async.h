/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_async.h - the part of a capture that is there with --async only: finds where asyncio
 * keeps the tasks of each profiled process, and tells the BPF side (bpf/abi_await.h).
 *
 * A process is looked at when it begins. If it has not loaded asyncio yet, the BPF side says when
 * it has mapped more code (RAW_CHANGED), and it is looked at again. A forked child has its
 * parent's tasks, and so its parent's place.
 */
#ifndef TACHBPF_CAPTURE_ASYNC_H
#define TACHBPF_CAPTURE_ASYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi_async.h"

struct capture;
struct tracked;

/* Before the BPF programs are loaded: sizes and settings. */
void capture_async_configure(struct capture *s);

/*
 * Look at the processes that are due. To be called at each capture_poll(); asks the inspector,
 * about 1 ms a process.
 */
void capture_async_poll(struct capture *s);
/* How long nothing is due: at most limit_ns. Without --async limit_ns. */
uint64_t capture_async_wait_ns(const struct capture *s, uint64_t now_ns, uint64_t limit_ns);

/* Where asyncio keeps the tasks of a process. Returns false if that is not known. */
bool capture_async_layout(const struct capture *s, const struct tracked *t,
			  struct async_layout *out);

/* The process has mapped code, and perhaps asyncio. */
void capture_async_changed(struct capture *s, struct tracked *t);

#endif
