/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * units.h - what a census is a sample of: the units of an allocator (pymalloc: pools; mimalloc:
 * pages), each with blocks of one size.
 *
 * An allocator is two functions: it finds all units, or a random part of them if there are too many
 * to look at; and it reads one, and tells which of its blocks are in use.
 */
#ifndef TACHBPF_HEAP_UNITS_H
#define TACHBPF_HEAP_UNITS_H

#include "heap/census.h"
#include "heap/heap_mem.h"

/*
 * Kinds of units: each is sampled on its own, and all units of one should be of about the same size
 * and have blocks of the same size. For pools: the size of blocks / 8.
 */
#define HEAP_STRATA 128u
/*
 * The last two are windows: memory outside of the allocator's units, where larger objects are.
 * Those of the first kind are where mappings begin, and with them the largest objects: they are
 * read first.
 */
#define HEAP_WINDOWS 126u
#define HEAP_WINDOWS_FIRST HEAP_WINDOWS
#define HEAP_WINDOWS_OTHER 127u
#define HEAP_WINDOW_MAX 16384u		/* bytes */
/*
 * The stratum of units that are not sampled, as everything is known of them: one block, in use,
 * that is no object. It may be what an object owns.
 */
#define HEAP_KNOWN HEAP_STRATA
/* Units that are known; of more than that, a random part. */
#define HEAP_UNITS_MAX (384u * 1024)
#define HEAP_BLOCKS_MAX 8192u
/* Of a larger unit, only the beginning of each block is read. */
#define HEAP_UNIT_READ_MAX 65536u
#define HEAP_BEFORE_UNKNOWN 255u

struct heap_unit {
	uint64_t addr;
	uint64_t bytes;			/* with free blocks */
	uint64_t used;			/* bytes of blocks in use, if this is known without reading
					 * them */
	uint16_t stratum;		/* below HEAP_STRATA, or HEAP_KNOWN */
	uint16_t tag;			/* for its allocator; of a window: bit i: its page i
					 * is in memory */
	bool owned;			/* of HEAP_KNOWN: its owner was found */
};

struct heap_units {
	struct heap_unit *list;
	size_t cnt, cap;
	double scale;			/* how many each unit in the list stands for: >= 1 */
	uint32_t granule;		/* addresses of units are multiples of it */
	uint64_t bad, unread;		/* of what was looked at: no unit, not readable */
	uint32_t *index;		/* of granules, see heap_units_have() */
	size_t index_cap;
};

/* The blocks of one unit. Pointers are to memory of the allocator, until its next call. */
struct heap_blocks {
	uint64_t addr;			/* of the first block in the process */
	uint64_t block;			/* bytes of each */
	uint32_t cnt;
	const uint8_t *bytes;		/* a copy of each block's first `look` bytes; NULL if raw */
	uint32_t look, stride;		/* at bytes + i * stride; look = block: of all bytes */
	const uint64_t *used;		/* bit i: block i is in use */
	bool raw;			/* they are no objects */
	uint8_t before;			/* bytes of a block before the object, or unknown */
};

struct heap_allocator {
	bool pages;			/* its units are pages, not pools */
	bool all_sizes;			/* no object is too large for its units */
	/* Add all units, or set units->scale. 0 or -errno. */
	int (*find)(struct heap_mem *m, const struct heap_maps *maps,
		    const struct heap_target *target, uint64_t *seed, struct heap_units *units);
	/* 0; -ENOENT: it is gone, with all that was in it; -EBADMSG: it lies, or has changed
	 * while it was read; other -errno: unreadable. */
	int (*read)(struct heap_mem *m, const struct heap_target *target,
		    const struct heap_unit *unit, struct heap_blocks *blocks);
};

extern const struct heap_allocator heap_pymalloc, heap_mimalloc;

/* Returns true if it is memory outside of the allocator's units. */
static inline bool heap_unit_is_window(const struct heap_unit *unit)
{
	return unit->stratum == HEAP_WINDOWS_FIRST || unit->stratum == HEAP_WINDOWS_OTHER;
}

/* Add a copy. 0; -ENOSPC: HEAP_UNITS_MAX; -ENOMEM. */
int heap_units_add(struct heap_units *units, const struct heap_unit *unit);
/* After all were added: make heap_units_have() work. 0 or -ENOMEM. */
int heap_units_index(struct heap_units *units);
/* The unit that has an address in its first HEAP_GRANULES granules; NULL: none. */
#define HEAP_GRANULES 8u
struct heap_unit *heap_units_at(const struct heap_units *units, uint64_t addr);
bool heap_units_have(const struct heap_units *units, uint64_t addr);
void heap_units_free(struct heap_units *units);

/* The next of a sequence of random numbers; fast, and good enough to choose pools. */
uint64_t heap_random(uint64_t *seed);

#endif
