/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * abi_heap.h - what the probes of one process' allocator (--allocations) share with user space in
 * addition to their records, which are in abi_memory.h.
 */
#ifndef TACHBPF_ABI_HEAP_H
#define TACHBPF_ABI_HEAP_H

#include "abi.h"

/*
 * Limits on live blocks, at 64 bytes of kernel memory each, and on threads inside the allocator.
 * What exceeds them is a loss: CNT_BLOCK_LOST.
 */
#define HEAP_BLOCKS (1024 * 1024)
#define HEAP_THREADS 16384

/* Functions grouped by their arguments. In bursts, the cookie of their probes. */
enum heap_shape {
	HEAP_MALLOC,		/* (bytes) */
	HEAP_CALLOC,		/* (count, bytes) */
	HEAP_REALLOC,		/* (old, bytes) */
	HEAP_REALLOCARRAY,	/* (old, count, bytes) */
	HEAP_ALIGNED_ALLOC,	/* (alignment, bytes) */
	HEAP_POSIX_MEMALIGN,	/* (&address, alignment, bytes) */
	HEAP_MMAP,
	HEAP_MREMAP,
	HEAP_FREE,		/* (address) */
	HEAP_MUNMAP,
	HEAP_SHAPE_CNT,
};

/* Calls so far, on one CPU. */
struct heap_counts {
	abi_u64 entries;	/* probes hit at the entry of a function */
	abi_u64 returns;	/* ... of functions whose return is probed, too */
	abi_u64 kept;		/* ... for blocks that are recorded */
};

#endif
