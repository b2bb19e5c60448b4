/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * hash_slots.h - the one hash table with open addressing: records are stored in the table itself,
 * found by linear probing, and removed by shifting back those after them.
 *
 * For authors of tables; u64map.h and hash_index.h are ready for use. Everything is inline, and a
 * constant struct hash_kind describes the records: so each table compiles to code as if written for
 * it alone. Knows nothing of its contents, and frees none of them.
 */
#ifndef TACHBPF_HASH_SLOTS_H
#define TACHBPF_HASH_SLOTS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Zero-initialise; freed by hash_slots_free(). Slots move when it grows. */
struct hash_slots {
	uint8_t *slots;
	size_t cap, cnt;	/* cap: 0 or a power of two */
};

/* Describes the records. ctx is passed on from the functions below, for example a seed. */
struct hash_kind {
	size_t bytes;		/* of a record */
	size_t cap_min;		/* slots of the smallest table, a power of two */
	bool (*used)(const void *slot);		/* zeroed memory is a free slot */
	/* Of a record, or of anything with a record's key. */
	uint64_t (*hash)(const void *record, const void *ctx);
	bool (*same)(const void *slot, const void *key, const void *ctx);
};

#define HASH_INLINE static inline __attribute__((always_inline, unused))

HASH_INLINE void *hash_slots_at(const struct hash_slots *t, const struct hash_kind *kind, size_t i)
{
	return t->slots + (i & (t->cap - 1)) * kind->bytes;
}

/* Returns the slot of key, or the free one where it belongs. cap must not be 0. */
HASH_INLINE void *hash_slots_find(const struct hash_slots *t, const struct hash_kind *kind,
				  const void *key, const void *ctx)
{
	size_t mask = t->cap - 1, i = kind->hash(key, ctx) & mask;
	uint8_t *slots = t->slots, *slot = slots + i * kind->bytes;

	while (kind->used(slot) && !kind->same(slot, key, ctx)) {
		i = (i + 1) & mask;
		slot = slots + i * kind->bytes;
	}
	return slot;
}

/*
 * Returns the slot of key, if it is the first or the second one of its probe; otherwise a slot that
 * is not key's. Both are compared, so that no branch depends on which one it is: such a branch is
 * mispredicted too often. cap must not be 0.
 */
HASH_INLINE void *hash_slots_near(const struct hash_slots *t, const struct hash_kind *kind,
				  const void *key, const void *ctx)
{
	size_t i = kind->hash(key, ctx);

	i += !kind->same(hash_slots_at(t, kind, i), key, ctx);
	return hash_slots_at(t, kind, i);
}

/* Returns the first free slot for a record that has none yet. */
HASH_INLINE void *hash_slots_free_slot(const struct hash_slots *t, const struct hash_kind *kind,
				       const void *record, const void *ctx)
{
	size_t i = kind->hash(record, ctx);

	while (kind->used(hash_slots_at(t, kind, i)))
		i++;
	return hash_slots_at(t, kind, i);
}

/*
 * Makes room for one more record; the caller that fills a free slot adds to cnt. At most half of
 * the slots are in use: searching a fuller table takes 50 % longer. Returns 0 or -ENOMEM.
 */
HASH_INLINE int hash_slots_reserve(struct hash_slots *t, const struct hash_kind *kind,
				   const void *ctx)
{
	struct hash_slots bigger = { .cap = t->cap ? t->cap * 2 : kind->cap_min, .cnt = t->cnt };
	size_t i;

	if (t->cnt < t->cap / 2)
		return 0;
	bigger.slots = calloc(bigger.cap, kind->bytes);
	if (!bigger.slots)
		return -ENOMEM;
	for (i = 0; i < t->cap; i++) {
		const void *slot = hash_slots_at(t, kind, i);

		if (kind->used(slot))
			memcpy(hash_slots_free_slot(&bigger, kind, slot, ctx), slot, kind->bytes);
	}
	free(t->slots);
	*t = bigger;
	return 0;
}

/* Frees a slot that is in use. Other records may move. */
HASH_INLINE void hash_slots_remove(struct hash_slots *t, const struct hash_kind *kind, void *slot,
				   const void *ctx)
{
	size_t mask = t->cap - 1, hole = ((uint8_t *)slot - t->slots) / kind->bytes, i;

	/* Move back all records that were pushed past the hole, so that no probe ends too early. */
	for (i = (hole + 1) & mask; kind->used(hash_slots_at(t, kind, i)); i = (i + 1) & mask) {
		size_t home = kind->hash(hash_slots_at(t, kind, i), ctx) & mask;

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		memcpy(hash_slots_at(t, kind, hole), hash_slots_at(t, kind, i), kind->bytes);
		hole = i;
	}
	memset(hash_slots_at(t, kind, hole), 0, kind->bytes);
	t->cnt--;
}

/* Frees all slots. */
HASH_INLINE void hash_slots_clear(struct hash_slots *t, const struct hash_kind *kind)
{
	if (t->cap)
		memset(t->slots, 0, t->cap * kind->bytes);
	t->cnt = 0;
}

HASH_INLINE void hash_slots_free(struct hash_slots *t)
{
	free(t->slots);
	*t = (struct hash_slots){ 0 };
}

#endif
