// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* page_ask.c - which pages must be asked about: page_book_ask(). See page_book.h. */
#include <stdlib.h>

#include "base/util.h"
#include "memory/page_table.h"

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Returns the number without duplicates. */
static size_t sort_addrs(uint64_t *addrs, size_t cnt)
{
	size_t i, n = 0;

	qsort(addrs, cnt, sizeof(*addrs), by_address);
	for (i = 0; i < cnt; i++)
		if (!n || addrs[i] != addrs[n - 1])
			addrs[n++] = addrs[i];
	return n;
}

static size_t ask_fresh(struct page_book *b, uint64_t *addrs, size_t max)
{
	struct page_list *l = &b->fresh;
	struct page *p;
	size_t n = 0;

	while (n < max && l->at < l->cnt) {
		p = page_find(b, l->addrs[l->at++], 0);
		if (!p || !(p->flags & PAGE_QUEUED))
			continue;	/* it was moved, or asked about with all others */
		p->flags &= (uint16_t)~PAGE_QUEUED;
		if (p->weight)
			addrs[n++] = page_addr(p);
	}
	return sort_addrs(addrs, n);
}

/* If out of memory, the round has no pages. */
static void begin_round(struct page_book *b)
{
	struct page_list *l = &b->round;
	struct page *p;
	size_t pos = 0;

	b->move_work = 0;
	l->at = l->cnt = 0;
	if (l->cap < b->pages.cnt) {
		free(l->addrs);
		l->addrs = malloc(b->pages.cnt * sizeof(*l->addrs));
		l->cap = l->addrs ? b->pages.cnt : 0;
	}
	while (l->cnt < l->cap && (p = page_next(b, &pos))) {
		p->flags &= (uint16_t)~PAGE_QUEUED;
		l->addrs[l->cnt++] = page_addr(p);
	}
	if (l->cnt)
		l->cnt = sort_addrs(l->addrs, l->cnt);
}

size_t page_book_ask(struct page_book *b, bool all, uint64_t *pos, uint64_t *addrs, size_t max)
{
	struct page_list *l = &b->round;
	size_t n = 0;

	if (!all)
		return ask_fresh(b, addrs, max);
	if (!*pos)
		begin_round(b);
	while (n < max && l->at < l->cnt)
		addrs[n++] = l->addrs[l->at++];
	*pos = l->at < l->cnt ? l->at : UINT64_MAX;
	return n;
}
