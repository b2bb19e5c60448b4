// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * frame_cache.c - see frame_cache.h.
 */
#include "resolve/frame_cache.h"

#include <stddef.h>

#include "base/hash_secret.h"

static bool slot_used(const void *slot)
{
	return ((const struct known_frame *)slot)->raw.code;
}

/* The process chooses the contents of a raw frame: ctx is the cache, which has a secret. */
static uint64_t slot_hash(const void *record, const void *ctx)
{
	const struct raw_frame *raw = &((const struct known_frame *)record)->raw;
	const struct frame_cache *c = ctx;

	return hash_secret_mix(raw->code ^ c->seed, hash_secret_load(&raw->lasti) ^ HASH_SECRET_A);
}

static bool slot_same(const void *slot, const void *key, const void *ctx)
{
	const struct raw_frame *a = &((const struct known_frame *)slot)->raw;
	const struct raw_frame *b = &((const struct known_frame *)key)->raw;

	/* A single condition, so that hash_slots_near() has no branch. */
	return !((a->code ^ b->code) |
		 (hash_secret_load(&a->lasti) ^ hash_secret_load(&b->lasti)));
}

static const struct hash_kind kind = {
	/* Most processes of a host are idle and have no frames. */
	.bytes = sizeof(struct known_frame), .cap_min = 2,
	.used = slot_used, .hash = slot_hash, .same = slot_same,
};

bool frame_cache_init(struct frame_cache *c)
{
	*c = (struct frame_cache){ .seed = hash_secret_seed() };
	return !frame_cache_reserve(c);
}

void frame_cache_free(struct frame_cache *c)
{
	hash_slots_free(&c->table);
}

void frame_cache_forget(struct frame_cache *c)
{
	hash_slots_clear(&c->table, &kind);
}

struct known_frame *frame_cache_slot(const struct frame_cache *c, const struct raw_frame *raw)
{
	/* hash_slots_find() takes a record; slot_hash() and slot_same() read only its raw. */
	return hash_slots_find(&c->table, &kind, raw, c);
}
_Static_assert(offsetof(struct known_frame, raw) == 0, "a raw frame is passed as a record");

uint32_t frame_cache_ids(const struct frame_cache *c, const struct raw_frame *raw, uint32_t n,
			 uint32_t *ids, uint32_t *coroutines)
{
	const struct known_frame *slot;
	uint32_t last = 0, i;

	for (i = 0; i < n; i++) {
		slot = hash_slots_near(&c->table, &kind, &raw[i], c);
		if (!slot_same(slot, &raw[i], c) || !slot->resolved)
			break;
		ids[i] = slot->id;
		if (slot->coroutine)
			last = i + 1;
	}
	*coroutines = last;
	return i;
}

int frame_cache_reserve(struct frame_cache *c)
{
	return hash_slots_reserve(&c->table, &kind, c);
}
