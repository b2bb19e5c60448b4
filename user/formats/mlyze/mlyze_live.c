// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mlyze_live.c - the live allocations: a hash table by address.
 *
 * Linear probing, at most half full; a removal moves the following entries back. Because of
 * the seed, a file cannot choose addresses that all collide.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/util.h"
#include "formats/mlyze/mlyze_stats.h"

#define SLOTS_MIN 1024

struct mlyze_live {
	struct mlyze_block *slots;
	size_t mask, cnt;
	uint64_t seed;
};

struct mlyze_live *mlyze_live_new(void)
{
	struct mlyze_live *live = calloc(1, sizeof(*live));

	if (!live)
		return NULL;
	live->slots = calloc(SLOTS_MIN, sizeof(*live->slots));
	if (!live->slots) {
		free(live);
		return NULL;
	}
	live->mask = SLOTS_MIN - 1;
	if (getrandom(&live->seed, sizeof(live->seed), GRND_NONBLOCK) < 0)
		live->seed = now_ns();
	return live;
}

void mlyze_live_free(struct mlyze_live *live)
{
	if (!live)
		return;
	free(live->slots);
	free(live);
}

static size_t home(const struct mlyze_live *live, uint64_t addr)
{
	return hash_u64(hash_u64(addr ^ live->seed) + live->seed) & live->mask;
}

/* The slot of an address, or the free slot for it. */
static struct mlyze_block *slot_of(const struct mlyze_live *live, uint64_t addr)
{
	size_t i = home(live, addr);

	while (live->slots[i].used && live->slots[i].addr != addr)
		i = (i + 1) & live->mask;
	return &live->slots[i];
}

static int grow(struct mlyze_live *live)
{
	struct mlyze_live bigger = { .mask = live->mask * 2 + 1, .cnt = live->cnt,
				     .seed = live->seed };
	size_t i;

	bigger.slots = calloc(bigger.mask + 1, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (i = 0; i <= live->mask; i++) {
		if (live->slots[i].used)
			*slot_of(&bigger, live->slots[i].addr) = live->slots[i];
	}
	free(live->slots);
	*live = bigger;
	return 0;
}

int mlyze_live_add(struct mlyze_live *live, const struct mlyze_block *block,
		   struct mlyze_block *old)
{
	struct mlyze_block *slot;
	bool replaced;

	if (live->cnt * 2 > live->mask && grow(live))
		return -ENOMEM;
	slot = slot_of(live, block->addr);
	replaced = slot->used;
	if (replaced)
		*old = *slot;
	*slot = *block;
	slot->used = true;
	live->cnt += !replaced;
	return replaced;
}

bool mlyze_live_remove(struct mlyze_live *live, uint64_t addr, struct mlyze_block *old)
{
	struct mlyze_block *slot = slot_of(live, addr);
	size_t hole = slot - live->slots, i;

	if (!slot->used)
		return false;
	*old = *slot;
	for (i = (hole + 1) & live->mask; live->slots[i].used; i = (i + 1) & live->mask) {
		size_t from = home(live, live->slots[i].addr);

		/* An entry may move into the hole unless its own slot is behind the hole. */
		if (((i - from) & live->mask) < ((i - hole) & live->mask))
			continue;
		live->slots[hole] = live->slots[i];
		hole = i;
	}
	live->slots[hole].used = false;
	live->cnt--;
	return true;
}

const struct mlyze_block *mlyze_live_find(const struct mlyze_live *live, uint64_t addr)
{
	const struct mlyze_block *slot = slot_of(live, addr);

	return slot->used ? slot : NULL;
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
