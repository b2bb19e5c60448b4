// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* chains_set.c - a set of addresses that a scan compares each word with. See chains_work.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_secret.h"
#include "heap/chains_work.h"

int chains_set_new(struct chains_set *s, uint32_t max)
{
	for (s->slots = 64; s->slots < 2 * max; s->slots *= 2)
		;
	s->keys = calloc(s->slots, sizeof(*s->keys));
	s->values = calloc(s->slots, sizeof(*s->values));
	s->lo = s->span = s->cnt = 0;
	s->factor = hash_secret_seed() | 1;
	return s->keys && s->values ? 0 : -ENOMEM;
}

void chains_set_free(struct chains_set *s)
{
	free(s->keys);
	free(s->values);
}

void chains_set_clear(struct chains_set *s)
{
	if (s->cnt)
		memset(s->keys, 0, s->slots * sizeof(*s->keys));
	memset(s->filter, 0, sizeof(s->filter));
	s->lo = s->span = s->cnt = 0;
}

/* The process chooses addresses, but does not know the factor. */
static uint64_t mix(const struct chains_set *s, uint64_t addr)
{
	return addr * s->factor;
}

static uint32_t slot_of(const struct chains_set *s, uint64_t addr)
{
	uint32_t i = (uint32_t)(mix(s, addr) >> 32) & (s->slots - 1);

	while (s->keys[i] && s->keys[i] != addr)
		i = (i + 1) & (s->slots - 1);
	return i;
}

static void widen(struct chains_set *s, uint64_t addr)
{
	uint64_t hi = s->lo + s->span;

	if (!s->cnt) {
		s->lo = addr;
		s->span = 1;
		return;
	}
	s->lo = addr < s->lo ? addr : s->lo;
	s->span = (addr + 1 > hi ? addr + 1 : hi) - s->lo;
}

bool chains_set_add(struct chains_set *s, uint64_t addr, uint32_t value)
{
	uint64_t bit = mix(s, addr) >> (64 - CHAINS_FILTER_BITS);
	uint32_t i;

	if (!addr || addr == UINT64_MAX)
		return false;
	i = slot_of(s, addr);
	if (s->keys[i])
		return true;
	if (s->cnt + 1 > s->slots / 2)
		return false;
	widen(s, addr);
	s->cnt++;
	s->keys[i] = addr;
	s->values[i] = value;
	s->filter[bit / 64] |= 1ull << bit % 64;
	return true;
}

uint32_t chains_set_find(const struct chains_set *s, uint64_t addr)
{
	uint64_t bit;
	uint32_t i;

	if (!addr || addr - s->lo >= s->span)
		return CHAINS_NONE;
	bit = mix(s, addr) >> (64 - CHAINS_FILTER_BITS);
	if (!(s->filter[bit / 64] >> bit % 64 & 1))
		return CHAINS_NONE;
	i = slot_of(s, addr);
	return s->keys[i] ? s->values[i] : CHAINS_NONE;
}
