// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* page_table.c - see page_table.h. Targets choose addresses, so the hash has a secret seed. */
#include "memory/page_table.h"

#include "base/hash_secret.h"
#include "base/util.h"

/*
 * The low bits of a name are the number of moves, because other pages may be where moved ones were;
 * and whether it is a huge page, where a base page may be later.
 */
#define NAME_MOVES 0x7ffu
#define NAME_BLOCK 0x800u

static bool is_used(const void *slot)
{
	return ((const struct page *)slot)->key;
}

static uint64_t hash_of(const void *record, const void *ctx)
{
	const struct page_book *b = ctx;

	return hash_secret_mix(((const struct page *)record)->key ^ b->seed, HASH_SECRET_A);
}

static bool is_same(const void *slot, const void *key, const void *ctx)
{
	(void)ctx;
	return ((const struct page *)slot)->key == ((const struct page *)key)->key;
}

static const struct hash_kind kind = {
	.bytes = sizeof(struct page), .cap_min = 64, .used = is_used, .hash = hash_of,
	.same = is_same,
};

struct page *page_find(const struct page_book *b, uint64_t addr, unsigned int block)
{
	const struct page wanted = { .key = addr | KEY_USED | block };
	struct page *p;

	if (!b->pages.cap)
		return NULL;
	p = hash_slots_find(&b->pages, &kind, &wanted, b);
	return p->key ? p : NULL;
}

struct page *page_add(struct page_book *b, uint64_t addr, unsigned int block)
{
	const struct page added = { .key = addr | KEY_USED | block };
	struct page *p;

	if (b->pages.cnt >= PAGE_BOOK_MAX || hash_slots_reserve(&b->pages, &kind, b)) {
		errno = b->pages.cnt >= PAGE_BOOK_MAX ? ENOSPC : ENOMEM;
		return NULL;
	}
	p = hash_slots_free_slot(&b->pages, &kind, &added, b);
	*p = added;
	b->pages.cnt++;
	return p;
}

void page_remove(struct page_book *b, struct page *p)
{
	hash_slots_remove(&b->pages, &kind, p, b);
}

struct page *page_next(const struct page_book *b, size_t *pos)
{
	struct page *p;

	while (*pos < b->pages.cap) {
		p = hash_slots_at(&b->pages, &kind, (*pos)++);
		if (p->key)
			return p;
	}
	return NULL;
}

void page_queue(struct page_book *b, struct page *p)
{
	struct page_list *l = &b->fresh;
	uint64_t *addrs;

	if (l->at == l->cnt)
		l->at = l->cnt = 0;
	if (p->flags & PAGE_QUEUED || l->cnt >= PAGE_BOOK_MAX)
		return;
	if (l->cnt == l->cap) {
		addrs = array_grow(l->addrs, l->cnt, &l->cap, sizeof(*addrs));
		if (!addrs)
			return;
		l->addrs = addrs;
	}
	l->addrs[l->cnt++] = page_addr(p);
	p->flags |= PAGE_QUEUED;
}

static int page_got(struct page_book *b, const struct page *p, uint64_t name, uint64_t bytes)
{
	const struct page_touch touch = { .addr = page_addr(p), .weight = p->weight,
					  .time_ns = p->time_ns, .stack = p->stack,
					  .tid = p->tid };

	return b->fns->got(b->ctx, name, bytes, &touch);
}

/* While a page is held, no other one gets its name (within 2,048 moves). */
static uint64_t new_name(const struct page_book *b, const struct page *p)
{
	return page_addr(p) | (b->moves & NAME_MOVES) | (p->key & KEY_BLOCK ? NAME_BLOCK : 0);
}

int page_hold(struct page_book *b, struct page *p, uint64_t bytes, uint64_t frame)
{
	p->name = new_name(b, p);
	p->held = bytes;
	p->held_stack = p->stack;
	p->frame = frame;
	b->held += bytes;
	return page_got(b, p, p->name, bytes);
}

int page_let_go(struct page_book *b, struct page *p)
{
	uint64_t bytes = p->held;

	b->held -= bytes;
	p->held = 0;
	return b->fns->gone(b->ctx, p->name, bytes, p->held_stack);
}

/* Something else, with its own name, may be held at this address. */
int page_pass_by(struct page_book *b, struct page *p)
{
	uint64_t name = PAGE_NAME_UNTRACKED | b->names++ << 12;
	int err = page_got(b, p, name, p->weight);

	return err ? err : b->fns->gone(b->ctx, name, p->weight, p->stack);
}

void page_answered(struct page_book *b, struct page *p)
{
	b->waiting -= p->weight != 0;
	p->weight = 0;
	p->merged = 0;
}
