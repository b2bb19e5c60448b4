// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * page_book.c - see page_book.h: creating and ending the book, faults, questions, moves.
 * page_take.c takes answers and knows huge pages.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/util.h"
#include "memory/page_table.h"

/*
 * Several perf events can choose the same fault: their records follow one another, as soon as the
 * stack was walked. The fault then stands for all their weights.
 */
#define SAME_FAULT_NS 100000u
#define SAME_FAULT_MAX 2

struct page_book *page_book_new(uint32_t page_bytes, const struct page_book_fns *fns, void *ctx)
{
	struct page_book *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->page_bytes = page_bytes;
	b->fns = fns;
	b->ctx = ctx;
	b->growth = UINT64_MAX;
	if (getrandom(&b->seed, sizeof(b->seed), GRND_NONBLOCK) != sizeof(b->seed))
		b->seed = (uintptr_t)b;
	return b;
}

void page_book_free(struct page_book *b)
{
	if (!b)
		return;
	hash_slots_free(&b->pages);
	free(b->fresh.addrs);
	free(b->round.addrs);
	free(b->looks.list);
	free(b);
}

static bool is_same_fault(const struct page *p, const struct page_touch *t)
{
	return p->tid == t->tid && p->stack == t->stack && p->merged < SAME_FAULT_MAX &&
	       t->time_ns >= p->time_ns && t->time_ns - p->time_ns < SAME_FAULT_NS;
}

/* There is no space for it: it counts as held forever. */
static int keep_untracked(struct page_book *b, const struct page_touch *t)
{
	uint64_t name = PAGE_NAME_UNTRACKED | b->names++ << 12;
	int err = b->fns->got(b->ctx, name, t->weight, t);

	b->held += t->weight;
	b->untracked += t->weight;
	return err ? err : -ENOSPC;
}

/* What was held before this fault was either the same page, or is gone: nobody can tell. */
static int hold_unasked(struct page_book *b, struct page *p)
{
	int err = p->held ? 0 : page_hold(b, p, p->weight, 0);

	page_answered(b, p);
	return err;
}

int page_book_touch(struct page_book *b, const struct page_touch *t)
{
	uint64_t addr = page_of(b, t->addr);
	struct page *p = page_find(b, addr, 0);
	int err = 0;

	if (!t->weight)
		return 0;
	if (p && p->weight && is_same_fault(p, t)) {
		p->weight += t->weight;
		p->merged++;
		return 0;
	}
	if (p && p->weight)
		err = page_pass_by(b, p);
	if (err)
		return err;
	if (!p)
		p = page_add(b, addr, 0);
	if (!p)
		return errno == ENOSPC ? keep_untracked(b, t) : -ENOMEM;
	b->waiting += !p->weight;
	if (!b->least || t->weight < b->least)
		b->least = t->weight;
	p->weight = t->weight;
	p->time_ns = t->time_ns;
	p->stack = t->stack;
	p->tid = t->tid;
	p->merged = 0;
	p->flags &= (uint16_t)~PAGE_LOOKED_AT;
	if (b->denied)
		return hold_unasked(b, p);
	page_queue(b, p);
	page_note_soon(b, p);
	return 0;
}

int page_book_end(struct page_book *b)
{
	struct page *p;
	size_t pos = 0;
	int err = 0;

	while (!err && b->waiting && (p = page_next(b, &pos)))
		if (p->weight)
			err = hold_unasked(b, p);
	return err;
}

int page_book_deny(struct page_book *b)
{
	b->denied = true;
	return page_book_end(b);
}

void page_book_set_growth(struct page_book *b, uint64_t bytes)
{
	b->growth = bytes;
}

uint64_t page_book_held(const struct page_book *b)
{
	return b->held;
}

uint64_t page_book_unchecked(const struct page_book *b)
{
	return b->denied ? b->held : b->untracked;
}

size_t page_book_pages(const struct page_book *b)
{
	return b->pages.cnt;
}

uint64_t page_book_waiting_bytes(const struct page_book *b, uint64_t until_ns)
{
	const struct page *p;
	uint64_t sum = 0;
	size_t pos = 0;

	while (b->waiting && (p = page_next(b, &pos)))
		if (p->weight && !p->held && p->time_ns <= until_ns)
			sum += p->weight;
	return sum;
}

/* ---- which pages must be asked about ---- */

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

/* ---- pages that their process moves to another address, or unmaps ---- */

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

/* Remember the move, for answers that are older than it. */
static void note_move(struct page_book *b, uint64_t to, uint64_t bytes, uint64_t time_ns)
{
	b->recent[b->moves++ % MOVES_KEPT] = (struct page_move){ to, bytes, time_ns };
}

int page_book_move(struct page_book *b, uint64_t addr, uint64_t bytes, uint64_t to,
		   uint64_t time_ns)
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
	if (m.cnt)
		note_move(b, to, bytes, time_ns);
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
