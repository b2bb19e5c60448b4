/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * frame_cache.h - a hash table of one process: raw frame -> frame id.
 */
#ifndef TACHBPF_FRAME_CACHE_H
#define TACHBPF_FRAME_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/hash_slots.h"
#include "bpf/abi.h"

/* One slot. */
struct known_frame {
	struct raw_frame raw;		/* as the BPF side sent it; code 0: the slot is free */
	uint32_t id;			/* its frame id */
	uint16_t pending1;		/* its index + 1 in symbolizer.pending; 0: not there */
	bool resolved;
	bool coroutine;			/* see symbolizer_frame() */
};
_Static_assert(sizeof(struct known_frame) == 24, "a process has thousands of slots");

struct frame_cache {
	struct hash_slots table;	/* of struct known_frame */
	uint64_t seed;			/* of hashes: the process chooses the contents of raw
					 * frames */
};

/* Returns false if there is no memory. */
bool frame_cache_init(struct frame_cache *c);
void frame_cache_free(struct frame_cache *c);
/* Removes all frames. */
void frame_cache_forget(struct frame_cache *c);
/* Makes room for one more frame. Pointers to slots become invalid. 0 or -ENOMEM. */
int frame_cache_reserve(struct frame_cache *c);
/*
 * Returns the frame's slot or, if the frame is not cached, the free slot where it belongs. A caller
 * that fills a free slot increments table.cnt.
 */
struct known_frame *frame_cache_slot(const struct frame_cache *c, const struct raw_frame *raw);

/*
 * Sets the ids of the first frames, at most n, and returns their number. It stops at a frame that
 * is not resolved, and occasionally at one that is, which frame_cache_slot() finds. *coroutines:
 * how many of these frames end with the last one of a coroutine; 0: there is none.
 */
uint32_t frame_cache_ids(const struct frame_cache *c, const struct raw_frame *raw, uint32_t n,
			 uint32_t *ids, uint32_t *coroutines);

#endif
