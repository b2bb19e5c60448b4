/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pymalloc.h - the pools of CPython's allocator for small objects: which memory is a pool, and
 * which of its blocks are in use.
 *
 * Everything is found in copies of memory, without the interpreter's symbols. The memory is hostile
 * and may change while it is copied.
 */
#ifndef TACHBPF_CPYTHON_PYMALLOC_H
#define TACHBPF_CPYTHON_PYMALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PYMALLOC_HEADER_BYTES 48u	/* struct pool_header; the first block follows */
#define PYMALLOC_POOL_MAX 16384u	/* bytes of the largest pools */
#define PYMALLOC_SMALL_MAX 512u		/* larger requests are the C library's */
#define PYMALLOC_CLASSES 64u		/* sizes of blocks are 8 .. 512 in steps of 8 */
#define PYMALLOC_BLOCKS_MAX 1024u	/* of a pool */
#define PYMALLOC_USED_WORDS (PYMALLOC_BLOCKS_MAX / 64)

struct pymalloc_pool {
	uint64_t addr;
	uint32_t bytes;		/* of the pool; its address is a multiple of it */
	uint32_t block;		/* bytes of each block */
	uint32_t count;		/* blocks in use; 0: the pool is free */
	uint32_t carved;	/* blocks that were ever in use; further ones were never touched */
	uint32_t free_off;	/* of the first block in the free list; 0: there is none */
};

/* Bytes of a pool in CPython 3.minor; a build without a radix tree has pools of 4096. */
uint32_t pymalloc_pool_bytes(uint8_t minor);

/*
 * Returns true if the memory at addr, of which header has the first PYMALLOC_HEADER_BYTES, is a
 * pool of that many bytes: all fields of its header agree. addr must be a multiple of bytes.
 */
bool pymalloc_pool_parse(const uint8_t *header, uint64_t addr, uint32_t bytes,
			 struct pymalloc_pool *p);

/* Bytes at the pool's address that contain all blocks that were ever in use: at most p->bytes. */
uint32_t pymalloc_pool_extent(const struct pymalloc_pool *p);

/*
 * Find the blocks in use: bit i of used is block i, at pymalloc_block_off(). bytes: a copy of
 * pymalloc_pool_extent() bytes of the pool; p is parsed from the same copy. Returns their number;
 * -EBADMSG: the free list leads out of the pool, as it may while it changes: used has all blocks
 * that were not met until then; -ELOOP: it leads into a circle.
 */
int pymalloc_pool_used(const struct pymalloc_pool *p, const uint8_t *bytes,
		       uint64_t used[PYMALLOC_USED_WORDS]);

static inline uint32_t pymalloc_block_off(const struct pymalloc_pool *p, uint32_t i)
{
	return PYMALLOC_HEADER_BYTES + i * p->block;
}

/*
 * Words that a debug build, or PYTHONMALLOC=debug, puts in front of the memory of a block in use;
 * 0: none. size: of the block. *requested: bytes of the memory; without debug words the block's.
 */
#define PYMALLOC_DEBUG_BYTES 16u
uint32_t pymalloc_debug_bytes(const uint8_t *block, uint32_t size, uint32_t *requested);

#endif
