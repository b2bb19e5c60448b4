/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * abi_heap.h - what the probes of one process' allocator (--allocations) share with user space
 * besides their records, which abi_memory.h has.
 */
#ifndef TACHBPF_ABI_HEAP_H
#define TACHBPF_ABI_HEAP_H

#include "abi.h"

/*
 * Blocks that may live at a time, at 64 bytes of kernel memory each, and threads that may be in the
 * allocator at a time. What does not fit is a loss: CNT_BLOCK_LOST.
 */
#define HEAP_BLOCKS (1024 * 1024)
#define HEAP_THREADS 16384

/* Calls so far, on one CPU. */
struct heap_counts {
	abi_u64 entries;	/* probes that were hit when a function was entered */
	abi_u64 returns;	/* ... of functions whose return is probed, too */
	abi_u64 kept;		/* ... for blocks that are recorded */
};

#endif
