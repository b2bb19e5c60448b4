// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * page_take.c - takes answers: page_book_take(). See page_book.h. Answers are a worker's, which may
 * have been attacked: any of them may be false, and does no more harm than to be believed.
 */
#include "memory/page_huge.h"

static bool is_memory(const struct page_state *s)
{
	return s->kind == PAGE_ANON || s->kind == PAGE_HUGE || s->kind == PAGE_SWAPPED;
}

/*
 * Is what p holds still there? A page that was swapped out comes back with another frame; one that
 * has become part of a huge page has another, too, unless a fault at its address says that the
 * huge page is new. Without frames a fault is a new page's.
 */
static bool stays(const struct page *p, const struct page_state *s)
{
	if (!is_memory(s))
		return false;
	if (s->kind == PAGE_SWAPPED)
		return true;
	if (s->kind == PAGE_HUGE && s->frame != p->frame)
		return !p->weight;
	if (!s->frame || !p->frame)
		return !p->weight;
	return s->frame == p->frame;
}

/* The first answer about the fault of a page that holds nothing. */
static int take_first(struct page_book *b, struct page *p, const struct page_state *s)
{
	if (s->kind == PAGE_GONE)
		return page_pass_by(b, p);
	return is_memory(s) ? page_hold(b, p, p->weight, s->frame) : 0;
}

static int take_base(struct page_book *b, struct page *p, const struct page_state *s)
{
	int err = 0;

	if (p->held && stays(p, s))
		p->frame = s->frame;
	else if (p->held)
		err = page_let_go(b, p);
	if (!err && p->weight && !p->held) {
		if (page_is_huge_fault(b, p, s))
			return page_huge_fault(b, p, s);
		err = take_first(b, p, s);
	}
	page_answered(b, p);
	if (!p->held)
		page_remove(b, p);
	return err;
}

static int take(struct page_book *b, const struct page_state *s, uint64_t asked_ns)
{
	uint64_t addr = page_of(b, s->addr);
	struct page *p = page_find(b, addr, KEY_BLOCK);
	int err = 0;

	if (p && is_memory(s) && (!s->frame || !p->frame || s->frame == p->frame)) {
		p->frame = s->frame;
	} else if (p) {
		err = page_let_go(b, p);
		page_remove(b, p);
	}
	p = page_find(b, addr, 0);
	if (err || !p || (p->weight && p->time_ns > asked_ns))
		return err;
	return take_base(b, p, s);
}

int page_book_take(struct page_book *b, const struct page_state *states, size_t cnt,
		   uint64_t asked_ns)
{
	size_t i;
	int err = 0;

	for (i = 0; i < cnt && !err; i++)
		err = take(b, &states[i], asked_ns);
	return err ? err : page_huge_neighbours(b, states, cnt, asked_ns);
}
