/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* heap_functions.h - the functions that allocate and free memory, and the probe for each. */
#ifndef TACHBPF_PROBE_HEAP_FUNCTIONS_H
#define TACHBPF_PROBE_HEAP_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi_heap.h"
#include "probe/prober.h"

struct heap_function {
	const char *name;
	enum heap_shape shape;	/* a BPF program for each (bpf/heap.bpf.c) */
};

/*
 * All names; a file that has the first two is an allocator's. Of operator new and delete, only
 * those of an allocator itself are found: the C++ library's call malloc() and free().
 */
#define HEAP_FUNCTION_CNT 32
#define HEAP_FUNCTION_NEEDED 2
extern const struct heap_function heap_functions[HEAP_FUNCTION_CNT];

/* Does the function's return matter, too? */
bool heap_shape_returns(enum heap_shape shape);

/* Request all functions of all allocators from the prober; w->returns must be filled in. */
void heap_functions_want(struct prober_wanted *w);

#endif
