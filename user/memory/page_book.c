// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * page_book.c - see page_book.h: faults, creating and ending the book. page_ask.c asks, page_take.c
 * takes answers and knows huge pages, page_move.c moves.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

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
	p->weight = t->weight;
	p->time_ns = t->time_ns;
	p->stack = t->stack;
	p->tid = t->tid;
	p->merged = 0;
	if (b->denied)
		return hold_unasked(b, p);
	page_queue(b, p);
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
