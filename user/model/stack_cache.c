// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * stack_cache.c - see stack_cache.h. The frames of all stacks are in one append-only array: their
 * position shows which process they belong to. When it is full, everything is dropped.
 */
#include "model/stack_cache.h"

#include <stdlib.h>
#include <sys/random.h>

#include "base/util.h"

/* Initial and maximum number of sets and of frames: together they fit the cache of a CPU core. */
#define SETS_MIN 64
#define SETS_MAX 8192
#define FRAMES_MIN 4096
#define FRAMES_MAX (256u << 10)
#define GROW 4

void stack_cache_init(struct stack_cache *c)
{
	memset(c, 0, sizeof(*c));
	c->seed = hash_secret_seed();
	/* Without secrets: slower under attack, never wrong. */
	if (getrandom(c->secret, sizeof(c->secret), GRND_NONBLOCK) != sizeof(c->secret))
		memset(c->secret, 0, sizeof(c->secret));
}

void stack_cache_free(struct stack_cache *c)
{
	free(c->sets);
	free(c->frames);
}

void stack_cache_clear(struct stack_cache *c)
{
	c->begun = c->used;
	c->round++;
}

static void forget_stacks(struct stack_cache *c)
{
	if (c->set_cnt)
		memset(c->sets, 0, c->set_cnt * sizeof(*c->sets));
	c->round++;
	c->cnt = 0;
	c->used = 1;
	c->begun = 0;
}

static bool grow_sets(struct stack_cache *c)
{
	uint32_t cnt = c->set_cnt ? c->set_cnt * GROW : SETS_MIN;
	void *sets;

	if (c->cnt < c->set_cnt || c->set_cnt >= SETS_MAX)
		return true;
	cnt = cnt < SETS_MAX ? cnt : SETS_MAX;
	sets = aligned_alloc(sizeof(*c->sets), cnt * sizeof(*c->sets));
	if (!sets)
		return false;
	free(c->sets);
	c->sets = sets;
	c->set_cnt = cnt;
	forget_stacks(c);
	return true;
}

static bool grow_frames(struct stack_cache *c, uint32_t depth)
{
	uint32_t cap = c->cap ? c->cap * GROW : FRAMES_MIN, *frames;

	if (c->used + depth <= c->cap)
		return true;
	if (c->cap >= FRAMES_MAX) {
		forget_stacks(c);
		return true;
	}
	frames = reallocarray(c->frames, cap, sizeof(*frames));
	if (!frames)
		return false;
	c->frames = frames;
	c->cap = cap;
	return true;
}

struct stack_cached *stack_cache_add(struct stack_cache *c, uint64_t hash, const uint32_t *frames,
				     uint32_t depth, uint32_t value)
{
	struct stack_cached *s;

	if (depth > EVENT_MAX_FRAMES || !grow_sets(c) || !grow_frames(c, depth))
		return NULL;
	s = c->sets[hash & (c->set_cnt - 1)];
	/* The newest one comes first, next to the previous one. */
	s[1] = s[0];
	*s = (struct stack_cached){ (uint32_t)(hash >> 32), c->used, depth, value, { 0 } };
	memset(s->shares, 0xff, sizeof(s->shares));
	if (depth)
		memcpy(c->frames + c->used, frames, depth * sizeof(*frames));
	c->used += depth;
	c->cnt++;
	return s;
}
