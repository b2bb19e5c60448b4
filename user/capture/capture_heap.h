/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_heap.h - --allocations: probes of the allocator of the one process that is recorded.
 * First
 * calls are counted, to know what it would cost; then the capture goes on or ends (heap_cost.h).
 * Without --allocations all functions do nothing.
 */
#ifndef TACHBPF_CAPTURE_HEAP_H
#define TACHBPF_CAPTURE_HEAP_H

#include <stdbool.h>
#include <sys/types.h>

struct capture;

/* Before the BPF programs are loaded: which of them, sizes and settings. 0 or -errno. */
int capture_heap_configure(struct capture *s);
/* When they are loaded: measures what a probe takes here. 0 or -errno; logs why. */
int capture_heap_prepare(struct capture *s);
/* This process was chosen. The first one is the one whose allocator is probed. */
void capture_heap_choose(struct capture *s, pid_t tgid);
/* It has executed another program: its probes are gone. */
void capture_heap_exec(struct capture *s, pid_t tgid);
/* To be called at each capture_poll(): goes on with what waits. Errors end the capture. */
void capture_heap_poll(struct capture *s);
/* Must capture_poll() come back soon, because the program begins now? */
bool capture_heap_hurries(const struct capture *s);
/* The probes go. */
void capture_heap_stop(struct capture *s);
void capture_heap_free(struct capture *s);

#endif
