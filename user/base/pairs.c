// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* pairs.c - gives dense ids to pairs of numbers. See pairs.h. */
#include "base/pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define SLOTS_MIN 64

static uint32_t start_of(const struct pairs *p, struct pair pair)
{
	uint64_t key = (uint64_t)pair.a << 32 | pair.b;
	unsigned __int128 r = (unsigned __int128)(key ^ p->seed) * 0x9e3779b97f4a7c15ULL;

	return (uint32_t)((uint64_t)r ^ (uint64_t)(r >> 64)) & p->mask;
}

/* Double the number of slots; the list has half as many elements. */
static int grow(struct pairs *p)
{
	uint32_t i, at, cnt = p->slots ? (p->mask + 1) * 2 : SLOTS_MIN;
	struct pair *list;
	uint32_t *slots;

	if (p->cnt > UINT32_MAX / 8)
		return -ENOMEM;
	if (!p->slots && getrandom(&p->seed, sizeof(p->seed), GRND_NONBLOCK) < 0)
		p->seed = 0;
	list = reallocarray(p->list, cnt / 2, sizeof(*list));
	if (!list)
		return -ENOMEM;
	p->list = list;
	slots = calloc(cnt, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(p->slots);
	p->slots = slots;
	p->mask = cnt - 1;
	p->cap = cnt / 2;
	for (i = 0; i < p->cnt; i++) {
		for (at = start_of(p, list[i]); slots[at]; at = (at + 1) & p->mask)
			;
		slots[at] = i + 1;
	}
	return 0;
}

/* The slot with the pair, or the free slot for it. */
static uint32_t *find_slot(const struct pairs *p, struct pair pair)
{
	uint32_t at;

	for (at = start_of(p, pair); p->slots[at]; at = (at + 1) & p->mask) {
		const struct pair *known = &p->list[p->slots[at] - 1];

		if (known->a == pair.a && known->b == pair.b)
			break;
	}
	return &p->slots[at];
}

int pairs_add(struct pairs *p, struct pair pair, uint32_t *id)
{
	uint32_t *slot;

	if (p->cnt == p->cap && grow(p))
		return -ENOMEM;
	slot = find_slot(p, pair);
	if (!*slot) {
		p->list[p->cnt] = pair;
		*slot = ++p->cnt;
	}
	*id = *slot - 1;
	return 0;
}

bool pairs_find(const struct pairs *p, struct pair pair, uint32_t *id)
{
	uint32_t *slot = p->slots ? find_slot(p, pair) : NULL;

	if (!slot || !*slot)
		return false;
	*id = *slot - 1;
	return true;
}

void pairs_free(struct pairs *p)
{
	free(p->list);
	free(p->slots);
	memset(p, 0, sizeof(*p));
}
