/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * page_blocks.h - a page whose blocks are looked for, for the files page_blocks.c and
 * page_chunks.c, which are page_content_read() of page_content.h.
 */
#ifndef TACHBPF_PAGE_BLOCKS_H
#define TACHBPF_PAGE_BLOCKS_H

#include "base/hash_secret.h"
#include "memory/page_content.h"

#define WORD sizeof(uint64_t)

struct reading {
	const struct page_memory *mem;
	const struct page_area *area;
	uint64_t page, step;	/* the page's address; bytes from one place to the next */
	struct page_content *out;
};

static inline uint64_t place_addr(const struct reading *r, unsigned int i)
{
	return r->page + i * r->step;
}

static inline uint64_t word_at(const uint8_t *p, size_t i)
{
	return hash_secret_load(p + i * WORD);
}

/* Hashes are compared by the main process only, with others of the same worker: no secret. */
static inline uint32_t hash_of(const void *bytes, size_t len)
{
	return (uint32_t)hash_secret(0, bytes, len);
}

static inline uint8_t byte_of(uint64_t word)
{
	return (uint8_t)(hash_secret_mix(word ^ HASH_SECRET_A, HASH_SECRET_B) >> 24);
}

/*
 * The blocks of glibc's malloc: struct malloc_chunk in malloc/malloc.c, glibc 2.17 to 2.43. Takes
 * those in the page; returns true if it is in a block of its own mapping.
 */
bool page_chunks_take_mapped(const struct reading *r);
/* Takes the blocks of a heap that are in the page. */
void page_chunks_take_heap(const struct reading *r);

#endif
