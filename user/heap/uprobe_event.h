/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* uprobe_event.h - a perf event for a function of one process. */
#ifndef TACHBPF_UPROBE_EVENT_H
#define TACHBPF_UPROBE_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The kernel's number for such events; -errno: it has none. */
int uprobe_event_type(void);

/*
 * Probe what is at this offset in a file, in all threads of the process tgid and in no other, from
 * now on: a BPF program is attached to the event later. returns: when the function returns. The
 * kernel opens path. Returns the event, or -errno.
 */
int uprobe_event_open(int type, pid_t tgid, const char *path, uint64_t offset, bool returns);

#endif
