/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * frame_cache.h - raw frames of one process and the ids that they have got.
 *
 * Knows neither names nor processes.
 */
#ifndef TACHBPF_FRAME_CACHE_H
#define TACHBPF_FRAME_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/hash_slots.h"
#include "bpf/abi.h"

/* One slot: the raw frame as sent, and its answer. */
struct known_frame {
	struct raw_frame raw;		/* code 0: free */
	uint32_t id;
	uint32_t pending1;		/* symbolize.c's: index of what waits for its name, + 1; 0: none */
	bool resolved;
};

struct frame_cache {
	struct hash_slots table;	/* of struct known_frame */
};

/* false: no memory. */
bool frame_cache_init(struct frame_cache *c);
void frame_cache_free(struct frame_cache *c);
void frame_cache_forget(struct frame_cache *c);
/* Make room for one more. 0 or -ENOMEM; slots move. */
int frame_cache_reserve(struct frame_cache *c);
/* The frame's slot, or the free one where it belongs: who fills that adds to table.cnt. */
struct known_frame *frame_cache_slot(const struct frame_cache *c, const struct raw_frame *raw);

#endif
