/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pages.h - reads the memory of a process a page at a time, and caches pages.
 *
 * For many small reads of threads that do not run meanwhile, or in walks that are checked
 * afterwards: what is read may be as old as the cache. A read costs a system call; most reads of a
 * walk are in pages that it has read before.
 */
#ifndef TACHBPF_CPYTHON_PAGES_H
#define TACHBPF_CPYTHON_PAGES_H

#include "cpython/code.h"

#define PAGES_BYTES 4096u
#define PAGES_SLOTS 256u
/*
 * A page has a choice of this many slots, and takes the one that was least recently used: the pages
 * of one thread after the other do not displace those that are read for every thread.
 */
#define PAGES_WAYS 4u

struct pages {
	struct target_mem mem;	/* to read from */
	uint64_t numbers[PAGES_SLOTS];	/* 1 + the page's number; 0: the slot is free */
	uint64_t used[PAGES_SLOTS];	/* number of the read that has last used it */
	uint64_t reads;
	uint8_t bytes[PAGES_SLOTS][PAGES_BYTES];
};

/* Drop all pages, and read from *mem, which is copied, from now on. */
void pages_begin(struct pages *p, const struct target_mem *mem);

/* As target_mem.read; ctx: a struct pages. A page not readable as a whole is read in parts. */
int pages_read(void *ctx, uint64_t addr, void *buf, size_t len);

#endif
