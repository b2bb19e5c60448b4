// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * block_look.c - see block_look.h.
 *
 * glibc (malloc/malloc.c, "struct malloc_chunk"): the word before a block is its chunk's size,
 * with three flags; the same word of the next chunk says whether this one is in use. A chunk in a
 * thread's cache (tcache) or a fastbin still looks in use; in the cache its first word is the next
 * entry, since 2.32 mangled by its address, and its second word a key that malloc() clears.
 *
 * musl (src/malloc/mallocng/meta.h): the bytes before a block are its place in a group of equal
 * blocks, whose first word leads to metadata that lead back; free() overwrites them.
 */
#include "memory/block_look.h"

#include <string.h>

#include "memory/glibc_chunk.h"

#define WORD 8u
/* A remainder that is too small for a chunk stays with the block. */
#define CHUNK_MORE (CHUNK_MIN - CHUNK_ALIGN)
/* Huge pages have 2 MiB; one more for the head. */
#define MAPPED_MORE (4ull << 20)
/* Entries of a cache are in the same arena, or in one of another thread. */
#define CACHE_NEAR (1ull << 32)
/* src/malloc/mallocng: UNIT; `255` in free() */
#define MUSL_UNIT 16u
#define MUSL_FREED 0xff
#define MUSL_OF_GROUP 16u	/* of struct meta: its member mem */

/* ---- reading ---- */

/* Returns true if glibc has the block in a chunk of this size. */
static bool is_chunk(const struct block_place *p, uint64_t before)
{
	return chunk_holds(before, p->bytes, CHUNK_MORE, MAPPED_MORE);
}

static bool read_word(const struct target_mem *mem, uint64_t addr, uint64_t *out)
{
	return !mem->read(mem->ctx, addr, out, sizeof(*out));
}

static uint32_t musl_offset(uint64_t before)
{
	return (uint32_t)(before >> 48) * MUSL_UNIT;
}

/* Returns true if the block's group has metadata that lead back to it. */
static bool is_grouped(const struct target_mem *mem, uint64_t addr, uint64_t before)
{
	uint64_t group = addr - MUSL_UNIT - musl_offset(before), meta, back;

	return read_word(mem, group, &meta) && meta && !(meta & (WORD - 1)) &&
	       read_word(mem, meta + MUSL_OF_GROUP, &back) && back == group;
}

static bool is_cut(const struct target_mem *mem, const struct block_place *p)
{
	uint8_t byte;

	return !p->bytes || p->bytes - 1 > UINT64_MAX - p->addr ||
	       mem->read(mem->ctx, p->addr + p->bytes - 1, &byte, 1);
}

static void read_mapping(const struct target_mem *mem, const struct block_place *p,
			 struct block_words *out)
{
	out->read = read_word(mem, p->addr, &out->first) && !is_cut(mem, p);
}

static void read_block(const struct target_mem *mem, const struct block_place *p,
		       struct block_words *out)
{
	uint64_t words[3], size;

	if (mem->read(mem->ctx, p->addr - WORD, words, sizeof(words)))
		return;
	out->read = true;
	out->before = words[0];
	out->first = words[1];
	out->second = words[2];
	size = chunk_size(out->before);
	if (!(out->before & CHUNK_IS_MAPPED) && size >= CHUNK_MIN)
		out->has_next = read_word(mem, p->addr - WORD + size, &out->next);
	if (!is_chunk(p, out->before))
		out->grouped = is_grouped(mem, p->addr, out->before);
}

void block_words_read(const struct target_mem *mem, const struct block_place *places, size_t cnt,
		      struct block_words *out)
{
	size_t i;

	memset(out, 0, cnt * sizeof(*out));
	for (i = 0; i < cnt; i++)
		(places[i].mapping ? read_mapping : read_block)(mem, &places[i], &out[i]);
}

/* ---- judging ---- */

/* Returns true if the block is in a thread's cache of free ones. */
static bool is_cached(const struct block_place *p, const struct block_words *w)
{
	uint64_t next = w->first ^ p->addr >> 12;

	if (!w->second)
		return false;
	return !next || (!(next % CHUNK_ALIGN) && next - p->addr + CACHE_NEAR <= 2 * CACHE_NEAR);
}

static bool is_slot(const struct block_words *w)
{
	return w->grouped && (w->before >> 40 & 0xff) != MUSL_FREED;
}

/* Returns true if the allocator may have given out such a block, in use or not. */
static bool block_fits(enum block_allocator allocator, const struct block_place *p,
		const struct block_words *w)
{
	if (!w->read || p->mapping)
		return false;
	if (allocator == ALLOCATOR_GLIBC)
		return is_chunk(p, w->before) && (w->has_next || w->before & CHUNK_IS_MAPPED);
	return allocator == ALLOCATOR_MUSL && is_slot(w);
}

bool block_is_gone(enum block_allocator allocator, const struct block_place *p,
		   const struct block_words *w)
{
	if (!w->read)
		return true;
	if (p->mapping || allocator == ALLOCATOR_UNKNOWN)
		return false;
	if (!block_fits(allocator, p, w))
		return true;
	if (allocator == ALLOCATOR_MUSL || w->before & CHUNK_IS_MAPPED)
		return false;
	return !(w->next & CHUNK_PREV_IN_USE) || is_cached(p, w);
}

void block_judge_take(struct block_judge *j, const struct block_place *p,
		      const struct block_words *w)
{
	int i;

	if (p->mapping || !w->read)
		return;
	j->seen++;
	for (i = 0; i < ALLOCATOR_CNT; i++)
		j->fits[i] += block_fits(i, p, w);
}

enum block_allocator block_judge_says(const struct block_judge *j)
{
	int i;

	if (j->seen < BLOCK_JUDGE_LEAST)
		return ALLOCATOR_UNKNOWN;
	for (i = ALLOCATOR_GLIBC; i < ALLOCATOR_CNT; i++)
		if (j->fits[i] * 100 >= j->seen * BLOCK_JUDGE_PERCENT)
			return i;
	return ALLOCATOR_UNKNOWN;
}

const char *block_allocator_name(enum block_allocator allocator)
{
	static const char *const names[ALLOCATOR_CNT] = { "unknown", "glibc", "musl" };

	return names[allocator < ALLOCATOR_CNT ? allocator : ALLOCATOR_UNKNOWN];
}
