// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * page_move.c - pages that their process moves to another address, or unmaps: page_book_move(),
 * page_book_unmapped(). See page_book.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/util.h"
#include "memory/page_table.h"

/* Limit on addresses and slots examined for moves in a round, so that no process costs us a CPU. */
#define WORK_MAX (4u << 20)

struct moved {
	struct page *pages;
	size_t cnt, cap;
};

static int collect_page(struct moved *m, const struct page *p)
{
	struct page *pages = m->pages;

	if (m->cnt == m->cap)
		pages = array_grow(m->pages, m->cnt, &m->cap, sizeof(*pages));
	if (!pages)
		return -ENOMEM;
	m->pages = pages;
	m->pages[m->cnt++] = *p;
	return 0;
}

/* By address: the range is small. */
static int find_each(const struct page_book *b, uint64_t addr, uint64_t bytes, struct moved *out)
{
	const unsigned int kinds[] = { 0, KEY_BLOCK };
	const struct page *p;
	uint64_t at;
	size_t i;
	int err = 0;

	for (at = addr; at < addr + bytes && !err; at += b->page_bytes)
		for (i = 0; i < ARRAY_SIZE(kinds) && !err; i++) {
			p = page_find(b, at, kinds[i]);
			err = p ? collect_page(out, p) : 0;
		}
	return err;
}

static int find_all(const struct page_book *b, uint64_t addr, uint64_t bytes, struct moved *out)
{
	const struct page *p;
	size_t pos = 0;
	int err = 0;

	while (!err && (p = page_next(b, &pos)))
		if (page_addr(p) - addr < bytes)
			err = collect_page(out, p);
	return err;
}

/* What was at the address before was unmapped. */
static int make_room(struct page_book *b, struct page *p)
{
	int err = p->held ? page_let_go(b, p) : 0;

	if (!err && p->weight)
		err = page_pass_by(b, p);
	page_answered(b, p);
	page_remove(b, p);
	return err;
}

static int put_page(struct page_book *b, const struct page *p, uint64_t addr)
{
	unsigned int block = p->key & KEY_BLOCK;
	struct page *at = page_find(b, addr, block);
	int err = at ? make_room(b, at) : 0;
	uint64_t key;

	at = page_add(b, addr, block);	/* there is space: p was removed */
	if (!at)
		return -ENOMEM;
	key = at->key;
	*at = *p;
	at->key = key;
	at->flags &= (uint16_t)~PAGE_QUEUED;
	if (at->weight)
		page_queue(b, at);
	return err;
}

/* Copy the pages in the range to out, within the limit. 0 or -ENOMEM. */
static int find_pages(struct page_book *b, uint64_t addr, uint64_t bytes, struct moved *out)
{
	uint64_t pages = bytes / b->page_bytes;

	if (addr + bytes < addr || !b->pages.cnt)
		return 0;
	b->move_work += pages < b->pages.cap ? pages : b->pages.cap;
	if (b->move_work > WORK_MAX)
		return 0;
	return pages < b->pages.cap ? find_each(b, addr, bytes, out) :
				      find_all(b, addr, bytes, out);
}

int page_book_move(struct page_book *b, uint64_t addr, uint64_t bytes, uint64_t to)
{
	struct moved m = { .cnt = 0 };
	int err = 0, end = 0;
	size_t i;

	addr = page_of(b, addr);
	to = page_of(b, to);
	if (to + bytes >= to && addr != to)
		err = find_pages(b, addr, bytes, &m);
	for (i = 0; i < m.cnt && !err; i++)
		page_remove(b, page_find(b, page_addr(&m.pages[i]), m.pages[i].key & KEY_BLOCK));
	b->moves += m.cnt != 0;
	/* All are added again: a page that is removed and not added would be held forever. */
	for (i = 0; i < m.cnt && !err; i++) {
		int its = put_page(b, &m.pages[i], page_addr(&m.pages[i]) - addr + to);

		end = end ? end : its;
	}
	free(m.pages);
	return err ? err : end;
}

/* What was held before is gone; a later fault waits for its answer. */
static int forget_page(struct page_book *b, struct page *p, uint64_t time_ns)
{
	if (!p->weight || p->time_ns <= time_ns)
		return make_room(b, p);
	return p->held ? page_let_go(b, p) : 0;
}

int page_book_unmapped(struct page_book *b, uint64_t addr, uint64_t bytes, uint64_t time_ns)
{
	struct moved m = { .cnt = 0 };
	int err = find_pages(b, page_of(b, addr), bytes, &m);
	size_t i;

	for (i = 0; i < m.cnt && !err; i++)
		err = forget_page(b, page_find(b, page_addr(&m.pages[i]),
					       m.pages[i].key & KEY_BLOCK), time_ns);
	free(m.pages);
	return err;
}
