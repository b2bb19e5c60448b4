/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * abi_memory.h - memory that processes get: with --mode mem the BPF side sends a sample of the page
 * faults, with --allocations every block of one process' allocator. Like abi.h, it knows no kernel
 * type, and all fields have fixed widths.
 *
 * Page faults: a perf event of PERF_COUNT_SW_PAGE_FAULTS_MIN on each CPU runs on_page_fault() after
 * one in N faults of the CPU. User space changes this period at random, so that no program keeps
 * step with it (user/capture/capture_faults.h). A fault that the event chooses stands for all since
 * the last one, in whatever process. The BPF side does not know what kind of page the fault
 * brought, nor its size: user space asks /proc/PID/pagemap (user/memory).
 */
#ifndef TACHBPF_ABI_MEMORY_H
#define TACHBPF_ABI_MEMORY_H

#include "abi.h"

/* raw_header.why of RAW_ALLOC. */
enum raw_alloc_why {
	ALLOC_PAGE = 1,		/* a page fault; bytes: of a base page */
	ALLOC_BLOCK = 2,	/* the C library's allocator returned a block */
	ALLOC_MAP = 3,		/* mmap() of memory, outside the allocator */
};

/*
 * RAW_ALLOC (16): a struct raw_sample with the flag RAW_WEIGHED: a struct raw_memory follows the
 * frames, then perhaps a struct raw_trace. nframes may be 0: raw_header.sysno is then the enum
 * counter by which the walk ended (CNT_NATIVE_THREAD, CNT_NO_FRAMES, CNT_NOT_READY, ...), with
 * RAW_NOT_WALKED: no budget was left. User space gives such memory a frame that says so; its bytes
 * always count.
 */

/*
 * RAW_FREE (17): a block of the allocator was freed (ALLOC_BLOCK), or a range unmapped (ALLOC_MAP):
 * only with --allocations. ALLOC_PAGE: nothing is mapped in the range, which the kernel has found
 * for a new mapping: pages that were there are gone.
 */
struct raw_free {
	struct raw_header h;	/* why: enum raw_alloc_why */
	abi_u32 tid;
	abi_u32 pad;
	abi_u64 addr;
	abi_u64 bytes;		/* of the range; 0: of the block at addr, whatever its size */
};
_Static_assert(sizeof(struct raw_free) == 48, "raw_free has no hidden padding");

/*
 * RAW_MOVED (18): mremap() moves pages. on_unmapped_area() sends it before the move, which may
 * still fail. Pages keep their content, so they still belong to the stack that touched them.
 */
struct raw_moved {
	struct raw_header h;
	abi_u32 tid;
	abi_u32 pad;
	abi_u64 addr, bytes;	/* the old range */
	abi_u64 to;
};
_Static_assert(sizeof(struct raw_moved) == 56, "raw_moved has no hidden padding");

/*
 * RAW_GC_DONE (19): the interpreter's own counters of collections have changed since they were last
 * sent, or this is the first time. see_collections() sends it, at a tick. All counters start with
 * the interpreter. If one of these records is lost, the next one includes everything. Collections
 * between two of them appear as one difference: the counters have no times.
 */
#define RAW_GC_GENERATIONS 3
struct raw_gc_generation {
	abi_u64 collections, collected, uncollectable;
};
struct raw_gc {
	struct raw_header h;
	abi_u32 tid;
	abi_u32 interp_id;	/* 0 up to 3.8, where all interpreters count together */
	abi_u64 since_ns;	/* when they were last sent (CLOCK_MONOTONIC); 0: never */
	abi_u64 seen_ns;	/* time of collections since then, as seen by ticks: each that
				 * interrupts one stands for its period */
	struct raw_gc_generation generations[RAW_GC_GENERATIONS];
	abi_u64 seconds[RAW_GC_GENERATIONS];	/* a double: total duration of a generation's
						 * collections, by the interpreter's own clock
						 * (3.15); 0: not available */
};
_Static_assert(sizeof(struct raw_gc) == 48 + 32 * RAW_GC_GENERATIONS, "raw_gc is packed");

#endif
