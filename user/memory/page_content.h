/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * page_content.h - what is in a page: which of its bytes belong to blocks in use, and a mark of
 * each of these blocks. From the marks of two moments follows which bytes are still in the same
 * block.
 *
 * A block is one of pymalloc's (cpython/pymalloc.h) or of glibc's malloc. Of memory that belongs to
 * neither nothing is known. A mark is not an address of an object that can be followed, only a
 * hash: two blocks may have the same by chance, and a block that is changed may get another.
 */
#ifndef TACHBPF_PAGE_CONTENT_H
#define TACHBPF_PAGE_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Places in a page that are looked at, at equal distances: each stands for an equal part of it. */
#define PAGE_PLACES 16

enum place_state {
	PLACE_UNKNOWN = 0,	/* not the memory of an allocator that we know */
	PLACE_FRESH,		/* the allocator has not given it to anybody yet */
	PLACE_FREE,		/* it was given to somebody, who has freed it */
	PLACE_OBJECT,		/* in use: an object that cannot be a container */
	PLACE_CONTAINER,	/* ... one that the garbage collector knows: it may change */
	PLACE_RAW,		/* ... a block of pymalloc that is no object: a dict's keys */
	PLACE_MALLOC,		/* ... a block of the C library */
	PLACE_STATES
};

struct place_mark {
	uint32_t id;		/* equal for the same block */
	uint32_t words;		/* four hashes of a byte: of what may change, a part at a time */
};

struct page_content {
	uint64_t addr;		/* as in the question */
	uint8_t states[PAGE_PLACES];	/* enum place_state */
	struct place_mark marks[PAGE_PLACES];
};
_Static_assert(sizeof(struct page_content) == 152, "page_content has no hidden padding");

/* Places of a page whose first user is known, by what has become of them. */
struct page_fate {
	uint8_t own;		/* in the same block as at first */
	uint8_t reused;		/* in a block that was made later */
	uint8_t unused;		/* free */
};

/* Returns true if the place is in a block in use. */
static inline bool place_in_use(uint8_t state)
{
	return state >= PLACE_OBJECT;
}

/* Returns the number of places that were given to somebody. */
unsigned int page_content_given(const struct page_content *c);

/*
 * Prepare what was there at first. If blocks are in use, those that are free say nothing: the same
 * function may be about to use them. If all are free, it has already freed what it made there.
 */
void page_content_begin(struct page_content *first);

/*
 * Compare with what was there at first. A place whose first block has gone becomes PLACE_FREE in
 * *first, so that no later block is taken for it.
 */
struct page_fate page_content_compare(struct page_content *first, const struct page_content *now);

/* ---- reading: for the worker ---- */

/* Copies of a process' memory. Nothing is read from pages that the process has not touched. */
struct page_memory {
	/* Copy len bytes at addr. 0, or -errno: not all of their pages are there. */
	int (*read)(void *ctx, uint64_t addr, void *buf, size_t len);
	/* The lowest address, at least floor, from which all pages up to that of addr are there. */
	uint64_t (*first)(void *ctx, uint64_t addr, uint64_t floor);
	void *ctx;
	uint32_t page_bytes;
	uint32_t process;	/* to tell processes apart */
};

/* The mapping of a page: anonymous, private, writable. */
struct page_area {
	uint64_t start, end;
	bool heap;		/* of brk() */
};

/*
 * Look at the page at addr, in this mapping. The memory is hostile, and changes meanwhile. Up to
 * 1.4 MiB of it are read, for a page in a large block; mostly some KiB. Not reentrant.
 */
void page_content_read(const struct page_memory *mem, const struct page_area *area, uint64_t addr,
		       struct page_content *out);

#endif
