// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mlyze_live.c - the live allocations: a hash table by address.
 *
 * The seed keeps a file from choosing addresses that all collide.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/hash_slots.h"
#include "base/time.h"
#include "base/util.h"
#include "formats/mlyze/mlyze_stats.h"

struct mlyze_live {
	struct hash_slots table;	/* of struct mlyze_block */
	uint64_t seed;
};

static bool block_used(const void *slot)
{
	return ((const struct mlyze_block *)slot)->used;
}

static uint64_t block_hash(const void *record, const void *ctx)
{
	uint64_t addr = ((const struct mlyze_block *)record)->addr, seed = *(const uint64_t *)ctx;

	return hash_u64(hash_u64(addr ^ seed) + seed);
}

static bool block_same(const void *slot, const void *key, const void *ctx)
{
	return ((const struct mlyze_block *)slot)->addr ==
	       ((const struct mlyze_block *)key)->addr;
}

static const struct hash_kind kind = {
	.bytes = sizeof(struct mlyze_block), .cap_min = 1024,
	.used = block_used, .hash = block_hash, .same = block_same,
};

struct mlyze_live *mlyze_live_new(void)
{
	struct mlyze_live *live = calloc(1, sizeof(*live));

	if (live && getrandom(&live->seed, sizeof(live->seed), GRND_NONBLOCK) < 0)
		live->seed = now_ns();
	return live;
}

void mlyze_live_free(struct mlyze_live *live)
{
	if (!live)
		return;
	hash_slots_free(&live->table);
	free(live);
}

/* The block at the address, or NULL. */
HASH_INLINE struct mlyze_block *live_find(const struct mlyze_live *live, uint64_t addr)
{
	const struct mlyze_block key = { .addr = addr };
	struct mlyze_block *slot;

	if (!live->table.cap)
		return NULL;
	slot = hash_slots_find(&live->table, &kind, &key, &live->seed);
	return slot->used ? slot : NULL;
}

int mlyze_live_add(struct mlyze_live *live, const struct mlyze_block *block,
		   struct mlyze_block *old)
{
	struct mlyze_block *slot;
	bool replaced;

	if (hash_slots_reserve(&live->table, &kind, &live->seed))
		return -ENOMEM;
	slot = hash_slots_find(&live->table, &kind, block, &live->seed);
	replaced = slot->used;
	if (replaced)
		*old = *slot;
	*slot = *block;
	slot->used = true;
	live->table.cnt += !replaced;
	return replaced;
}

bool mlyze_live_remove(struct mlyze_live *live, uint64_t addr, struct mlyze_block *old)
{
	struct mlyze_block *slot = live_find(live, addr);

	if (!slot)
		return false;
	*old = *slot;
	hash_slots_remove(&live->table, &kind, slot, &live->seed);
	return true;
}

const struct mlyze_block *mlyze_live_find(const struct mlyze_live *live, uint64_t addr)
{
	return live_find(live, addr);
}

int mlyze_live_replay(struct mlyze_live *live, const struct mlyze_file *f, uint64_t event_cnt)
{
	struct mlyze_block block, old;
	struct mlyze_error error;
	struct mlyze_cursor c;
	struct mlyze_event ev;

	mlyze_rewind(&c, f);
	while (c.index < event_cnt && mlyze_next(&c, &ev, &error) > 0) {
		block = (struct mlyze_block){ .addr = ev.addr, .size = ev.size,
					      .index = c.index - 1, .stack = ev.stack };
		if (ev.type == MLYZE_ALLOC && mlyze_live_add(live, &block, &old) < 0)
			return -ENOMEM;
		if (ev.type == MLYZE_FREE)
			mlyze_live_remove(live, ev.addr, &old);
	}
	return 0;
}
