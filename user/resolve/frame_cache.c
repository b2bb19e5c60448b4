// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * frame_cache.c - see frame_cache.h.
 */
#include "resolve/frame_cache.h"

#include <stddef.h>

#include "base/util.h"

static bool slot_used(const void *slot)
{
	return ((const struct known_frame *)slot)->raw.code;
}

static uint64_t slot_hash(const void *record, const void *ctx)
{
	const struct raw_frame *raw = &((const struct known_frame *)record)->raw;

	return hash_u64(raw->code ^ (uint64_t)raw->lasti << 40 ^ (uint64_t)raw->id << 8);
}

static bool slot_same(const void *slot, const void *key, const void *ctx)
{
	const struct raw_frame *a = &((const struct known_frame *)slot)->raw;
	const struct raw_frame *b = &((const struct known_frame *)key)->raw;

	return a->code == b->code && a->lasti == b->lasti && a->id == b->id;
}

static const struct hash_kind kind = {
	.bytes = sizeof(struct known_frame), .cap_min = 16,
	.used = slot_used, .hash = slot_hash, .same = slot_same,
};

bool frame_cache_init(struct frame_cache *c)
{
	*c = (struct frame_cache){ 0 };
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
	return hash_slots_find(&c->table, &kind, raw, NULL);
}
_Static_assert(offsetof(struct known_frame, raw) == 0, "a raw frame is passed as a record");

int frame_cache_reserve(struct frame_cache *c)
{
	return hash_slots_reserve(&c->table, &kind, NULL);
}
