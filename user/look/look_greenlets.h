/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* look_greenlets.h - the greenlets of a process, also those of gevent, and their functions. */
#ifndef TACHBPF_LOOK_LOOK_GREENLETS_H
#define TACHBPF_LOOK_LOOK_GREENLETS_H

#include "heap/greenlets.h"

struct process;

struct look_greenlets {
	int err;		/* 0: found is valid. -ENOENT: greenlet is not loaded. Otherwise
				 * unreadable */
	struct heap_greenlets *found;
	uint32_t *frames;	/* of each of found->frames: its id in process_tables() */
};

/* Read them. Always sets *out, which look_greenlets_free() frees. */
void look_greenlets_take(struct process *p, struct look_greenlets *out);
void look_greenlets_free(struct look_greenlets *g);

#endif
