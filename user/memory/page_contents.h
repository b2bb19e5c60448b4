/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * page_contents.h - what has become of the memory of some pages of a page_book since their fault:
 * whether the blocks that are in it now are those that were made there at first.
 *
 * The first look must come before the first user can have freed its blocks: at most PAGE_SOON_NS
 * after the fault. So only some pages are looked at: those whose fault was passed on at once. They
 * stand for the others of their stack. If there are more than PAGE_LOOKS_MAX, a random choice of
 * them is kept.
 */
#ifndef TACHBPF_PAGE_CONTENTS_H
#define TACHBPF_PAGE_CONTENTS_H

#include "memory/page_book.h"
#include "memory/page_content.h"

#define PAGE_SOON_NS 1000000ull
/* Limit on pages of a process whose contents are kept: 184 bytes each. */
#define PAGE_LOOKS_MAX 4096

/* Of what a stack holds: bytes of the pages that were looked at again. */
struct stack_fate {
	uint32_t stack, pages;	/* pages: number of those */
	uint64_t own;		/* still in a block that was there at first */
	uint64_t reused;	/* in a block that was made later */
	uint64_t unused;	/* in no block: the allocator keeps it */
};

/*
 * Fill addrs, sorted, with pages whose fault was at most PAGE_SOON_NS ago and was not asked about
 * by this function. Forgets all other faults so far. Returns the number, at most max.
 */
size_t page_book_ask_soon(struct page_book *b, uint64_t now_ns, uint64_t *addrs, size_t max);
/*
 * Fill addrs, sorted, with the next pages that were looked at before; *pos: where to go on (0: from
 * the start). Returns the number; 0: these were all, *pos is 0.
 */
size_t page_book_ask_again(struct page_book *b, uint32_t *pos, uint64_t *addrs, size_t max);

/* Take answers; soon: of page_book_ask_soon(). read_ns: when they were read. 0 or -ENOMEM. */
int page_book_take_contents(struct page_book *b, bool soon, const struct page_content *contents,
			    size_t cnt, uint64_t read_ns);

/* The sums of all stacks, by stack; the caller frees *out. 0 or -ENOMEM. */
int page_book_fates(const struct page_book *b, struct stack_fate **out, size_t *cnt);

#endif
