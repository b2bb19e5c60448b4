// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* pairs.c - gives dense ids to pairs of numbers. See pairs.h. */
#include "base/pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define LIST_MIN 32

static uint32_t hash_of(const struct pairs *p, struct pair pair)
{
	uint64_t key = (uint64_t)pair.a << 32 | pair.b;
	unsigned __int128 r = (unsigned __int128)(key ^ p->seed) * 0x9e3779b97f4a7c15ULL;

	return (uint32_t)((uint64_t)r ^ (uint64_t)(r >> 64));
}

static bool pair_equal(const void *list, uint32_t id, const void *key)
{
	const struct pair *known = (const struct pair *)list + id, *wanted = key;

	return known->a == wanted->a && known->b == wanted->b;
}

static int grow_list(struct pairs *p)
{
	uint32_t cap = p->cap ? p->cap * 2 : LIST_MIN;
	struct pair *list = p->cap <= HASH_INDEX_MAX ? reallocarray(p->list, cap, sizeof(*list)) :
						       NULL;

	if (!list)
		return -ENOMEM;
	if (!p->list && getrandom(&p->seed, sizeof(p->seed), GRND_NONBLOCK) < 0)
		p->seed = 0;
	p->list = list;
	p->cap = cap;
	return 0;
}

int pairs_add(struct pairs *p, struct pair pair, uint32_t *id)
{
	struct hash_index_slot *slot;
	uint32_t hash;

	if ((p->cnt == p->cap && grow_list(p)) || hash_index_reserve(&p->index))
		return -ENOMEM;
	hash = hash_of(p, pair);
	slot = hash_index_slot_of(&p->index, hash, pair_equal, p->list, &pair);
	if (!slot->number_1) {
		p->list[p->cnt] = pair;
		hash_index_fill(&p->index, slot, hash, p->cnt++);
	}
	*id = slot->number_1 - 1;
	return 0;
}

bool pairs_find(const struct pairs *p, struct pair pair, uint32_t *id)
{
	return hash_index_find(&p->index, hash_of(p, pair), pair_equal, p->list, &pair, id);
}

void pairs_free(struct pairs *p)
{
	free(p->list);
	hash_index_free(&p->index);
	memset(p, 0, sizeof(*p));
}
