/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* greenlets_scan.h - the objects of some types in the memory of a process. */
#ifndef TACHBPF_HEAP_GREENLETS_SCAN_H
#define TACHBPF_HEAP_GREENLETS_SCAN_H

#include "heap/heap_mem.h"

/* Limit on types. */
#define GREENLETS_SCAN_TYPES_MAX 512u

/*
 * Call found() with each address at whose word `type_at` bytes further on is the address of one of
 * these types: an object, or what was one. Returns false to end. Reads the memory in which objects
 * are, except pages that are not there. 0; -E2BIG: a limit of mem ended it, found() did, or there
 * are more mappings; other -errno.
 */
int greenlets_scan(struct heap_mem *mem, const uint64_t *types, uint32_t cnt, uint32_t type_at,
		   bool (*found)(void *ctx, uint64_t addr), void *ctx);

#endif
