/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mimalloc.h - the heaps of mimalloc, the allocator of free-threaded CPythons (3.13+; of others
 * with PYTHONMALLOC=mimalloc): the pages of a segment, and which blocks of a page are in use.
 *
 * A segment is 32 MiB of memory, aligned to 32 MiB. It begins with a header that describes its
 * slices of 64 KiB. One or more slices are a page, whose blocks have one size: small blocks (up to
 * 16 KiB) in pages of one slice, medium ones in pages of eight, and each larger block in a page of
 * its own. A block of more than 16 MiB has a segment of its own. A segment is found without
 * symbols, by what its header must fulfil, also one whose thread has ended.
 *
 * The process may run meanwhile, and is hostile: every size and loop is limited.
 */
#ifndef TACHBPF_CPYTHON_MIMALLOC_H
#define TACHBPF_CPYTHON_MIMALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpython/code.h"

#define MIMALLOC_SEGMENT_BYTES (32ull << 20)
#define MIMALLOC_SLICE_BYTES (64u << 10)
#define MIMALLOC_SLICES 512u
/* Of the largest header of a segment. */
#define MIMALLOC_HEADER_BYTES 65952u
/* Limit on a page's blocks: a slice of blocks of 8 bytes. */
#define MIMALLOC_BLOCKS_MAX 8192u
#define MIMALLOC_USED_WORDS (MIMALLOC_BLOCKS_MAX / 64)

/* Whose page it is: tags of the heaps of free-threaded CPythons. Others have only the first one. */
enum mimalloc_tag {
	MIMALLOC_MEM,		/* PyMem_Malloc(): no objects */
	MIMALLOC_OBJECT,	/* objects without garbage collection, and other memory from
				 * PyObject_Malloc() */
	MIMALLOC_GC,		/* objects with it */
	MIMALLOC_GC_PRE,	/* objects with it and two words before them */
	MIMALLOC_TAGS,
};

struct mimalloc_page {
	uint64_t addr;		/* of its first slice */
	uint64_t header;	/* its description, in the segment's header */
	uint64_t start;		/* of its first block */
	uint64_t block_bytes;
	uint64_t bytes;		/* of the whole page */
	uint32_t capacity;	/* blocks that have ever been used, or are in its free list */
	uint32_t used;		/* of these: in use, or freed by other threads than its own */
	uint8_t tag;		/* enum mimalloc_tag */
	uint64_t free, local_free, thread_free;	/* lists of free blocks */
	uint64_t keys[2];	/* by which debug builds encode the lists */
};

struct mimalloc_segment {
	uint64_t addr, bytes;
	uint64_t key;		/* the same in all segments of a process */
	bool abandoned;		/* its thread has ended */
	uint32_t bad_pages;	/* whose description does not fit, such as while it changes */
	uint32_t page_cnt;
	struct mimalloc_page pages[MIMALLOC_SLICES];
};

/*
 * Where a version and build of mimalloc keeps what: the number of a layout, from a segment's
 * header, of which the first len bytes, up to MIMALLOC_HEADER_BYTES, were read at addr. -ENOENT: it
 * is no segment, or has no pages.
 */
int mimalloc_layout_find(const void *header, size_t len, uint64_t addr, bool free_threaded);

/* The same, without its pages: the first 1,024 bytes are enough. */
bool mimalloc_may_be_segment(const void *header, size_t len, uint64_t addr, bool free_threaded);

/* List the pages of a segment. 0; -ENOENT: it is no segment, *out is undefined. */
int mimalloc_segment_read(int layout, const void *header, size_t len, uint64_t addr,
			  struct mimalloc_segment *out);

/* Read the description of the page at an address. 0; -ENOENT: it is no page; other -errno. */
int mimalloc_page_at(const struct target_mem *mem, int layout, uint64_t addr,
		     struct mimalloc_page *out);

/* The blocks of a page. */
struct mimalloc_blocks {
	uint32_t cnt;		/* the page's capacity */
	uint32_t used;
	size_t stride;		/* block i begins at i * stride in the buffer */
	size_t len;		/* bytes that were read of each */
	uint64_t bits[MIMALLOC_USED_WORDS];	/* bit i % 64 of word i / 64: block i is in use */
};

/*
 * Read a page's blocks into buf (at least MIMALLOC_SLICE_BYTES), and which of them are in use. Of
 * blocks in pages of more than a slice only the first bytes are read, at most head_bytes. *page is
 * updated. 0; -EAGAIN: its lists of free blocks changed, or do not fit; -ENOENT: it is not a page
 * with blocks of this size any more; other -errno: of the read.
 */
int mimalloc_page_read(const struct target_mem *mem, int layout, struct mimalloc_page *page,
		       void *buf, size_t head_bytes, struct mimalloc_blocks *out);

/* Bytes of the block that a request of this size gets, without those of debug builds. */
uint64_t mimalloc_block_bytes(uint64_t request);

static inline bool mimalloc_in_use(const struct mimalloc_blocks *b, uint32_t i)
{
	return b->bits[i / 64] >> i % 64 & 1;
}

#endif
