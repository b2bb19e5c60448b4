// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* u64map.c - linear probing, at most half full; a removal moves the following entries back. */
#include "base/u64map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

static size_t slot_of(const struct u64map *m, uint64_t key)
{
	size_t i = hash_u64(key) & (m->cap - 1);

	while (m->slots[i].value && m->slots[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return i;
}

void *u64map_get(const struct u64map *m, uint64_t key)
{
	return m->cap ? m->slots[slot_of(m, key)].value : NULL;
}

static int grow(struct u64map *m)
{
	struct u64map bigger = { .cap = m->cap ? m->cap * 2 : 16, .cnt = m->cnt };
	size_t i;

	bigger.slots = calloc(bigger.cap, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (i = 0; i < m->cap; i++)
		if (m->slots[i].value)
			bigger.slots[slot_of(&bigger, m->slots[i].key)] = m->slots[i];
	free(m->slots);
	*m = bigger;
	return 0;
}

int u64map_put(struct u64map *m, uint64_t key, void *value)
{
	size_t i;

	if (m->cnt * 2 >= m->cap && grow(m))
		return -ENOMEM;
	i = slot_of(m, key);
	m->cnt += !m->slots[i].value;
	m->slots[i] = (struct u64map_slot){ .key = key, .value = value };
	return 0;
}

void *u64map_remove(struct u64map *m, uint64_t key)
{
	size_t mask = m->cap - 1, hole, i, home;
	void *value;

	if (!m->cap)
		return NULL;
	hole = slot_of(m, key);
	value = m->slots[hole].value;
	if (!value)
		return NULL;
	/*
	 * Move back the entries behind the hole that belong before it, so that no probe
	 * ends too early.
	 */
	for (i = (hole + 1) & mask; m->slots[i].value; i = (i + 1) & mask) {
		home = hash_u64(m->slots[i].key) & mask;
		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		m->slots[hole] = m->slots[i];
		hole = i;
	}
	m->slots[hole].value = NULL;
	m->cnt--;
	return value;
}

/*
 * The iteration goes from a free slot downwards, once around. A removal moves entries to
 * lower slots, but never over a free one: entries that are moved were returned before, and
 * those that were not returned yet stay where they are. *pos has the number of slots
 * visited and, in its upper bits, the free slot where the iteration began.
 */
#define SEEN_BITS 32
_Static_assert(sizeof(size_t) * 8 > SEEN_BITS, "*pos holds two positions");

void *u64map_next(const struct u64map *m, size_t *pos)
{
	size_t begin, seen, i;

	if (!*pos)
		for (begin = 0; begin < m->cap && m->slots[begin].value; begin++)
			*pos += (size_t)1 << SEEN_BITS;
	begin = *pos >> SEEN_BITS;
	seen = *pos & UINT32_MAX;
	while (seen < m->cap) {
		i = (begin - 1 - seen++) & (m->cap - 1);
		*pos = begin << SEEN_BITS | seen;
		if (m->slots[i].value)
			return m->slots[i].value;
	}
	return NULL;
}

void u64map_free(struct u64map *m)
{
	free(m->slots);
	memset(m, 0, sizeof(*m));
}
