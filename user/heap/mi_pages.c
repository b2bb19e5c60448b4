// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mi_pages.c - the pages of mimalloc in the memory of a process: an allocator of units.h.
 *
 * Every multiple of 32 MiB in memory that no file backs may be a segment. The headers of all are
 * read; if they have more pages than can be kept, each page is kept with the same probability, a
 * half, a quarter ... A page of one block in which no objects are is not read: its description says
 * everything. A unit's tag is the number of the layout.
 */
#include <errno.h>

#include "base/util.h"
#include "cpython/mimalloc.h"
#include "heap/units.h"

/* Addresses that are looked at: 2 TiB. Further ones are counted as unread. */
#define ADDRESSES_MAX 65536u
/* Larger mappings are not mimalloc's, but those that sanitizers reserve. */
#define MAPPING_MAX (1ull << 40)
/* What is read of each block in a page of more than a slice. */
#define HEAD_BYTES 1024u

/* Strata: sizes of blocks for each tag, and within them: */
#define SIZES 31u
#define LOG2_EIGHTHS 6		/* up to 64 bytes in steps of 8; then four steps per doubling; */
#define LOG2_QUARTERS 9		/* from 512 bytes on one */
_Static_assert(SIZES * MIMALLOC_TAGS <= HEAP_WINDOWS, "a stratum for each tag and size");
/* What shows whether there is a segment at all. */
#define LOOK_BYTES 1024u

struct search {
	struct heap_mem *m;
	struct heap_units *units;
	uint64_t *seed, key;
	bool free_threaded;
	int layout;		/* negative: not known yet */
	uint32_t segments, addresses;
	uint32_t one_in;	/* of the pages: this many stand for the one that is kept */
};

static uint8_t size_class(uint64_t bytes)
{
	uint32_t log2 = 63 - (uint32_t)__builtin_clzll((bytes - 1) | 1), class;

	if (log2 < LOG2_EIGHTHS)
		return (uint8_t)((bytes - 1) / 8);
	if (log2 < LOG2_QUARTERS)
		return (uint8_t)(8 + 4 * (log2 - LOG2_EIGHTHS) + ((bytes - 1) >> (log2 - 2) & 3));
	class = 8 + 4 * (LOG2_QUARTERS - LOG2_EIGHTHS) + log2 - LOG2_QUARTERS;
	return (uint8_t)(class < SIZES ? class : SIZES - 1);
}

static uint16_t stratum_of(uint8_t tag, uint64_t block_bytes)
{
	return (uint16_t)(tag * SIZES + size_class(block_bytes));
}

/* Keep one half of the units, at random. What is not there does not count as known. */
static void halve(struct search *s)
{
	size_t i, kept = 0;

	for (i = 0; i < s->units->cnt; i++) {
		struct heap_unit *u = &s->units->list[i];

		if (u->stratum == HEAP_KNOWN)
			u->stratum = stratum_of(MIMALLOC_MEM, u->used);
		if (heap_random(s->seed) >> 63)
			s->units->list[kept++] = *u;
	}
	s->units->cnt = kept;
	s->one_in *= 2;
	s->units->scale = s->one_in;
}

static int add_page(struct search *s, const struct mimalloc_page *p)
{
	struct heap_unit unit = {
		.addr = p->addr, .bytes = p->bytes, .used = p->used * p->block_bytes,
		.stratum = stratum_of(p->tag, p->block_bytes), .tag = (uint16_t)s->layout,
	};
	int err;

	if (s->free_threaded && p->tag == MIMALLOC_MEM && p->used && s->one_in == 1 &&
	    p->block_bytes > MIMALLOC_SLICE_BYTES && p->block_bytes > p->bytes / 2)
		unit.stratum = HEAP_KNOWN;
	if (heap_random(s->seed) % s->one_in)
		return 0;
	err = heap_units_add(s->units, &unit);
	if (err != -ENOSPC)
		return err;
	halve(s);
	unit.stratum = stratum_of(p->tag, p->block_bytes);
	return heap_random(s->seed) >> 63 ? heap_units_add(s->units, &unit) : 0;
}

/* *bytes: of the segment at this address, with a header of len bytes; 0: there is none. */
static int add_segment(struct search *s, const uint8_t *header, size_t len, uint64_t addr,
		       uint64_t *bytes)
{
	static struct mimalloc_segment segment;
	uint32_t i;
	int err = 0;

	*bytes = 0;
	if (s->layout < 0)
		s->layout = mimalloc_layout_find(header, len, addr, s->free_threaded);
	if (s->layout < 0 || mimalloc_segment_read(s->layout, header, len, addr, &segment))
		return 0;
	if (s->segments && segment.key != s->key) {
		s->units->bad++;
		return 0;
	}
	s->key = segment.key;
	s->segments++;
	s->units->bad += segment.bad_pages;
	*bytes = segment.bytes;
	for (i = 0; i < segment.page_cnt && !err; i++)
		err = add_page(s, &segment.pages[i]);
	return err;
}

static int look_at(struct search *s, const struct heap_map *map, uint64_t addr, uint64_t *bytes)
{
	static uint8_t header[MIMALLOC_HEADER_BYTES];
	uint64_t len = map->end - addr;
	uint16_t pages;
	int err;

	*bytes = 0;
	if (s->addresses >= ADDRESSES_MAX) {
		s->units->unread++;
		return 0;
	}
	s->addresses++;
	heap_mem_pages(s->m, addr, s->m->page_bytes, &pages, 1);
	if (!(pages & 1))
		return 0;
	if (len > sizeof(header))
		len = sizeof(header);
	err = heap_mem_read(s->m, addr, header, len < LOOK_BYTES ? len : LOOK_BYTES);
	if (!err && !mimalloc_may_be_segment(header, LOOK_BYTES, addr, s->free_threaded))
		return 0;
	if (!err)
		err = heap_mem_read(s->m, addr, header, len);
	if (err) {
		s->units->unread++;
		return 0;
	}
	return add_segment(s, header, len, addr, bytes);
}

/* A segment of more than 32 MiB has no other one inside. */
static int look_at_map(struct search *s, const struct heap_map *map)
{
	const uint64_t size = MIMALLOC_SEGMENT_BYTES;
	uint64_t addr = (map->start + size - 1) / size * size, bytes;
	int err = 0;

	if (map->end - map->start > MAPPING_MAX)
		return 0;
	while (addr >= map->start && addr < map->end && !err && !s->m->ended) {
		err = look_at(s, map, addr, &bytes);
		addr += bytes > size ? (bytes + size - 1) / size * size : size;
	}
	return err;
}

static int find_pages(struct heap_mem *m, const struct heap_maps *maps,
		      const struct heap_target *target, uint64_t *seed, struct heap_units *units)
{
	struct search s = { .m = m, .units = units, .seed = seed, .one_in = 1, .layout = -1,
			    .free_threaded = target->free_threaded };
	size_t i;
	int err = 0;

	units->granule = MIMALLOC_SLICE_BYTES;
	units->scale = 1;
	for (i = 0; i < maps->cnt && !err; i++)
		err = look_at_map(&s, &maps->list[i]);
	return err;
}

/* How many blocks of a page without objects are in use is known without reading them. */
static void count_raw(const struct mimalloc_page *p, struct mimalloc_blocks *b)
{
	uint32_t i;

	*b = (struct mimalloc_blocks){ .cnt = p->capacity, .used = p->used };
	for (i = 0; i < p->used; i++)
		b->bits[i / 64] |= 1ull << i % 64;
}

static int read_page(struct heap_mem *m, const struct heap_target *target,
		     const struct heap_unit *unit, struct heap_blocks *out)
{
	static uint8_t buf[MIMALLOC_SLICE_BYTES];
	static struct mimalloc_blocks b;
	const struct target_mem mem = { heap_mem_read, m };
	struct mimalloc_page p;
	bool raw;
	int err = mimalloc_page_at(&mem, unit->tag, unit->addr, &p);

	raw = !err && target->free_threaded && p.tag == MIMALLOC_MEM;
	if (raw)
		count_raw(&p, &b);
	else if (!err)
		err = mimalloc_page_read(&mem, unit->tag, &p, buf, HEAD_BYTES, &b);
	if (err)
		return err == -EAGAIN || err == -ENOENT ? -EBADMSG : err;
	*out = (struct heap_blocks){
		.addr = p.start, .cnt = b.cnt, .block = p.block_bytes, .bytes = buf,
		.look = (uint32_t)b.len, .stride = (uint32_t)b.stride, .used = b.bits, .raw = raw,
		.before = !target->free_threaded ? HEAP_BEFORE_UNKNOWN :
			p.tag == MIMALLOC_GC_PRE ? 16 : 0,
	};
	return 0;
}

const struct heap_allocator heap_mimalloc = {
	.pages = true, .all_sizes = true, .find = find_pages, .read = read_page,
};
