// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * pymalloc.c - see pymalloc.h.
 *
 * Sources, at v3.6.15 ... v3.15.0: Objects/obmalloc.c (struct pool_header,
 * allocate_from_new_pool(), _PyMem_DebugRawAlloc()), from 3.12 on
 * Include/internal/pycore_obmalloc.h. Sizes are multiples of 8 in 3.6 and early releases of 3.7, of
 * 16 since then; a header shows which it is.
 */
#include "cpython/pymalloc.h"

#include <errno.h>
#include <string.h>

/* Pools became larger together with the radix tree of arenas. */
#define LARGE_POOLS_SINCE 10
#define SMALL_POOL_BYTES 4096u

/* struct pool_header, of 64-bit builds */
struct header {
	uint32_t count, pad;
	uint64_t freeblock, next, prev;
	uint32_t arena, size_class, next_off, max_next_off;
};
_Static_assert(sizeof(struct header) == PYMALLOC_HEADER_BYTES, "as CPython's");
_Static_assert((PYMALLOC_POOL_MAX - PYMALLOC_HEADER_BYTES) / 16 <= PYMALLOC_BLOCKS_MAX &&
	       (SMALL_POOL_BYTES - PYMALLOC_HEADER_BYTES) / 8 <= PYMALLOC_BLOCKS_MAX,
	       "a bit for each block");

uint32_t pymalloc_pool_bytes(uint8_t minor)
{
	return minor >= LARGE_POOLS_SINCE ? PYMALLOC_POOL_MAX : SMALL_POOL_BYTES;
}

/* Bytes of a block; 0: size_class and max_next_off do not agree. */
static uint32_t block_bytes(const struct header *h, uint32_t pool_bytes)
{
	uint32_t block = pool_bytes - h->max_next_off;

	if (h->max_next_off >= pool_bytes || block > PYMALLOC_SMALL_MAX)
		return 0;
	if (h->size_class >= PYMALLOC_CLASSES)
		return 0;
	if (block == (h->size_class + 1) * 16)
		return block;
	return block == (h->size_class + 1) * 8 && pool_bytes == SMALL_POOL_BYTES ? block : 0;
}

/* The offset of the first free block; UINT32_MAX: it is not in the pool. */
static uint32_t free_off(const struct pymalloc_pool *p, uint64_t freeblock)
{
	uint64_t off = freeblock - p->addr;

	if (!freeblock)
		return 0;
	if (off < PYMALLOC_HEADER_BYTES || off >= pymalloc_block_off(p, p->carved) ||
	    (off - PYMALLOC_HEADER_BYTES) % p->block)
		return UINT32_MAX;
	return (uint32_t)off;
}

bool pymalloc_pool_parse(const uint8_t *header, uint64_t addr, uint32_t bytes,
			 struct pymalloc_pool *p)
{
	uint32_t blocks;
	struct header h;

	memcpy(&h, header, sizeof(h));
	*p = (struct pymalloc_pool){ .addr = addr, .bytes = bytes, .count = h.count,
				     .block = block_bytes(&h, bytes) };
	if (!p->block || h.next_off < PYMALLOC_HEADER_BYTES + p->block)
		return false;
	blocks = (bytes - PYMALLOC_HEADER_BYTES) / p->block;
	p->carved = (h.next_off - PYMALLOC_HEADER_BYTES) / p->block;
	if ((h.next_off - PYMALLOC_HEADER_BYTES) % p->block || p->carved > blocks ||
	    p->count > p->carved)
		return false;
	/* A pool that is in use, and not full, is in a list of such pools. */
	if ((h.next | h.prev) & 7)
		return false;
	p->free_off = free_off(p, h.freeblock);
	return p->free_off != UINT32_MAX;
}

uint32_t pymalloc_pool_extent(const struct pymalloc_pool *p)
{
	return pymalloc_block_off(p, p->carved);
}

int pymalloc_pool_used(const struct pymalloc_pool *p, const uint8_t *bytes,
		       uint64_t used[PYMALLOC_USED_WORDS])
{
	uint32_t off = p->free_off, left = p->carved, i;
	uint64_t next;

	memset(used, 0, PYMALLOC_USED_WORDS * sizeof(*used));
	for (i = 0; i < p->carved; i++)
		used[i / 64] |= 1ull << i % 64;
	while (off) {
		i = (off - PYMALLOC_HEADER_BYTES) / p->block;
		if (!(used[i / 64] >> i % 64 & 1))
			return -EBADMSG;
		used[i / 64] &= ~(1ull << i % 64);
		left--;
		memcpy(&next, bytes + off, sizeof(next));
		off = free_off(p, next);
		if (off == UINT32_MAX)
			return -EBADMSG;
	}
	return (int)left;
}

/*
 * The size, most significant byte first; which allocator it was; and 7 bytes of PYMEM_FORBIDDENBYTE
 * (0xfb in 3.6 and 3.7).
 */
uint32_t pymalloc_debug_bytes(const uint8_t *block, uint32_t size, uint32_t *requested)
{
	uint64_t word, bytes;

	*requested = size;
	if (size < PYMALLOC_DEBUG_BYTES + 8)
		return 0;
	memcpy(&word, block + 8, sizeof(word));
	if ((word >> 8 != 0xfdfdfdfdfdfdfdull && word >> 8 != 0xfbfbfbfbfbfbfbull) ||
	    !memchr("omr", word & 0xff, 3))
		return 0;
	memcpy(&bytes, block, sizeof(bytes));
	bytes = __builtin_bswap64(bytes);
	if (bytes > size - PYMALLOC_DEBUG_BYTES - 8)
		return 0;
	*requested = (uint32_t)bytes;
	return PYMALLOC_DEBUG_BYTES;
}
