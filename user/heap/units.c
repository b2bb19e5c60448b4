// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* units.c - see units.h. */
#include "heap/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_secret.h"

/* splitmix64 (public domain) */
uint64_t heap_random(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

int heap_units_add(struct heap_units *units, const struct heap_unit *unit)
{
	struct heap_unit *bigger;
	size_t cap;

	if (units->cnt >= HEAP_UNITS_MAX)
		return -ENOSPC;
	if (units->cnt == units->cap) {
		cap = units->cap ? 2 * units->cap : 1024;
		bigger = realloc(units->list, cap * sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		units->list = bigger;
		units->cap = cap;
	}
	units->list[units->cnt++] = *unit;
	return 0;
}

/* A large one has one block, which begins in its first granule. */
static uint64_t granules(const struct heap_units *units, const struct heap_unit *u)
{
	uint64_t cnt = (u->bytes + units->granule - 1) / units->granule;

	return cnt < HEAP_GRANULES ? cnt : HEAP_GRANULES;
}

static uint32_t *slot_of(const struct heap_units *units, uint64_t granule)
{
	size_t i = hash_secret_mix(granule ^ HASH_SECRET_B, HASH_SECRET_A) &
		   (units->index_cap - 1);

	while (units->index[i]) {
		const struct heap_unit *u = &units->list[units->index[i] - 1];

		if (granule - u->addr / units->granule < granules(units, u))
			break;
		i = (i + 1) & (units->index_cap - 1);
	}
	return &units->index[i];
}

int heap_units_index(struct heap_units *units)
{
	uint64_t cnt = 0, g;
	size_t i;

	for (i = 0; i < units->cnt; i++)
		if (units->list[i].stratum < HEAP_WINDOWS)
			cnt += granules(units, &units->list[i]);
	if (cnt > 4 * HEAP_UNITS_MAX)
		return -ENOMEM;
	for (units->index_cap = 64; units->index_cap < 2 * cnt; )
		units->index_cap *= 2;
	units->index = calloc(units->index_cap, sizeof(*units->index));
	if (!units->index)
		return -ENOMEM;
	for (i = 0; i < units->cnt; i++)
		for (g = 0; units->list[i].stratum < HEAP_WINDOWS &&
			    g < granules(units, &units->list[i]); g++)
			*slot_of(units, units->list[i].addr / units->granule + g) =
				(uint32_t)i + 1;
	return 0;
}

bool heap_units_have(const struct heap_units *units, uint64_t addr)
{
	return units->index && *slot_of(units, addr / units->granule);
}

void heap_units_free(struct heap_units *units)
{
	free(units->list);
	free(units->index);
	*units = (struct heap_units){ 0 };
}
