// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* u64map.c - see u64map.h. */
#include "base/u64map.h"

#include "base/util.h"

static bool slot_used(const void *slot)
{
	return ((const struct u64map_slot *)slot)->value;
}

static uint64_t slot_hash(const void *record, const void *ctx)
{
	return hash_u64(((const struct u64map_slot *)record)->key);
}

static bool slot_same(const void *slot, const void *key, const void *ctx)
{
	return ((const struct u64map_slot *)slot)->key == ((const struct u64map_slot *)key)->key;
}

static const struct hash_kind kind = {
	/* Thousands of processes each have some maps, most of them with one entry. */
	.bytes = sizeof(struct u64map_slot), .cap_min = 4,
	.used = slot_used, .hash = slot_hash, .same = slot_same,
};

HASH_INLINE struct u64map_slot *slot_of(const struct u64map *m, uint64_t key)
{
	const struct u64map_slot wanted = { .key = key };

	return m->table.cap ? hash_slots_find(&m->table, &kind, &wanted, NULL) : NULL;
}

void *u64map_get(const struct u64map *m, uint64_t key)
{
	const struct u64map_slot *slot = slot_of(m, key);

	return slot ? slot->value : NULL;
}

int u64map_put(struct u64map *m, uint64_t key, void *value)
{
	struct u64map_slot *slot;

	if (hash_slots_reserve(&m->table, &kind, NULL))
		return -ENOMEM;
	slot = slot_of(m, key);
	m->table.cnt += !slot->value;
	m->cnt = m->table.cnt;
	*slot = (struct u64map_slot){ .key = key, .value = value };
	return 0;
}

void *u64map_remove(struct u64map *m, uint64_t key)
{
	struct u64map_slot *slot = slot_of(m, key);
	void *value = slot ? slot->value : NULL;

	if (value)
		hash_slots_remove(&m->table, &kind, slot, NULL);
	m->cnt = m->table.cnt;
	return value;
}

/*
 * The iteration goes from a free slot downwards, once around. A removal moves entries to lower
 * slots, but never over a free one: entries that are moved were returned before, and those that
 * were not returned yet stay where they are. *pos has the number of visited slots and, in its upper
 * bits, the free slot where the iteration began.
 */
#define SEEN_BITS 32
_Static_assert(sizeof(size_t) * 8 > SEEN_BITS, "*pos holds two positions");

void *u64map_next(const struct u64map *m, size_t *pos)
{
	const struct u64map_slot *slots = (const void *)m->table.slots;
	size_t cap = m->table.cap, begin, seen, i;

	if (!*pos)
		for (begin = 0; begin < cap && slots[begin].value; begin++)
			*pos += (size_t)1 << SEEN_BITS;
	begin = *pos >> SEEN_BITS;
	seen = *pos & UINT32_MAX;
	while (seen < cap) {
		i = (begin - 1 - seen++) & (cap - 1);
		*pos = begin << SEEN_BITS | seen;
		if (slots[i].value)
			return slots[i].value;
	}
	return NULL;
}

void u64map_free(struct u64map *m)
{
	hash_slots_free(&m->table);
	m->cnt = 0;
}
