/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * held.h - what a process still holds of the memory that it got, by stack, for the sample type
 * inuse_space: added to each window at its end.
 *
 * All processes share a bound of bytes for stacks. What finds no room keeps its bytes, without its
 * stack: they are in the window as a stack without frames. In the main process.
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

/* Zero-initialise it, but for max. */
struct held_room {
	size_t max, used;	/* bytes */
	uint64_t beyond;	/* events whose stack found no room; grows */
};

struct held;

/* What a process holds: nothing yet. NULL: no memory. room outlives it. */
struct held *held_new(struct held_room *room);
void held_free(struct held *h);		/* h may be NULL */

/* A MEMORY_ALLOC or MEMORY_FREE; others change nothing. */
void held_take(struct held *h, const struct memory_event *ev);

/* Add what is held to a window, at its end, as the service's. Returns bytes. */
uint64_t held_add(const struct held *h, struct window *w, struct window_map *map, uint32_t service);

#endif
