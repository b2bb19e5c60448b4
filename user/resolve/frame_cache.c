// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * frame_cache.c - see frame_cache.h.
 */
#include "resolve/frame_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

#define CAP_MIN 256

static uint64_t raw_hash(const struct raw_frame *raw)
{
	return hash_u64(raw->code ^ (uint64_t)raw->lasti << 40 ^ (uint64_t)raw->id << 8);
}

static bool raw_equal(const struct raw_frame *a, const struct raw_frame *b)
{
	return a->code == b->code && a->lasti == b->lasti && a->id == b->id;
}

bool frame_cache_init(struct frame_cache *c)
{
	*c = (struct frame_cache){ .slots = calloc(CAP_MIN, sizeof(*c->slots)), .cap = CAP_MIN };
	return c->slots;
}

void frame_cache_free(struct frame_cache *c)
{
	free(c->slots);
}

void frame_cache_forget(struct frame_cache *c)
{
	memset(c->slots, 0, c->cap * sizeof(*c->slots));
	c->cnt = 0;
}

struct known_frame *frame_cache_slot(const struct frame_cache *c, const struct raw_frame *raw)
{
	size_t i = raw_hash(raw) & (c->cap - 1);

	while (c->slots[i].raw.code && !raw_equal(&c->slots[i].raw, raw))
		i = (i + 1) & (c->cap - 1);
	return &c->slots[i];
}

int frame_cache_reserve(struct frame_cache *c)
{
	struct frame_cache bigger = { .cap = c->cap * 2, .cnt = c->cnt };
	size_t i;

	if (c->cnt * 2 < c->cap)
		return 0;
	bigger.slots = calloc(bigger.cap, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (i = 0; i < c->cap; i++)
		if (c->slots[i].raw.code)
			*frame_cache_slot(&bigger, &c->slots[i].raw) = c->slots[i];
	free(c->slots);
	*c = bigger;
	return 0;
}
