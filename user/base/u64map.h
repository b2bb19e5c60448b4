/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * u64map.h - a hash table from 64-bit keys to pointers.
 *
 * Open addressing, for look-ups once per sample. Knows nothing of its values and does not free
 * them.
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

/* Zero-initialise; freed by u64map_free(). */
struct u64map {
	struct hash_slots table;	/* of struct u64map_slot */
	size_t cnt;			/* keys; read-only for others */
};

/* Returns the value of a key; NULL: not found. */
void *u64map_get(const struct u64map *m, uint64_t key);
/* Sets a key's value, which must not be NULL. Returns 0 or -ENOMEM. */
int u64map_put(struct u64map *m, uint64_t key, void *value);
/* Removes a key; returns its value, or NULL. */
void *u64map_remove(struct u64map *m, uint64_t key);
/*
 * Iterates: start with *pos = 0; NULL at the end. The entry that was just returned may be removed;
 * every other one is still returned once. Nothing may be added meanwhile.
 */
void *u64map_next(const struct u64map *m, size_t *pos);
void u64map_free(struct u64map *m);

#endif
