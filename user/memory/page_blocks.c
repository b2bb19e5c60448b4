// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * page_blocks.c - finds the blocks in a page, for the worker of page_check.h: page_content_read().
 * pymalloc's pools show themselves; page_chunks.c knows the C library's blocks.
 */
#include "memory/page_blocks.h"

#include <string.h>

#include "base/util.h"
#include "cpython/pymalloc.h"

/* ---- blocks of pymalloc ---- */

/* From 3.14 on, the highest 16 bits are flags. Those below are not 0 in an address. */
static bool is_refcount(uint64_t word)
{
	return (uint32_t)word && !(word >> 32 & 0xffff);
}

static bool is_pointer(uint64_t word)
{
	return word > 0xffff && word < 1ull << 47 && !(word & 7);
}

/* The words of an object's head that are in front of its refcount; -1: it is no object. */
static int words_before(const uint8_t *block, size_t words)
{
	/* No head of the collector; one; a pointer to a dict and one more, too. */
	static const uint8_t at[] = { 0, 2, 4 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(at) && at[i] + 2u <= words; i++)
		if (is_refcount(word_at(block, at[i])) && is_pointer(word_at(block, at[i] + 1u)))
			return at[i];
	return -1;
}

/* Hashes of four words, at equal distances from each other. */
static uint32_t some_words(const uint8_t *block, size_t first, size_t words)
{
	size_t n = words > first ? words - first : 0, i;
	uint32_t all = 0;

	for (i = 0; n && i < 4; i++)
		all |= (uint32_t)byte_of(word_at(block, first + i * n / 4)) << 8 * i;
	return all;
}

/*
 * All words of an object that never changes, but for its count of references, and for the hash of a
 * str or bytes, which it gets when it is first needed: the fourth word. Blocks of int are smaller.
 */
static struct place_mark mark_object(const uint8_t *block, size_t words)
{
	uint8_t copy[PYMALLOC_SMALL_MAX];

	memcpy(copy, block, words * WORD);
	memset(copy, 0, WORD);
	if (words >= 6)
		memset(copy + 3 * WORD, 0, WORD);
	return (struct place_mark){ .id = hash_of(copy, words * WORD) };
}

static bool is_zero(const uint8_t *block, size_t words)
{
	size_t i;

	for (i = 0; i < words; i++)
		if (word_at(block, i))
			return false;
	return true;
}

static void mark_block(const uint8_t *block, uint32_t bytes, uint8_t *state, struct place_mark *m)
{
	uint32_t requested, before = pymalloc_debug_bytes(block, bytes, &requested);
	size_t words = (before ? requested : bytes) / WORD;
	int head;

	block += before;
	head = words_before(block, words);
	if (head < 0 && is_zero(block, words)) {
		*state = PLACE_FRESH;	/* given just now: nothing was written yet */
	} else if (head < 0) {
		*state = PLACE_RAW;
		*m = (struct place_mark){ .id = bytes, .words = some_words(block, 1, words) };
	} else if (head) {
		*state = PLACE_CONTAINER;
		m->id = hash_of(block + (head + 1u) * WORD, WORD);
		m->words = some_words(block, head + 2u, words);
	} else {
		*state = PLACE_OBJECT;
		*m = mark_object(block, words);
	}
}

static uint8_t pool_bytes[PYMALLOC_POOL_MAX];

struct pool {
	struct pymalloc_pool p;
	uint64_t used[PYMALLOC_USED_WORDS];
};

/*
 * pymalloc prepares the next block before it needs it: the last one may be in the free list without
 * ever having been used. Blocks that are freed go to the front of that list, so it is the last
 * there.
 */
static void leave_out_next(struct pymalloc_pool *p, const uint64_t used[PYMALLOC_USED_WORDS])
{
	uint32_t last = p->carved - 1;

	if (p->carved && !(used[last / 64] >> last % 64 & 1) &&
	    !word_at(pool_bytes + pymalloc_block_off(p, last), 0))
		p->carved = last;
}

/* A copy of the pool of this size around addr, in pool_bytes. Returns false if there is none. */
static bool read_pool(const struct reading *r, uint64_t addr, uint32_t bytes, struct pool *pool)
{
	uint64_t at = addr & ~(uint64_t)(bytes - 1);
	struct pymalloc_pool p;

	if (at < r->area->start || at + bytes > r->area->end ||
	    r->mem->read(r->mem->ctx, at, pool_bytes, PYMALLOC_HEADER_BYTES) ||
	    !pymalloc_pool_parse(pool_bytes, at, bytes, &p) ||
	    r->mem->read(r->mem->ctx, at, pool_bytes, pymalloc_pool_extent(&p)))
		return false;
	/* It may have changed: what was carved since is not in the copy. */
	if (!pymalloc_pool_parse(pool_bytes, at, bytes, &pool->p) ||
	    pool->p.block != p.block || pool->p.carved > p.carved)
		return false;
	if (pymalloc_pool_used(&pool->p, pool_bytes, pool->used) < 0)
		return false;
	leave_out_next(&pool->p, pool->used);
	return true;
}

static void take_pool_place(const struct reading *r, const struct pool *pool, unsigned int i)
{
	const struct pymalloc_pool *p = &pool->p;
	uint64_t off = place_addr(r, i) - p->addr;
	uint32_t block;

	if (off < PYMALLOC_HEADER_BYTES)
		return;
	block = (uint32_t)(off - PYMALLOC_HEADER_BYTES) / p->block;
	if (block >= p->carved)
		r->out->states[i] = PLACE_FRESH;
	else if (!(pool->used[block / 64] >> block % 64 & 1))
		r->out->states[i] = PLACE_FREE;
	else
		mark_block(pool_bytes + pymalloc_block_off(p, block), p->block,
			   &r->out->states[i], &r->out->marks[i]);
}

/* Returns true if the page is in a pool, or consists of pools, of this size. */
static bool take_pools(const struct reading *r, uint32_t bytes)
{
	struct pool pool = { .p = { .bytes = 0 } };
	unsigned int i;

	for (i = 0; i < PAGE_PLACES; i++) {
		if (place_addr(r, i) - pool.p.addr >= pool.p.bytes &&
		    !read_pool(r, place_addr(r, i), bytes, &pool))
			return false;
		take_pool_place(r, &pool, i);
	}
	return true;
}

/* ---- all of them ---- */

void page_content_read(const struct page_memory *mem, const struct page_area *area, uint64_t addr,
		       struct page_content *out)
{
	struct reading r = {
		.mem = mem, .area = area, .page = addr & ~(uint64_t)(mem->page_bytes - 1),
		.step = mem->page_bytes / PAGE_PLACES, .out = out,
	};

	memset(out, 0, sizeof(*out));
	out->addr = addr;
	if (r.page < area->start || r.page + mem->page_bytes > area->end)
		return;
	if (!area->heap) {
		if (take_pools(&r, PYMALLOC_POOL_MAX))
			return;
		memset(out->states, PLACE_UNKNOWN, sizeof(out->states));
		if (take_pools(&r, 4096))
			return;
		memset(out->states, PLACE_UNKNOWN, sizeof(out->states));
		if (page_chunks_take_mapped(&r))
			return;
	}
	page_chunks_take_heap(&r);
}
