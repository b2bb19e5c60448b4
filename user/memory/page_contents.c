// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * page_contents.c - see page_contents.h.
 *
 * A look belongs to a page with the same address and the same fault. If the page has moved or gone,
 * or was touched again, the look is dropped at its next turn. Answers come from a worker that may
 * be compromised: they have no more effect than being believed.
 */
#include "memory/page_contents.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/hash_secret.h"
#include "base/util.h"
#include "memory/page_table.h"

/* A transparent huge page, of which one base page was looked at. */
#define HUGE_BYTES (2ull << 20)

void page_note_soon(struct page_book *b, const struct page *p)
{
	if (b->looks.soon_cnt < PAGES_SOON_MAX)
		b->looks.soon[b->looks.soon_cnt++] = page_addr(p);
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

size_t page_book_ask_soon(struct page_book *b, uint64_t now_ns, uint64_t *addrs, size_t max)
{
	const struct page *p;
	size_t i, n = 0;

	for (i = 0; i < b->looks.soon_cnt && n < max; i++) {
		p = page_find(b, b->looks.soon[i], 0);
		if (p && p->weight && now_ns - p->time_ns < PAGE_SOON_NS)
			addrs[n++] = b->looks.soon[i];
	}
	b->looks.soon_cnt = 0;
	qsort(addrs, n, sizeof(*addrs), by_address);
	return n;
}

size_t page_book_ask_again(struct page_book *b, uint32_t *pos, uint64_t *addrs, size_t max)
{
	size_t n = 0;

	while (n < max && *pos < b->looks.cnt)
		addrs[n++] = b->looks.list[(*pos)++].first.addr;
	if (!n)
		*pos = 0;
	qsort(addrs, n, sizeof(*addrs), by_address);
	return n;
}

/* The page of a look, with the same fault: it holds memory, or waits for its first answer. */
static const struct page *page_of_look(const struct page_book *b, const struct page_look *l)
{
	uint64_t addr = l->first.addr;
	const struct page *p = page_find(b, page_of(b, addr), 0);

	if (!p)
		p = page_find(b, addr & ~(HUGE_BYTES - 1), KEY_BLOCK);
	return p && p->time_ns == l->time_ns && (!p->held || !p->weight) ? p : NULL;
}

/* Returns the place of a new look: the next one, or that of one that is given up; NULL: none. */
static struct page_look *place_of_new(struct page_book *b, int *err)
{
	struct page_looks *l = &b->looks;
	uint64_t at;

	l->seen++;
	if (l->cnt == PAGE_LOOKS_MAX) {
		at = hash_secret_mix(l->seen ^ b->seed, HASH_SECRET_B) % l->seen;
		return at < PAGE_LOOKS_MAX ? &l->list[at] : NULL;
	}
	if (l->cnt == l->cap) {
		struct page_look *list = array_grow(l->list, l->cnt, &l->cap, sizeof(*list));

		if (!list) {
			*err = -ENOMEM;
			return NULL;
		}
		l->list = list;
	}
	return &l->list[l->cnt++];
}

static int take_first_look(struct page_book *b, const struct page_content *c, uint64_t read_ns)
{
	struct page *p = page_find(b, page_of(b, c->addr), 0);
	struct page_look *l;
	int err = 0;

	if (!p || p->flags & PAGE_LOOKED_AT || read_ns < p->time_ns ||
	    read_ns - p->time_ns > PAGE_SOON_NS || !page_content_given(c))
		return 0;
	p->flags |= PAGE_LOOKED_AT;
	l = place_of_new(b, &err);
	if (!l)
		return err;
	*l = (struct page_look){ .time_ns = p->time_ns, .first = *c };
	page_content_begin(&l->first);
	return 0;
}

/* If nothing is known now, what was known stays. */
static void look_again(struct page_look *l, const struct page_content *c)
{
	struct page_fate fate = page_content_compare(&l->first, c);

	if (fate.own || fate.reused || fate.unused)
		l->fate = fate;
}

static int by_look(const void *a, const void *b)
{
	return by_address(&((const struct page_content *)a)->addr,
			  &((const struct page_content *)b)->addr);
}

/* They are sorted by address, looks are not. Drops looks of pages that have gone. */
static void take_second_looks(struct page_book *b, const struct page_content *contents, size_t cnt)
{
	struct page_looks *l = &b->looks;
	const struct page_content *c;
	size_t i = 0;

	while (cnt && i < l->cnt) {
		const struct page_content wanted = { .addr = l->list[i].first.addr };

		c = bsearch(&wanted, contents, cnt, sizeof(*contents), by_look);
		if (c && !page_of_look(b, &l->list[i])) {
			l->list[i] = l->list[--l->cnt];
			continue;
		}
		if (c)
			look_again(&l->list[i], c);
		i++;
	}
}

int page_book_take_contents(struct page_book *b, bool soon, const struct page_content *contents,
			    size_t cnt, uint64_t read_ns)
{
	size_t i;
	int err = 0;

	if (!soon)
		take_second_looks(b, contents, cnt);
	for (i = 0; soon && i < cnt && !err; i++)
		err = take_first_look(b, &contents[i], read_ns);
	return err;
}

/* ---- sums ---- */

static uint64_t share_of(uint64_t bytes, unsigned int part, unsigned int all)
{
	return bytes / all * part + bytes % all * part / all;
}

/* Returns false if nothing is known of the page. */
static bool fate_of_look(const struct page_book *b, const struct page_look *l,
			 struct stack_fate *out)
{
	const struct page *p = page_of_look(b, l);
	unsigned int all = (unsigned int)l->fate.own + l->fate.reused + l->fate.unused;

	if (!p || !p->held || !all)
		return false;
	*out = (struct stack_fate){
		.stack = p->held_stack, .pages = 1, .own = share_of(p->held, l->fate.own, all),
		.reused = share_of(p->held, l->fate.reused, all),
		.unused = share_of(p->held, l->fate.unused, all),
	};
	return true;
}

static int by_stack(const void *a, const void *b)
{
	const struct stack_fate *x = a, *y = b;

	return (x->stack > y->stack) - (x->stack < y->stack);
}

/* Joins those of the same stack. Returns their number. */
static size_t join_stacks(struct stack_fate *list, size_t cnt)
{
	size_t i, n = 0;

	qsort(list, cnt, sizeof(*list), by_stack);
	for (i = 0; i < cnt; i++) {
		if (!n || list[n - 1].stack != list[i].stack) {
			list[n++] = list[i];
			continue;
		}
		list[n - 1].pages += list[i].pages;
		list[n - 1].own = add_capped(list[n - 1].own, list[i].own);
		list[n - 1].reused = add_capped(list[n - 1].reused, list[i].reused);
		list[n - 1].unused = add_capped(list[n - 1].unused, list[i].unused);
	}
	return n;
}

int page_book_fates(const struct page_book *b, struct stack_fate **out, size_t *cnt)
{
	struct stack_fate *list = calloc(b->looks.cnt + 1, sizeof(*list));
	size_t i, n = 0;

	*out = list;
	*cnt = 0;
	if (!list)
		return -ENOMEM;
	for (i = 0; i < b->looks.cnt; i++)
		n += fate_of_look(b, &b->looks.list[i], &list[n]);
	*cnt = join_stacks(list, n);
	return 0;
}
