// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * id_map.c - see id_map.h. Each slot has the round in which it was set: a new round invalidates all
 * of them at once.
 */
#include "model/id_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CAP_MIN 64

/* Makes room for the id: at least doubles the capacity, so growing costs little in total. */
static int grow_slots(struct id_map *m, uint32_t id)
{
	uint64_t cap = m->cap ? (uint64_t)m->cap * 2 : CAP_MIN;
	struct id_map_slot *slots;

	if (cap <= id)
		cap = (uint64_t)id + 1;
	if (cap > UINT32_MAX)
		cap = UINT32_MAX;
	if (id >= cap)
		return -ENOMEM;
	slots = reallocarray(m->slots, cap, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	memset(slots + m->cap, 0, (cap - m->cap) * sizeof(*slots));
	m->slots = slots;
	m->cap = (uint32_t)cap;
	return 0;
}

int id_map_set(struct id_map *m, uint32_t id, uint32_t value)
{
	if (id >= m->cap && grow_slots(m, id))
		return -ENOMEM;
	m->slots[id] = (struct id_map_slot){ m->round + 1, value };
	return 0;
}

void id_map_clear(struct id_map *m)
{
	if (++m->round < UINT32_MAX - 1)
		return;
	if (m->cap)
		memset(m->slots, 0, m->cap * sizeof(*m->slots));
	m->round = 0;
}

void id_map_free(struct id_map *m)
{
	free(m->slots);
	*m = (struct id_map){ 0 };
}
