/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * block_book.h - the blocks of one process' allocator, and what it has mapped itself, while they
 * are
 * there: address, bytes, and the stack that asked for each.
 *
 * Records come in the order of the calls, but for frees inside of realloc() and mremap(): these
 * come later, and have the time of the free. So nothing is freed that is younger than the free.
 */
#ifndef TACHBPF_BLOCK_BOOK_H
#define TACHBPF_BLOCK_BOOK_H

#include <stddef.h>
#include <stdint.h>

struct block_book;

/* At most so many blocks, of 32 bytes each, and mappings. The BPF side keeps fewer blocks. */
#define BLOCK_BOOK_MAX (4u * 1024 * 1024)
#define BLOCK_BOOK_MAPS_MAX 16384u

struct block {
	uint64_t addr, bytes;
	uint64_t time_ns;	/* when it was given */
	uint32_t stack;
	uint32_t pad;
};

/* Takes a block that is gone; or, of a mapping of which a part was unmapped, what is left of it. */
struct block_book_fns {
	int (*gone)(void *ctx, const struct block *b);
	int (*left)(void *ctx, const struct block *b);
};

/* NULL: no memory. */
struct block_book *block_book_new(const struct block_book_fns *fns, void *ctx);
void block_book_free(struct block_book *b);

/*
 * A block was given; what the book has at its address is gone: its free was lost. 0; -ENOSPC: the
 * book is full, and it is not entered; -ENOMEM; or as gone().
 */
int block_book_add(struct block_book *b, const struct block *block);
/*
 * The block at addr was freed at time_ns. One that is not in the book is none of ours. As
 * gone().
 */
int block_book_remove(struct block_book *b, uint64_t addr, uint64_t time_ns);

/*
 * The same for mappings, which are ranges: parts of them can be unmapped. As the functions
 * above.
 */
int block_book_map(struct block_book *b, const struct block *map);
int block_book_unmap(struct block_book *b, uint64_t addr, uint64_t bytes, uint64_t time_ns);

#endif
