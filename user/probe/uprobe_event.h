/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* uprobe_event.h - a perf event at a place in a file's code. */
#ifndef TACHBPF_UPROBE_EVENT_H
#define TACHBPF_UPROBE_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The kernel's perf event type for uprobes; -errno: it has none. */
int uprobe_event_type(void);

struct uprobe_place {
	uint64_t offset;	/* of the instruction, in the file */
	uint64_t semaphore;	/* a counter in the file's data that the kernel keeps above 0 in
				 * each process while it is probed (USDT; 4.20); 0: none */
	bool returns;		/* probe the return of the function that begins there */
};

/*
 * Probe a place of a file from now on, only in the threads of the process tgid (0: in all
 * processes); a BPF program is attached to the event later. The kernel opens path. Returns the
 * event or -errno.
 */
int uprobe_event_open(int type, pid_t tgid, const char *path, const struct uprobe_place *place);

#endif
