// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * pools.c - the pools of pymalloc in the memory of a process: an allocator of units.h.
 *
 * Memory that no file backs is divided into slots, as large as a pool and at multiples of its size.
 * Their first bytes are read: a slot that is no pool is a window (units.h). At most HEAP_UNITS_MAX
 * slots are looked at; of more, one random slot in each of as many equal parts.
 */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "cpython/pymalloc.h"
#include "heap/units.h"

#define TOGETHER 512u

/* Slots whose headers are read together. */
struct batch {
	struct heap_mem *m;
	struct heap_units *units;
	uint32_t bytes;			/* of a slot */
	size_t cnt;
	struct heap_piece pieces[TOGETHER];
	uint16_t pages[TOGETHER];	/* see heap_unit.tag */
	bool first[TOGETHER];		/* a mapping begins there */
	uint8_t headers[TOGETHER][PYMALLOC_HEADER_BYTES];
};

static int take_slot(struct batch *b, size_t i)
{
	struct heap_unit unit = { .addr = b->pieces[i].addr, .bytes = b->bytes,
				  .stratum = b->first[i] ? HEAP_WINDOWS_FIRST :
					     HEAP_WINDOWS_OTHER, .tag = b->pages[i] };
	struct pymalloc_pool p;

	if (b->pieces[i].ok && b->pieces[i].len &&
	    pymalloc_pool_parse(b->headers[i], b->pieces[i].addr, b->bytes, &p)) {
		unit.used = p.count * p.block;
		unit.stratum = (uint16_t)(p.block / 8);
		unit.tag = (uint16_t)pymalloc_pool_extent(&p);
	}
	return heap_units_add(b->units, &unit);
}

static int read_headers(struct batch *b)
{
	size_t i;
	int err = 0;

	heap_mem_read_many(b->m, b->pieces, b->cnt);
	for (i = 0; i < b->cnt && !err; i++)
		err = take_slot(b, i);
	b->cnt = 0;
	return err;
}

/* A pool's header is in its first page. */
static int add_slot(struct batch *b, uint64_t addr, uint16_t pages, bool first)
{
	if (!pages)
		return 0;
	b->pieces[b->cnt] = (struct heap_piece){ addr, b->headers[b->cnt],
						 pages & 1 ? PYMALLOC_HEADER_BYTES : 0, false };
	b->pages[b->cnt] = pages;
	b->first[b->cnt] = first;
	return ++b->cnt < TOGETHER ? 0 : read_headers(b);
}

/* The slots that a mapping is in, some of them only partly. */
static uint64_t first_slot(const struct heap_map *map, uint32_t bytes)
{
	return map->start & ~(uint64_t)(bytes - 1);
}

static uint64_t count_slots(const struct heap_map *map, uint32_t bytes)
{
	return (map->end - first_slot(map, bytes) + bytes - 1) / bytes;
}

/* The pages of a slot that are the mapping's. */
static uint16_t own_pages(const struct batch *b, const struct heap_map *map, uint64_t slot,
			  uint16_t pages)
{
	uint32_t i;

	for (i = 0; i < b->bytes / b->m->page_bytes; i++) {
		uint64_t page = slot + (uint64_t)i * b->m->page_bytes;

		if (page < map->start || page >= map->end)
			pages &= (uint16_t)~(1u << i);
	}
	return pages;
}

static int look_at_map(struct batch *b, const struct heap_map *map)
{
	uint64_t slot = first_slot(map, b->bytes), left = count_slots(map, b->bytes);
	uint16_t pages[1024];
	size_t n, i;
	int err = 0;

	for (; left && !err && !b->m->ended; left -= n, slot += n * b->bytes) {
		n = left < ARRAY_SIZE(pages) ? left : ARRAY_SIZE(pages);
		heap_mem_pages(b->m, slot, b->bytes, pages, n);
		for (i = 0; i < n && !err; i++) {
			uint64_t at = slot + i * b->bytes;

			err = add_slot(b, at, own_pages(b, map, at, pages[i]), at <= map->start);
		}
	}
	return err;
}

/* Slot number `at` of all mappings; *map, *before: where the search continues. */
static uint64_t slot_number(const struct heap_maps *maps, uint32_t bytes, uint64_t at,
			    size_t *map, uint64_t *before)
{
	while (at - *before >= count_slots(&maps->list[*map], bytes)) {
		*before += count_slots(&maps->list[*map], bytes);
		++*map;
	}
	return first_slot(&maps->list[*map], bytes) + (at - *before) * bytes;
}

static int look_at_some(struct batch *b, const struct heap_maps *maps, uint64_t total,
			uint64_t *seed)
{
	uint64_t i, from, to, slot, before = 0;
	uint16_t pages;
	size_t map = 0;
	int err = 0;

	for (i = 0; i < HEAP_UNITS_MAX && !err && !b->m->ended; i++) {
		from = (uint64_t)((unsigned __int128)total * i / HEAP_UNITS_MAX);
		to = (uint64_t)((unsigned __int128)total * (i + 1) / HEAP_UNITS_MAX);
		slot = slot_number(maps, b->bytes, from + heap_random(seed) % (to - from), &map,
				   &before);
		heap_mem_pages(b->m, slot, b->bytes, &pages, 1);
		err = add_slot(b, slot, own_pages(b, &maps->list[map], slot, pages), false);
	}
	b->units->scale = i ? (double)total / (double)i : 1;
	return err;
}

static int find_pools(struct heap_mem *m, const struct heap_maps *maps,
		      const struct heap_target *target, uint64_t *seed, struct heap_units *units)
{
	static struct batch b;
	uint64_t total = 0;
	size_t i;
	int err = 0;

	b.m = m;
	b.units = units;
	b.bytes = pymalloc_pool_bytes(target->minor);
	b.cnt = 0;
	units->granule = b.bytes;
	units->scale = 1;
	for (i = 0; i < maps->cnt; i++)
		total += count_slots(&maps->list[i], b.bytes);
	if (total > HEAP_UNITS_MAX)
		err = look_at_some(&b, maps, total, seed);
	for (i = 0; total <= HEAP_UNITS_MAX && i < maps->cnt && !err; i++)
		err = look_at_map(&b, &maps->list[i]);
	if (!err && b.cnt)
		err = read_headers(&b);
	return err;
}

/* The part of the pool that was in use when it was found, or what is in use now. */
static int copy_pool(struct heap_mem *m, const struct heap_unit *unit, uint8_t *bytes,
		     struct pymalloc_pool *p)
{
	uint32_t len = unit->tag;
	int err = heap_mem_read(m, unit->addr, bytes, len);

	if (!err && !pymalloc_pool_parse(bytes, unit->addr, unit->bytes, p))
		err = -EBADMSG;
	if (!err && pymalloc_pool_extent(p) > len) {
		err = heap_mem_read(m, unit->addr, bytes, unit->bytes);
		if (!err && !pymalloc_pool_parse(bytes, unit->addr, unit->bytes, p))
			err = -EBADMSG;
	}
	return err;
}

/* How often a pool whose free list changes is copied again. */
#define TRIES 3

static int read_pool(struct heap_mem *m, const struct heap_target *target,
		     const struct heap_unit *unit, struct heap_blocks *out)
{
	static uint8_t bytes[PYMALLOC_POOL_MAX];
	static uint64_t used[PYMALLOC_USED_WORDS];
	struct pymalloc_pool p;
	int err = 0, cnt = -EBADMSG, i;

	for (i = 0; i < TRIES && cnt == -EBADMSG; i++) {
		err = copy_pool(m, unit, bytes, &p);
		if (err && err != -EBADMSG)
			return err == -EFAULT ? -ENOENT : err;
		if (!err)
			cnt = pymalloc_pool_used(&p, bytes, used);
	}
	if (err)
		return -ENOENT;
	if (cnt == -ELOOP)
		return -EBADMSG;
	/*
	 * Else it always changes, as those do in which the process works most: to leave these out
	 * would be no random choice. A free block that was not met has no reference count.
	 */
	*out = (struct heap_blocks){ .addr = unit->addr + PYMALLOC_HEADER_BYTES,
				     .cnt = p.carved, .block = p.block,
				     .bytes = bytes + PYMALLOC_HEADER_BYTES,
				     .look = p.block, .stride = p.block, .used = used,
				     .before = HEAP_BEFORE_UNKNOWN };
	return 0;
}

const struct heap_allocator heap_pymalloc = { .find = find_pools, .read = read_pool };
