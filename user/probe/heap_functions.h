/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* heap_functions.h - the functions that allocate and free memory, and the probe for each. */
#ifndef TACHBPF_PROBE_HEAP_FUNCTIONS_H
#define TACHBPF_PROBE_HEAP_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/prober.h"

/* Grouped by their arguments, with a BPF program for each group (bpf/heap.bpf.c). */
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

struct heap_function {
	const char *name;
	enum heap_shape shape;
};

/*
 * All names; a file that has the first two is an allocator's. Of operator new and delete, only
 * those of an allocator itself are found: the C++ library's call malloc() and free().
 */
#define HEAP_FUNCTION_CNT 32
#define HEAP_FUNCTION_NEEDED 2
extern const struct heap_function heap_functions[HEAP_FUNCTION_CNT];

/* Request all functions of all allocators from the prober; w->returns must be filled in. */
void heap_functions_want(struct prober_wanted *w);

#endif
