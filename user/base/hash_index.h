/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * hash_index.h - finds the elements of an array by their contents: a hash table of their numbers.
 * The array is the caller's, and is append-only.
 *
 * Each slot keeps the element's hash: a search does not read elements with another hash, and
 * growing the table reads none.
 */
#ifndef TACHBPF_HASH_INDEX_H
#define TACHBPF_HASH_INDEX_H

#include "base/hash_slots.h"

/* Zero-initialise; freed by hash_index_free(). */
struct hash_index {
	struct hash_slots table;	/* of struct hash_index_slot */
};

/* number_1: number + 1; 0: free. */
struct hash_index_slot {
	uint32_t hash, number_1;
};

#define HASH_INDEX_MAX (UINT32_MAX / 2)		/* elements */
#define HASH_INDEX_CAP_MIN 64

/* The element to find. equal: returns true if the array's element of that number has this key. */
struct hash_index_key {
	struct hash_index_slot slot;
	bool (*equal)(const void *array, uint32_t number, const void *key);
	const void *array, *key;
};

HASH_INLINE bool hash_index_used(const void *slot)
{
	return ((const struct hash_index_slot *)slot)->number_1;
}

HASH_INLINE uint64_t hash_index_hash(const void *record, const void *ctx)
{
	return ((const struct hash_index_slot *)record)->hash;
}

HASH_INLINE bool hash_index_same(const void *slot, const void *key, const void *ctx)
{
	const struct hash_index_slot *s = slot;
	const struct hash_index_key *k = key;

	return s->hash == k->slot.hash && k->equal(k->array, s->number_1 - 1, k->key);
}

static const struct hash_kind hash_index_kind = {
	.bytes = sizeof(struct hash_index_slot), .cap_min = HASH_INDEX_CAP_MIN,
	.used = hash_index_used, .hash = hash_index_hash, .same = hash_index_same,
};

/* Makes room for one more element. Returns 0, or -ENOMEM, also if there would be too many. */
static inline int hash_index_reserve(struct hash_index *x)
{
	if (x->table.cnt >= HASH_INDEX_MAX)
		return -ENOMEM;
	return hash_slots_reserve(&x->table, &hash_index_kind, NULL);
}

/*
 * Returns the slot of the element that equals key, or the free one where it belongs, for
 * hash_index_fill(). There must be room for an element.
 */
HASH_INLINE struct hash_index_slot *
hash_index_slot_of(const struct hash_index *x, uint32_t hash,
		   bool (*equal)(const void *array, uint32_t number, const void *key),
		   const void *array, const void *key)
{
	const struct hash_index_key k = { { hash, 0 }, equal, array, key };

	return hash_slots_find(&x->table, &hash_index_kind, &k, NULL);
}

/* Fills a free slot with the element of this number. */
HASH_INLINE void hash_index_fill(struct hash_index *x, struct hash_index_slot *slot,
				 uint32_t hash, uint32_t number)
{
	*slot = (struct hash_index_slot){ hash, number + 1 };
	x->table.cnt++;
}

/* Finds the number of the element that equals key. Returns false if there is none. */
HASH_INLINE bool hash_index_find(const struct hash_index *x, uint32_t hash,
				 bool (*equal)(const void *array, uint32_t number, const void *key),
				 const void *array, const void *key, uint32_t *number)
{
	const struct hash_index_slot *slot;

	if (!x->table.cap)
		return false;
	slot = hash_index_slot_of(x, hash, equal, array, key);
	*number = slot->number_1 - 1;
	return slot->number_1;
}

static inline void hash_index_free(struct hash_index *x)
{
	hash_slots_free(&x->table);
}

#endif
