/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_wait.h - what modes do that are about waiting. In other modes nothing happens.
 */
#ifndef TACHBPF_CAPTURE_WAIT_H
#define TACHBPF_CAPTURE_WAIT_H

struct capture;

/* Before the programs are loaded: which ones the mode needs, and what they do. */
void capture_wait_configure(struct capture *s);

/* Attach the scheduler's programs: threads that leave their CPUs are seen. 0 or -errno; logs why. */
int capture_wait_start(struct capture *s);
void capture_wait_stop(struct capture *s);

/* Look for threads that were off-CPU already in processes that were found since the last time. */
void capture_wait_scan(struct capture *s);

/* The time that threads have waited so far becomes samples, for all processes. */
void capture_wait_emit_open(struct capture *s);

#endif
