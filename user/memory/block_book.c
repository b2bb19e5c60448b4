// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * block_book.c - see block_book.h. Blocks are in a hash table by address; mappings, of which there
 * are few, are in a list sorted by address, and never overlap.
 */
#include "memory/block_book.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/hash_secret.h"
#include "base/hash_slots.h"

struct block_book {
	const struct block_book_fns *fns;
	void *ctx;
	struct hash_slots blocks;	/* of struct block */
	struct block *maps;
	size_t map_cnt, map_cap;
	uint64_t held;
	uint64_t secret;		/* programs choose their addresses */
};

static bool is_used(const void *slot)
{
	return ((const struct block *)slot)->addr;
}

static uint64_t hash_of(const void *record, const void *ctx)
{
	const struct block_book *b = ctx;

	return hash_secret_mix(((const struct block *)record)->addr ^ b->secret, HASH_SECRET_A);
}

static bool is_same(const void *slot, const void *key, const void *ctx)
{
	return ((const struct block *)slot)->addr == ((const struct block *)key)->addr;
}

static const struct hash_kind kind = {
	.bytes = sizeof(struct block), .cap_min = 1024,
	.used = is_used, .hash = hash_of, .same = is_same,
};

struct block_book *block_book_new(const struct block_book_fns *fns, void *ctx)
{
	struct block_book *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->fns = fns;
	b->ctx = ctx;
	if (getrandom(&b->secret, sizeof(b->secret), GRND_NONBLOCK) != sizeof(b->secret))
		b->secret = HASH_SECRET_B;
	return b;
}

void block_book_free(struct block_book *b)
{
	if (!b)
		return;
	hash_slots_free(&b->blocks);
	free(b->maps);
	free(b);
}

/* ---- blocks ---- */

static int pass_gone(struct block_book *b, const struct block *gone)
{
	b->held -= gone->bytes;
	return b->fns->gone(b->ctx, gone);
}

int block_book_add(struct block_book *b, const struct block *block)
{
	struct block *slot, old;
	int err;

	if (!block->addr || !block->bytes)
		return -EBADMSG;
	err = hash_slots_reserve(&b->blocks, &kind, b);
	if (err)
		return err;
	slot = hash_slots_find(&b->blocks, &kind, block, b);
	old = *slot;
	if (!old.addr && b->blocks.cnt >= BLOCK_BOOK_MAX)
		return -ENOSPC;
	b->blocks.cnt += !old.addr;
	*slot = *block;
	b->held += block->bytes;
	return old.addr ? pass_gone(b, &old) : 0;
}

int block_book_remove(struct block_book *b, uint64_t addr, uint64_t time_ns)
{
	const struct block key = { .addr = addr };
	struct block *slot, gone;

	if (!b->blocks.cap || !addr)
		return 0;
	slot = hash_slots_find(&b->blocks, &kind, &key, b);
	if (!slot->addr || slot->time_ns > time_ns)
		return 0;
	gone = *slot;
	hash_slots_remove(&b->blocks, &kind, slot, b);
	return pass_gone(b, &gone);
}

/* ---- mappings ---- */

static uint64_t end_of(uint64_t addr, uint64_t bytes)
{
	return bytes > UINT64_MAX - addr ? UINT64_MAX : addr + bytes;
}

/* The first mapping that ends after addr. */
static size_t first_after(const struct block_book *b, uint64_t addr)
{
	size_t from = 0, to = b->map_cnt, at;

	while (from < to) {
		at = from + (to - from) / 2;
		if (end_of(b->maps[at].addr, b->maps[at].bytes) > addr)
			to = at;
		else
			from = at + 1;
	}
	return from;
}

static int insert_map(struct block_book *b, const struct block *map)
{
	size_t cap = b->map_cap ? b->map_cap * 2 : 64, at = first_after(b, map->addr);
	struct block *more;

	if (b->map_cnt == BLOCK_BOOK_MAPS_MAX)
		return -ENOSPC;
	if (b->map_cnt == b->map_cap) {
		more = realloc(b->maps, cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		b->maps = more;
		b->map_cap = cap;
	}
	memmove(&b->maps[at + 1], &b->maps[at], (b->map_cnt - at) * sizeof(*b->maps));
	b->maps[at] = *map;
	b->map_cnt++;
	b->held += map->bytes;
	return 0;
}

/* Keep the rest [from, to) of a mapping, unless it is empty. */
static int leave_rest(struct block_book *b, const struct block *map, uint64_t from, uint64_t to)
{
	struct block left = *map;
	int err;

	if (from >= to)
		return 0;
	left.addr = from;
	left.bytes = to - from;
	left.weighed = (uint64_t)((double)map->weighed * ((double)left.bytes / (double)map->bytes));
	err = insert_map(b, &left);
	return err ? err : b->fns->left(b->ctx, &left);
}

/* Remove [addr, end) from the mapping at this index. */
static int cut_block(struct block_book *b, size_t at, uint64_t addr, uint64_t end)
{
	const struct block map = b->maps[at];
	uint64_t map_end = end_of(map.addr, map.bytes);
	int err;

	b->map_cnt--;
	memmove(&b->maps[at], &b->maps[at + 1], (b->map_cnt - at) * sizeof(*b->maps));
	err = pass_gone(b, &map);
	if (!err)
		err = leave_rest(b, &map, map.addr, addr);
	return err ? err : leave_rest(b, &map, end, map_end);
}

int block_book_unmap(struct block_book *b, uint64_t addr, uint64_t bytes, uint64_t time_ns)
{
	uint64_t end = end_of(addr, bytes);
	size_t at = first_after(b, addr);
	int err = 0;

	while (!err && at < b->map_cnt && b->maps[at].addr < end) {
		if (b->maps[at].time_ns > time_ns)
			at++;
		else
			err = cut_block(b, at, addr, end);
		/* The rest before addr is not examined again. */
		while (at < b->map_cnt && end_of(b->maps[at].addr, b->maps[at].bytes) <= addr)
			at++;
	}
	return err;
}

int block_book_map(struct block_book *b, const struct block *map)
{
	int err;

	if (!map->addr || !map->bytes)
		return -EBADMSG;
	err = block_book_unmap(b, map->addr, map->bytes, UINT64_MAX);
	return err ? err : insert_map(b, map);
}

/* ---- all of them ---- */

/* Positions: the table's slots, and the mappings after them. */
size_t block_book_list(const struct block_book *b, uint64_t *pos, struct block *out,
		       bool *mappings, size_t max)
{
	const size_t slots = b->blocks.cap, all = slots + b->map_cnt;
	const struct block *at;
	size_t n = 0;

	for (; *pos < all && n < max; ++*pos) {
		at = *pos < slots ? hash_slots_at(&b->blocks, &kind, *pos) :
				    &b->maps[*pos - slots];
		if (!at->addr)
			continue;
		mappings[n] = *pos >= slots;
		out[n++] = *at;
	}
	if (*pos >= all)
		*pos = UINT64_MAX;
	return n;
}

size_t block_book_cnt(const struct block_book *b)
{
	return b->blocks.cnt;
}

/* From a free slot on: what moves up to fill a gap was not seen yet. */
static int sweep_blocks(struct block_book *b,
			bool (*is_over)(void *ctx, const struct block *block), void *ctx)
{
	size_t first = 0, i, cap = b->blocks.cap;
	struct block *slot, gone;
	int err = 0;

	while (first < cap && is_used(hash_slots_at(&b->blocks, &kind, first)))
		first++;
	for (i = first; !err && i < first + cap;) {
		slot = hash_slots_at(&b->blocks, &kind, i);
		if (!slot->addr || !is_over(ctx, slot)) {
			i++;
			continue;
		}
		gone = *slot;
		hash_slots_remove(&b->blocks, &kind, slot, b);
		err = pass_gone(b, &gone);
	}
	return err;
}

int block_book_sweep(struct block_book *b, bool (*is_over)(void *ctx, const struct block *block),
		     void *ctx)
{
	int err = sweep_blocks(b, is_over, ctx);
	size_t at = b->map_cnt;
	struct block gone;

	while (!err && at--) {
		if (!is_over(ctx, &b->maps[at]))
			continue;
		gone = b->maps[at];
		b->map_cnt--;
		memmove(&b->maps[at], &b->maps[at + 1], (b->map_cnt - at) * sizeof(*b->maps));
		err = pass_gone(b, &gone);
	}
	return err;
}
