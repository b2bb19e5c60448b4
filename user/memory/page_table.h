/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * page_table.h - struct page_book and the table of its pages, for the files page_*.c of this room
 * that keep the book. Pages move when one is added or removed.
 */
#ifndef TACHBPF_PAGE_TABLE_H
#define TACHBPF_PAGE_TABLE_H

#include "base/hash_slots.h"
#include "memory/page_book.h"

/* Bits of struct page.key beside the address. */
#define KEY_USED 1
#define KEY_BLOCK 2		/* a huge page; its address is aligned to its size */

enum page_flags {
	PAGE_QUEUED = 1,	/* in page_book.fresh */
	PAGE_SAMPLED = 2,	/* a huge page whose fault was sampled: no neighbour of one */
};

/* One page, or huge page. Something is held, or a fault waits for its first answer, or both. */
struct page {
	uint64_t key;		/* its address and KEY_*; 0: a free slot */
	uint64_t frame;		/* of what is held: its first page frame; 0: not known */
	uint64_t name;		/* of what is held, in events: where it was when it was got */
	uint64_t held;		/* bytes; 0: nothing is held */
	uint64_t weight;	/* of the fault, bytes; 0: none waits */
	uint64_t time_ns;	/* ... and when it was */
	uint32_t held_stack;
	uint32_t stack, tid;	/* of the fault, and of a huge page that is held */
	uint16_t flags;		/* enum page_flags */
	uint16_t merged;	/* perf events that have chosen the same fault, but the first one */
};
_Static_assert(sizeof(struct page) == 64, "a page takes a cache line");

/* Addresses, in the order in which they are asked about. */
struct page_list {
	uint64_t *addrs;
	size_t at, cnt, cap;	/* at: the next one */
};

struct page_book {
	struct hash_slots pages;
	uint64_t seed;		/* of their hash */
	uint32_t page_bytes;
	const struct page_book_fns *fns;
	void *ctx;
	uint64_t held, untracked;	/* bytes; untracked: of pages that have no room here */
	uint64_t growth;	/* see page_book_set_growth() */
	size_t waiting;
	bool denied;
	uint64_t names;		/* of what is untracked: so many so far */
	uint32_t moves;		/* that have moved something */
	uint64_t move_work;	/* slots and addresses that moves have looked at in this round */
	struct page_list fresh;	/* pages whose fault nobody was asked about yet */
	struct page_list round;	/* all pages, sorted */
};

/* An address in a page -> the page's address. */
static inline uint64_t page_of(const struct page_book *b, uint64_t addr)
{
	return addr & ~(uint64_t)(b->page_bytes - 1);
}

static inline uint64_t page_addr(const struct page *p)
{
	return p->key & ~(uint64_t)(KEY_USED | KEY_BLOCK);
}

/* NULL: there is none. block: KEY_BLOCK, or 0: a base page. */
struct page *page_find(const struct page_book *b, uint64_t addr, unsigned int block);
/* Add one that is not there. NULL with errno: ENOSPC: the book is full; ENOMEM. */
struct page *page_add(struct page_book *b, uint64_t addr, unsigned int block);
void page_remove(struct page_book *b, struct page *p);
/* The next one in the table; NULL: no more. Start with *pos = 0. */
struct page *page_next(const struct page_book *b, size_t *pos);

/* Ask about it soon. Without memory it is asked about with all others. */
void page_queue(struct page_book *b, struct page *p);

/* Its fault gave the process so many bytes, which are held from now on. As fns->got. */
int page_hold(struct page_book *b, struct page *p, uint64_t bytes, uint64_t frame);
/* What it held is gone. As fns->gone. */
int page_let_go(struct page_book *b, struct page *p);
/* Its fault gave memory that is gone already: nobody saw it. */
int page_pass_by(struct page_book *b, struct page *p);
/* Its fault waits no more. */
void page_answered(struct page_book *b, struct page *p);

#endif
