/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * glibc_chunk.h - the two words before each block of glibc's malloc, a chunk's head
 * (malloc/malloc.c, struct malloc_chunk): the size of the chunk before it, if that is free; and its
 * own size, with flags in the low bits.
 */
#ifndef TACHBPF_GLIBC_CHUNK_H
#define TACHBPF_GLIBC_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#define CHUNK_HEAD 16u		/* bytes of the two words */
#define CHUNK_ALIGN 16u		/* MALLOC_ALIGNMENT */
#define CHUNK_MIN 32u		/* MINSIZE: a smaller remainder stays with the chunk before it */
#define CHUNK_PREV_IN_USE 1u	/* the chunk before it is in use */
#define CHUNK_IS_MAPPED 2u	/* it has a mapping of its own, whole pages */
#define CHUNK_FLAGS 7u

static inline uint64_t chunk_size(uint64_t word)
{
	return word & ~(uint64_t)CHUNK_FLAGS;
}

/*
 * Returns true if a chunk with this size word can have a block of that many bytes: up to `more`
 * bytes larger than it must be, or mapped_more if it was mapped. That is rounded up to a page, or
 * to a huge page (glibc.malloc.hugetlb), and since glibc 2.43 its size leaves out the head.
 */
static inline bool chunk_holds(uint64_t word, uint64_t bytes, uint64_t more,
			       uint64_t mapped_more)
{
	uint64_t size = chunk_size(word), least;

	if (bytes > UINT64_MAX - 2 * CHUNK_ALIGN || size % CHUNK_ALIGN)
		return false;
	if (word & CHUNK_IS_MAPPED)
		return size >= bytes && size - bytes <= mapped_more;
	least = (bytes + 8 + CHUNK_ALIGN - 1) & ~(uint64_t)(CHUNK_ALIGN - 1);
	if (least < CHUNK_MIN)
		least = CHUNK_MIN;
	return size >= least && size - least <= more;
}

#endif
