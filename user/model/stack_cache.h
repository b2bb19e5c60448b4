/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * stack_cache.h - finds the stacks of one process that were seen before by the ids of their frames,
 * all of them at once.
 *
 * A hit is exact: a stack is compared with the stored one. It is a cache of limited size, so a miss
 * may have been seen before all the same. Knows nothing of the meaning of frames.
 */
#ifndef TACHBPF_STACK_CACHE_H
#define TACHBPF_STACK_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/hash_secret.h"
#include "model/event.h"

/* Remembered shares of a stack: a thread uses the one of its number modulo this. */
#define STACK_CACHE_SHARES 4

#define STACK_CACHE_MIX HASH_SECRET_A

/* A stack: two of them fill a CPU cache line. */
struct stack_cached {
	uint32_t hash;
	uint32_t frames;	/* where the cache keeps its frames; 0: no stack */
	uint32_t depth;
	uint32_t value;		/* from stack_cache_add() */
	uint32_t shares[STACK_CACHE_SHARES];	/* the caller's; initially UINT32_MAX */
};

struct stack_cache {
	struct stack_cached (*sets)[2];
	uint32_t set_cnt;	/* a power of two; 0: nothing was added */
	uint32_t cnt;		/* stacks added since it has this many sets */
	uint32_t *frames;	/* of all stacks, concatenated; [0] is unused */
	uint32_t used, cap;	/* of frames */
	uint32_t begun;		/* where the frames of this process begin */
	uint32_t round;		/* how often everything was dropped */
	uint64_t seed;
	uint32_t secret[EVENT_MAX_FRAMES];
};

/* Freed by stack_cache_free(). */
void stack_cache_init(struct stack_cache *c);
void stack_cache_free(struct stack_cache *c);
/* Drops all stacks: the following ids have another meaning. */
void stack_cache_clear(struct stack_cache *c);

/*
 * Hashes a stack: the sum of products of two frames each (NH, of UMAC), both with a secret added,
 * so nobody can choose stacks that collide. The last pair is the last two frames: with an odd
 * number, one of them is in two pairs, and no branch depends on that.
 */
static inline uint64_t stack_cache_hash(const struct stack_cache *c, const uint32_t *frames,
					uint32_t depth)
{
	const uint32_t *key = c->secret, *p, *last;
	uint64_t h = depth;

	if (depth < 2)
		return depth ? (frames[0] + 1 + (uint64_t)key[0]) * STACK_CACHE_MIX : 0;
	last = frames + depth - 2;
	for (p = frames; p < last; p += 2, key += 2)
		h += (uint64_t)(p[0] + key[0]) * (p[1] + key[1]);
	h += (uint64_t)(last[0] + key[0]) * (last[1] + key[1]);
	return hash_secret_mix(h ^ c->seed, STACK_CACHE_MIX);
}

static inline bool stack_cache_same(const struct stack_cache *c, const struct stack_cached *s,
				    const uint32_t *frames, uint32_t depth)
{
	return s->depth == depth && s->frames >= c->begun && s->frames &&
	       (!depth || !memcmp(c->frames + s->frames, frames, depth * sizeof(*frames)));
}

/* Returns the stack of these frames with this hash, valid until one is added. NULL: not found. */
static inline struct stack_cached *stack_cache_find(const struct stack_cache *c, uint64_t hash,
						    const uint32_t *frames, uint32_t depth)
{
	struct stack_cached *s;

	if (!c->set_cnt)
		return NULL;
	s = c->sets[hash & (c->set_cnt - 1)];
	/* No branch depends on which of the two it is. */
	s += s->hash != hash >> 32;
	return s->hash == hash >> 32 && stack_cache_same(c, s, frames, depth) ? s : NULL;
}

/* Adds a stack that was not found. Returns NULL if there is no memory, or it is too deep. */
struct stack_cached *stack_cache_add(struct stack_cache *c, uint64_t hash, const uint32_t *frames,
				     uint32_t depth, uint32_t value);

#endif
