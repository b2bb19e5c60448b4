/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_tasks.h - the part of a capture that is there with --async in a mode that samples all time
 * (wall, all): what the waiting asyncio tasks of each profiled process wait for.
 *
 * Their lists are walked from outside, ten times a second, and less often if that took more than 1 %
 * of the time.
 */
#ifndef TACHBPF_CAPTURE_TASKS_H
#define TACHBPF_CAPTURE_TASKS_H

#include <stdint.h>

struct capture;

/* Walk tasks of all processes, if it is time to. To be called at each capture_poll(). */
void capture_tasks_poll(struct capture *s);
/* How long nothing is due: at most limit_ns. */
uint64_t capture_tasks_wait_ns(const struct capture *s, uint64_t now_ns, uint64_t limit_ns);
void capture_tasks_free(struct capture *s);

#endif
