/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * block_look.h - whether a block of a process' allocator is in use, by the words that the allocator
 * keeps next to it: for blocks whose free may not have been seen.
 *
 * A block that looks in use is in use still, or again: it may have been freed and given out anew
 * with the same size. Known are glibc's malloc since 2.26 and musl's since 1.2.1 (mallocng). Which
 * one a process has is told by its blocks: they must fit.
 */
#ifndef TACHBPF_BLOCK_LOOK_H
#define TACHBPF_BLOCK_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpython/code.h"

/* Limit on blocks in one question. */
#define BLOCK_LOOKS_MAX 4096u

struct block_place {
	uint64_t addr, bytes;	/* as requested; addr bit 0 is never set */
	bool mapping;		/* a mapping of the process' own, not an allocator's block */
};

/* What was read for a place. Hostile. */
struct block_words {
	uint64_t before;	/* the word before the block */
	uint64_t first, second;	/* its first two words */
	uint64_t next;		/* glibc: the next chunk's, as `before` is this one's */
	bool read;		/* all but next could be read: the block is mapped */
	bool has_next;
	bool grouped;		/* musl: it is in a group that its metadata know */
};

/* Reads the words of cnt places, at most BLOCK_LOOKS_MAX; what cannot be read is not. */
void block_words_read(const struct target_mem *mem, const struct block_place *places, size_t cnt,
		      struct block_words *out);

enum block_allocator { ALLOCATOR_UNKNOWN, ALLOCATOR_GLIBC, ALLOCATOR_MUSL, ALLOCATOR_CNT };

/*
 * Returns true if the block is gone for certain: freed, given out with another size, or unmapped.
 * With an unknown allocator, only the last of these can be told. false: it is in use, still or
 * again; or it was freed, and the allocator does not show that.
 */
bool block_is_gone(enum block_allocator allocator, const struct block_place *place,
		   const struct block_words *w);

/* Which allocator a process has. Zero-initialise. */
struct block_judge {
	uint64_t seen, fits[ALLOCATOR_CNT];
};
/* Blocks that are few enough are no evidence; of enough of them, so many percent must fit. */
#define BLOCK_JUDGE_LEAST 8
#define BLOCK_JUDGE_PERCENT 80

/* Takes a block that was in use a short time ago. */
void block_judge_take(struct block_judge *j, const struct block_place *place,
		      const struct block_words *w);
enum block_allocator block_judge_says(const struct block_judge *j);
/* "glibc", "musl", "unknown" */
const char *block_allocator_name(enum block_allocator allocator);

#endif
