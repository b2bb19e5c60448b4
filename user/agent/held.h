/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * held.h - the memory that each process still holds, by stack, for the sample type inuse_space:
 * added to each window at its end.
 *
 * All processes share a limit of bytes for stacks. Memory whose stack does not fit appears in the
 * window as a stack without frames. Runs in the main process.
 */
#ifndef TACHBPF_HELD_H
#define TACHBPF_HELD_H

#include <stddef.h>
#include <stdint.h>

#include "model/event.h"

struct window;
struct window_map;

/* Room for the stacks of all processes. */
#define HELD_BYTES_MAX (32u << 20)

/* Zero-initialise it, except for max. */
struct held_room {
	size_t max, used;	/* bytes */
	uint64_t beyond;	/* events whose stack did not fit; cumulative */
};

struct held;

/* A process that holds nothing yet. Returns NULL if there is no memory. room outlives it. */
struct held *held_new(struct held_room *room);
void held_free(struct held *h);		/* h may be NULL */

/* Takes a MEMORY_ALLOC or MEMORY_FREE; other events change nothing. */
void held_take(struct held *h, const struct memory_event *ev);

/* Adds the memory in use to a window, at its end, for service and owner. Returns the bytes. */
uint64_t held_add(const struct held *h, struct window *w, struct window_map *map,
		  uint32_t service, uint32_t owner);

#endif
