/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * page_huge.h - huge pages of a page_book. The fault of a huge page is sampled as rarely as that of
 * a base page, so those next to a sampled one, which nobody asked about, are taken for memory of
 * the nearest sampled stack. A huge page that the kernel has made of base pages which are in the
 * book (khugepaged) is not held a second time: its base pages stay what is held.
 */
#ifndef TACHBPF_PAGE_HUGE_H
#define TACHBPF_PAGE_HUGE_H

#include "memory/page_table.h"

/* Has the fault of p, which holds nothing, brought a whole huge page? */
bool page_is_huge_fault(const struct page_book *b, const struct page *p,
			const struct page_state *s);
/* Take such an answer: p is removed, and its huge page held. As fns. */
int page_huge_fault(struct page_book *b, struct page *p, const struct page_state *s);
/* Take the neighbours of the huge pages in these answers, which are sorted. As fns, or -ENOMEM. */
int page_huge_neighbours(struct page_book *b, const struct page_state *states, size_t cnt,
			 uint64_t asked_ns);

#endif
