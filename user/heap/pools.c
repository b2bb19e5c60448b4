// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * pools.c - the pools of pymalloc in the memory of a process: an allocator of units.h.
 *
 * Every multiple of a pool's size in memory that no file backs may be a pool. Their headers are
 * read, of up to HEAP_UNITS_MAX of these addresses; of more, one random address in each of as many
 * equal parts.
 */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "cpython/pymalloc.h"
#include "heap/units.h"

#define TOGETHER 512u

/* Addresses whose headers are read together. */
struct batch {
	struct heap_mem *m;
	struct heap_units *units;
	uint32_t pool_bytes;
	size_t cnt;
	struct heap_piece pieces[TOGETHER];
	uint8_t headers[TOGETHER][PYMALLOC_HEADER_BYTES];
};

static int take_header(struct batch *b, size_t i)
{
	struct pymalloc_pool p;
	struct heap_unit unit;

	if (!b->pieces[i].ok) {
		b->units->unread++;
		return 0;
	}
	if (!pymalloc_pool_parse(b->headers[i], b->pieces[i].addr, b->pool_bytes, &p))
		return 0;
	unit = (struct heap_unit){ .addr = p.addr, .bytes = p.bytes, .used = p.count * p.block,
				   .stratum = (uint16_t)(p.block / 8),
				   .tag = (uint16_t)pymalloc_pool_extent(&p) };
	return heap_units_add(b->units, &unit);
}

static int read_headers(struct batch *b)
{
	size_t i;
	int err = 0;

	heap_mem_read_many(b->m, b->pieces, b->cnt);
	for (i = 0; i < b->cnt && !err; i++)
		err = take_header(b, i);
	b->cnt = 0;
	return err;
}

static int add_address(struct batch *b, uint64_t addr)
{
	b->pieces[b->cnt] = (struct heap_piece){ addr, b->headers[b->cnt],
						 PYMALLOC_HEADER_BYTES, false };
	return ++b->cnt < TOGETHER ? 0 : read_headers(b);
}

/* Addresses of a mapping that may be pools. */
static uint64_t first_address(const struct heap_map *map, uint32_t bytes)
{
	return (map->start + bytes - 1) & ~(uint64_t)(bytes - 1);
}

static uint64_t count_addresses(const struct heap_map *map, uint32_t bytes)
{
	uint64_t first = first_address(map, bytes);

	return first < map->end ? (map->end - first) / bytes : 0;
}

static int look_at_map(struct batch *b, const struct heap_map *map)
{
	uint64_t addr = first_address(map, b->pool_bytes), left = count_addresses(map,
										  b->pool_bytes);
	bool present[1024];
	size_t n, i;
	int err = 0;

	for (; left && !err && !b->m->ended; left -= n, addr += n * b->pool_bytes) {
		n = left < ARRAY_SIZE(present) ? left : ARRAY_SIZE(present);
		heap_mem_present(b->m, addr, b->pool_bytes, present, n);
		for (i = 0; i < n && !err; i++)
			if (present[i])
				err = add_address(b, addr + i * b->pool_bytes);
	}
	return err;
}

/* The address number `at` of all mappings; *map, *before: where the search continues. */
static uint64_t address_number(const struct heap_maps *maps, uint32_t bytes, uint64_t at,
			       size_t *map, uint64_t *before)
{
	while (at - *before >= count_addresses(&maps->list[*map], bytes)) {
		*before += count_addresses(&maps->list[*map], bytes);
		++*map;
	}
	return first_address(&maps->list[*map], bytes) + (at - *before) * bytes;
}

static int look_at_some(struct batch *b, const struct heap_maps *maps, uint64_t total,
			uint64_t *seed)
{
	uint64_t i, from, to, addr, before = 0;
	size_t map = 0;
	bool present;
	int err = 0;

	for (i = 0; i < HEAP_UNITS_MAX && !err && !b->m->ended; i++) {
		from = (uint64_t)((unsigned __int128)total * i / HEAP_UNITS_MAX);
		to = (uint64_t)((unsigned __int128)total * (i + 1) / HEAP_UNITS_MAX);
		addr = address_number(maps, b->pool_bytes, from + heap_random(seed) % (to - from),
				      &map, &before);
		heap_mem_present(b->m, addr, b->pool_bytes, &present, 1);
		if (present)
			err = add_address(b, addr);
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
	b.pool_bytes = pymalloc_pool_bytes(target->minor);
	b.cnt = 0;
	units->granule = b.pool_bytes;
	units->scale = 1;
	for (i = 0; i < maps->cnt; i++)
		total += count_addresses(&maps->list[i], b.pool_bytes);
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

static int read_pool(struct heap_mem *m, const struct heap_target *target,
		     const struct heap_unit *unit, struct heap_blocks *out)
{
	static uint8_t bytes[PYMALLOC_POOL_MAX];
	static uint64_t used[PYMALLOC_USED_WORDS];
	struct pymalloc_pool p;
	int err = copy_pool(m, unit, bytes, &p);

	if (!err) {
		err = pymalloc_pool_used(&p, bytes, used);
		err = err < 0 ? err : 0;
	}
	if (err)
		return err;
	*out = (struct heap_blocks){ .addr = unit->addr + PYMALLOC_HEADER_BYTES,
				     .cnt = p.carved, .block = p.block,
				     .bytes = bytes + PYMALLOC_HEADER_BYTES,
				     .look = p.block, .stride = p.block, .used = used };
	return 0;
}

const struct heap_allocator heap_pymalloc = { "pools", find_pools, read_pool };
