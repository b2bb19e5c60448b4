// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * thread_map.c - see thread_map.h.
 *
 * Samples of a thread are often consecutive, so the last result is kept.
 */
#include "model/thread_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/hash_index.h"
#include "base/time.h"
#include "base/util.h"

struct thread_key {
	uint64_t thread_id;
	uint32_t interp_id;
};

struct thread_map {
	struct buf keys;	/* struct thread_key, by index */
	struct hash_index by_key;
	uint64_t seed;		/* thread ids come from files: no chosen collisions */
	uint32_t last;		/* an index */
};

static bool key_equal(const void *keys, uint32_t index, const void *key)
{
	const struct thread_key *a = (const struct thread_key *)keys + index, *b = key;

	return a->thread_id == b->thread_id && a->interp_id == b->interp_id;
}

struct thread_map *thread_map_new(void)
{
	struct thread_map *m = calloc(1, sizeof(*m));

	if (m)
		m->seed = now_ns() ^ (uintptr_t)m;
	return m;
}

void thread_map_free(struct thread_map *m)
{
	if (!m)
		return;
	buf_free(&m->keys);
	hash_index_free(&m->by_key);
	free(m);
}

int thread_map_get(struct thread_map *m, uint64_t thread_id, uint32_t interp_id, uint32_t *index)
{
	const struct thread_key key = { .thread_id = thread_id, .interp_id = interp_id };
	struct hash_index_slot *slot;
	uint32_t hash;

	*index = m->last;
	if (m->keys.len && key_equal(m->keys.data, m->last, &key))
		return 0;
	hash = (uint32_t)hash_u64(hash_u64(thread_id ^ m->seed) + interp_id);
	if (hash_index_reserve(&m->by_key))
		return -ENOMEM;
	slot = hash_index_slot_of(&m->by_key, hash, key_equal, m->keys.data, &key);
	if (!slot->number_1) {
		if (buf_add(&m->keys, &key, sizeof(key)))
			return -ENOMEM;
		hash_index_fill(&m->by_key, slot, hash, m->keys.len / sizeof(key) - 1);
	}
	*index = m->last = slot->number_1 - 1;
	return 0;
}
