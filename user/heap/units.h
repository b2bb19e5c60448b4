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
/* Units that are known; of more than that, a random part. */
#define HEAP_UNITS_MAX (384u * 1024)
#define HEAP_BLOCKS_MAX 8192u

struct heap_unit {
	uint64_t addr;
	uint32_t bytes;			/* with free blocks */
	uint32_t used;			/* bytes of blocks in use, if this is known without reading
					 * blocks */
	uint16_t stratum;		/* below HEAP_STRATA */
	uint16_t tag;			/* for its allocator */
};

struct heap_units {
	struct heap_unit *list;
	size_t cnt, cap;
	double scale;			/* of how many each unit in the list stands for: 1 or more */
	uint32_t granule;		/* addresses of units are multiples of it */
	uint64_t bad, unread;		/* of what was looked at: no unit, not readable */
	uint32_t *index;		/* of granules, see heap_units_have() */
	size_t index_cap;
};

/* The blocks of one unit. Pointers are to memory of the allocator, until its next call. */
struct heap_blocks {
	uint64_t addr;			/* of the first block in the process */
	uint32_t cnt, block;		/* number and bytes of blocks */
	const uint8_t *bytes;		/* a copy of each block's first `look` bytes */
	uint32_t look, stride;		/* at bytes + i * stride; look = block: of all bytes */
	const uint64_t *used;		/* bit i: block i is in use */
	bool raw;			/* they are no objects */
};

struct heap_allocator {
	const char *unit;		/* "pools", "pages" */
	/* Add all units, or set units->scale. 0 or -errno. */
	int (*find)(struct heap_mem *m, const struct heap_maps *maps,
		    const struct heap_target *target, uint64_t *seed, struct heap_units *units);
	/* 0; -EBADMSG: it is no such unit, or no more; other -errno: unreadable. */
	int (*read)(struct heap_mem *m, const struct heap_target *target,
		    const struct heap_unit *unit, struct heap_blocks *blocks);
};

extern const struct heap_allocator heap_pymalloc;

/* Add a copy. 0; -ENOSPC: HEAP_UNITS_MAX; -ENOMEM. */
int heap_units_add(struct heap_units *units, const struct heap_unit *unit);
/* After all were added: make heap_units_have() work. 0 or -ENOMEM. */
int heap_units_index(struct heap_units *units);
/* Returns true if the address is in one of the units. */
bool heap_units_have(const struct heap_units *units, uint64_t addr);
void heap_units_free(struct heap_units *units);

/* The next of a sequence of random numbers; fast, and good enough to choose pools. */
uint64_t heap_random(uint64_t *seed);

#endif
