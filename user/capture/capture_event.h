/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_event.h - the event of -e (capture_args.event_spec): perf events on each CPU
 * (event_sampler.h), a tracepoint, or probes, and the program that is attached to them. Without -e
 * all functions do nothing.
 */
#ifndef TACHBPF_CAPTURE_EVENT_H
#define TACHBPF_CAPTURE_EVENT_H

#include <stdbool.h>
#include <sys/types.h>

struct capture;

/* Before the BPF programs are loaded: which of them, and their settings. */
void capture_event_configure(struct capture *s);
/* Open the events, which needs rights that are given up afterwards. 0 or -errno; logs why. */
int capture_event_open(struct capture *s);
/* The user has chosen this process; before capture_event_start(). */
void capture_event_choose(struct capture *s, pid_t tgid);
/* Recording begins, pauses, goes on, ends. 0 or -errno; logs why. */
int capture_event_start(struct capture *s);
void capture_event_pause(struct capture *s, bool pause);
/* CPUs have gone online or offline; about once in some seconds. */
void capture_event_refresh(struct capture *s);
void capture_event_stop(struct capture *s);
void capture_event_free(struct capture *s);

#endif
