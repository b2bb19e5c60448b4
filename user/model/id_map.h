/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * id_map.h - a number for some of the ids of a profile's table: what an id was translated to.
 *
 * A file may have 100,000 profiles that share one table, each using only a few of its ids. So
 * clearing the map takes constant time, and memory grows only with the highest id that is set.
 */
#ifndef TACHBPF_ID_MAP_H
#define TACHBPF_ID_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct id_map_slot {
	uint32_t round, value;
};

/* Zero-initialise; freed by id_map_free(). */
struct id_map {
	struct id_map_slot *slots;	/* by id */
	uint32_t cap;
	uint32_t round;			/* a slot is valid if its round is this one, + 1 */
};

/* Gets the number of an id; returns false if none was set since id_map_clear(). */
static inline bool id_map_get(const struct id_map *m, uint32_t id, uint32_t *value)
{
	if (id >= m->cap || m->slots[id].round != m->round + 1)
		return false;
	*value = m->slots[id].value;
	return true;
}

/* Sets the number of an id. Returns 0 or -ENOMEM. */
int id_map_set(struct id_map *m, uint32_t id, uint32_t value);
/* Clears all numbers. */
void id_map_clear(struct id_map *m);
/* Frees the memory, too; the map can be used again. */
void id_map_free(struct id_map *m);

#endif
