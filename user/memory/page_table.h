/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * page_table.h - struct page_book and the table of its pages, for the files page_*.c of this room
 * that implement the book. Pages move when one is added or removed.
 */
#ifndef TACHBPF_PAGE_TABLE_H
#define TACHBPF_PAGE_TABLE_H

#include "base/hash_slots.h"
#include "memory/page_book.h"
#include "memory/page_content.h"

/* Bits of struct page.key next to the address. */
#define KEY_USED 1
#define KEY_BLOCK 2		/* a huge page; its address is aligned to its size */

enum page_flags {
	PAGE_QUEUED = 1,	/* in page_book.fresh */
	PAGE_LOOKED_AT = 4,	/* page_contents.c has what was in it after this fault */
	PAGE_SAMPLED = 2,	/* a huge page whose fault was sampled, not a neighbour of one */
};

/* One page, or huge page. It holds memory, or its fault waits for its first answer, or both. */
struct page {
	uint64_t key;		/* its address and KEY_*; 0: a free slot */
	uint64_t frame;		/* of held memory: its first page frame; 0: unknown */
	uint64_t name;		/* of held memory, in events: its address when it was allocated */
	uint64_t held;		/* bytes; 0: nothing is held */
	uint64_t weight;	/* of the fault, bytes; 0: none waits */
	uint64_t time_ns;	/* ... and when it was */
	uint32_t held_stack;
	uint32_t stack, tid;	/* of the fault, and of a huge page that is held */
	uint16_t flags;		/* enum page_flags */
	uint16_t merged;	/* further perf events that have chosen the same fault */
};
_Static_assert(sizeof(struct page) == 64, "a page takes a cache line");

/* Addresses, in the order in which they are asked about. */
struct page_list {
	uint64_t *addrs;
	size_t at, cnt, cap;	/* at: the next one */
};

/* Pages have moved to this range. */
struct page_move {
	uint64_t addr, bytes, time_ns;
};
#define MOVES_KEPT 32

/* What was in a page soon after its fault, and what has become of it: page_contents.h. */
struct page_look {
	uint64_t time_ns;	/* of the fault */
	struct page_content first;
	struct page_fate fate;	/* at the last look; all 0: there was none */
};

#define PAGES_SOON_MAX 16

struct page_looks {
	struct page_look *list;
	size_t cnt, cap;
	uint64_t seen;		/* first looks so far */
	size_t soon_cnt;
	uint64_t soon[PAGES_SOON_MAX];	/* pages whose fault has just been seen */
};

struct page_book {
	struct hash_slots pages;
	uint64_t seed;		/* of their hash */
	uint32_t page_bytes;
	const struct page_book_fns *fns;
	void *ctx;
	uint64_t held, untracked;	/* bytes; untracked: of pages that had no space */
	uint64_t growth;	/* see page_book_set_growth() */
	uint64_t least;		/* the least weight of a fault so far, bytes; 0: none yet */
	uint64_t expected;	/* see page_take.c: faults that no event chose, at held pages */
	uint64_t replaced;	/* ... and frames that were replaced without a chosen fault */
	size_t waiting;
	bool denied;
	uint64_t names;		/* number of untracked names so far */
	uint32_t moves;		/* number of moves that moved something */
	struct page_move recent[MOVES_KEPT];	/* the last of them, a ring: moves % MOVES_KEPT */
	uint64_t move_work;	/* slots and addresses searched for moves in this round */
	struct page_list fresh;	/* pages whose fault was not asked about yet */
	struct page_list round;	/* all pages, sorted */
	struct page_looks looks;
};

/* The page's address for any address in it. */
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
/* Add one that is not in the table. NULL with errno: ENOSPC: the book is full; ENOMEM. */
struct page *page_add(struct page_book *b, uint64_t addr, unsigned int block);
void page_remove(struct page_book *b, struct page *p);
/* The next page in the table; NULL: no more. Start with *pos = 0. */
struct page *page_next(const struct page_book *b, size_t *pos);

/* Ask about it soon. If out of memory, it is asked about with all others. */
void page_queue(struct page_book *b, struct page *p);

/* Its fault has been seen: page_book_ask_soon(). */
void page_note_soon(struct page_book *b, const struct page *p);

/* Its fault gave the process this many bytes, which are held from now on. As fns->got. */
int page_hold(struct page_book *b, struct page *p, uint64_t bytes, uint64_t frame);
/* The memory that it held is gone. As fns->gone. */
int page_let_go(struct page_book *b, struct page *p);
/* Its fault gave memory that is already gone, before it was seen. */
int page_pass_by(struct page_book *b, struct page *p);
/* Its fault no longer waits. */
void page_answered(struct page_book *b, struct page *p);

#endif
