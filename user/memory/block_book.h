/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * block_book.h - the live blocks of one process' allocator, and its own live mappings: address,
 * bytes, and the stack that requested each.
 *
 * Records come in the order of the calls, except for frees inside realloc() and mremap(): these
 * come later, with the time of the free. So a block younger than the free is not freed.
 */
#ifndef TACHBPF_BLOCK_BOOK_H
#define TACHBPF_BLOCK_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block_book;

/* Limits on blocks, of 40 bytes each, and on mappings. The BPF side keeps fewer blocks. */
#define BLOCK_BOOK_MAX (4u * 1024 * 1024)
#define BLOCK_BOOK_MAPS_MAX 16384u

struct block {
	uint64_t addr, bytes;
	uint64_t weighed;	/* the bytes that it stands for, if blocks are a sample */
	uint64_t time_ns;	/* when it was allocated */
	uint32_t stack;
	uint32_t ticks;		/* the caller's */
};

/* Takes a block that is gone; or, for a mapping part of which was unmapped, what is left of it. */
struct block_book_fns {
	int (*gone)(void *ctx, const struct block *b);
	int (*left)(void *ctx, const struct block *b);
};

/* NULL: out of memory. */
struct block_book *block_book_new(const struct block_book_fns *fns, void *ctx);
void block_book_free(struct block_book *b);

/*
 * A block was allocated. What the book has at its address is gone: its free was lost. 0; -ENOSPC:
 * the book is full, and the block is not entered; -ENOMEM; or as gone().
 */
int block_book_add(struct block_book *b, const struct block *block);
/* The block at addr was freed at time_ns. One that is not in the book is ignored. As gone(). */
int block_book_remove(struct block_book *b, uint64_t addr, uint64_t time_ns);

/*
 * The same for mappings, which are ranges: they can be unmapped in parts. As the functions above.
 */
int block_book_map(struct block_book *b, const struct block *map);
int block_book_unmap(struct block_book *b, uint64_t addr, uint64_t bytes, uint64_t time_ns);

/*
 * Lists blocks and mappings from *pos on, which is 0 at first: at most max. Returns how many;
 * *pos is UINT64_MAX after the last one. While some are removed, others may be missed or come
 * twice.
 */
size_t block_book_list(const struct block_book *b, uint64_t *pos, struct block *out,
		       bool *mappings, size_t max);

/* The number of blocks, without mappings. */
size_t block_book_cnt(const struct block_book *b);

/* Calls is_over() for each block and mapping once; those for which it returns true are gone. */
int block_book_sweep(struct block_book *b, bool (*is_over)(void *ctx, const struct block *block),
		     void *ctx);

#endif
