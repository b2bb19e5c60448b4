/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * page_tables.h - the simulated machine's physical memory, as the kernel sees it: the page tables
 * of the target and its pages, which the direct map shows. Only tests include it.
 *
 * kernel_words() finds a kernel's structure where the test has it. Without page_tables_build() it
 * finds nothing else. What is not there is 0.
 */
#ifndef HOSTBPF_PAGE_TABLES_H
#define HOSTBPF_PAGE_TABLES_H

#include "host.h"

/* Bits of an entry that this file sets, or a test. */
#define ENTRY_PRESENT 1ull
#define ENTRY_WRITE (1ull << 1)
#define ENTRY_USER (1ull << 2)
#define ENTRY_ACCESSED (1ull << 5)
#define ENTRY_DIRTY (1ull << 6)

#define TABLE_MIB2 (2ull << 20)
#define TABLE_GIB (1ull << 30)
/* The top table is so many GiB above the beginning of physical memory. */
#define TABLES_GIB 5

struct page_tables {
	u64 loads;	/* calls of kernel_words() for the direct map since the tables were built */
	/* Unless NULL: called at each of them before anything is read. Building sets it to NULL. */
	void (*before_load)(u64 addr);
};
extern struct page_tables page_tables;

/*
 * Builds page tables of 4 or 5 levels with the pages that are mapped now, and sets direct_map and
 * host.mm.pgd. encrypted: a bit that all entries have. Pages above what so many levels reach are
 * left out. To be called again after a page was mapped or unmapped.
 */
void page_tables_build(int levels, u64 encrypted);
/* One page has all of this range: bytes is TABLE_MIB2 or TABLE_GIB, and addr a multiple of it. */
void page_tables_join(u64 addr, u64 bytes);
/*
 * The entry for this address in the table whose entries stand for so many bytes each: 4096,
 * TABLE_MIB2, and so on. A test may change it. Ends the test if there is no such table.
 */
u64 *page_tables_entry(u64 addr, u64 bytes);
/* Where the direct map has that entry. */
u64 page_tables_entry_at(u64 addr, u64 bytes);
/* The reverse; NULL: no table is there. */
u64 *page_tables_loaded(u64 addr);
/* Where the direct map begins. */
u64 page_tables_base(void);

#endif
