/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* greenlets_scan.h - the objects of some types in the memory of a process. */
#ifndef TACHBPF_HEAP_GREENLETS_SCAN_H
#define TACHBPF_HEAP_GREENLETS_SCAN_H

#include "heap/heap_mem.h"

/* Limit on types. */
#define GREENLETS_SCAN_TYPES_MAX 512u
/* A larger mapping is not the interpreter's: asking which pages are there would take too long. */
#define GREENLETS_MAP_BYTES_MAX (256ull << 30)

/*
 * Call found() with each address at whose word `type_at` bytes further on is the address of one of
 * these types: an object, or what was one; found() returns false to end. Reads these mappings,
 * except pages that are not there. 0; -E2BIG: a limit of mem ended it, found() did, or some
 * mappings are left out, because they are too large.
 */
int greenlets_scan(struct heap_mem *mem, const struct heap_maps *maps, const uint64_t *types,
		   uint32_t cnt, uint32_t type_at, bool (*found)(void *ctx, uint64_t addr),
		   void *ctx);

#endif
