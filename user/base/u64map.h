/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * u64map.h - a hash table from 64-bit keys to pointers.
 *
 * Knows nothing of what it holds and frees none of it.
 */
#ifndef TACHBPF_U64MAP_H
#define TACHBPF_U64MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash_slots.h"

struct u64map_slot {
	uint64_t key;
	void *value;	/* NULL: free */
};

/* Zero-initialise; u64map_free() when done. */
struct u64map {
	struct hash_slots table;	/* of struct u64map_slot */
	size_t cnt;			/* keys; for others to read */
};

/* NULL: not there. */
void *u64map_get(const struct u64map *m, uint64_t key);
/* value is not NULL; replaces. 0 or -ENOMEM. */
int u64map_put(struct u64map *m, uint64_t key, void *value);
/* Returns what was there, or NULL. */
void *u64map_remove(struct u64map *m, uint64_t key);
/*
 * Iterate: start with *pos = 0; NULL at the end. The entry just returned may be
 * removed; every other one is still returned once. Nothing may be put meanwhile.
 */
void *u64map_next(const struct u64map *m, size_t *pos);
void u64map_free(struct u64map *m);

#endif
