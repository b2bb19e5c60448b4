/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * page_book.h - the pages of one process with a sampled fault: which stack touched each of them,
 * and which are still there.
 *
 * A page is entered when its fault is seen, and asked about soon (page_check.h): the answer says
 * whether the fault gave the process memory at all, and how much (a huge page). From then on it is
 * held until an answer says that it is gone or replaced by another page, or until another fault at
 * its address is seen. No event is passed on before the first answer, except by page_book_end().
 */
#ifndef TACHBPF_PAGE_BOOK_H
#define TACHBPF_PAGE_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct page_book;

/* Limit on pages of a process: 16 GiB at one page in 64 KiB. Further ones count as unchecked. */
#define PAGE_BOOK_MAX (256 * 1024)
/* Names of pages that were never kept here are not addresses: they start here. */
#define PAGE_NAME_UNTRACKED (1ull << 63)

/* What a page stands for. */
struct page_touch {
	uint64_t addr;		/* any address within the page */
	uint64_t weight;	/* bytes that it stands for if it is a base page */
	uint64_t time_ns;	/* CLOCK_MONOTONIC */
	uint32_t stack, tid;
};

/*
 * Events of pages. addr names the memory until it is gone: the page's address at its fault, with
 * the number of previous moves in its low bits (bit 11: a huge page). Functions return 0 or -errno,
 * which the function that called them returns.
 */
struct page_book_fns {
	int (*got)(void *ctx, uint64_t addr, uint64_t bytes, const struct page_touch *touch);
	int (*gone)(void *ctx, uint64_t addr, uint64_t bytes, uint32_t stack);
};

/* Kind of an address according to /proc/PID/pagemap and /proc/kpageflags. */
enum page_kind {
	PAGE_GONE = 0,		/* nothing is there */
	PAGE_ANON,		/* private memory of base page size */
	PAGE_HUGE,		/* part of a transparent huge page */
	PAGE_SWAPPED,
	PAGE_ZERO,		/* the kernel's zero page: read, never written */
	PAGE_OTHER,		/* of a file, or shared */
};
struct page_state {
	uint64_t addr;		/* as in the question */
	uint64_t frame;		/* page frame number; 0: unknown */
	uint8_t kind;		/* enum page_kind */
	uint8_t pad;
	uint16_t huge_before, huge_after;	/* huge pages adjacent to its own, at lower and
						 * higher addresses, not asked about */
	uint16_t pad2;
	uint32_t huge_bytes;	/* size of a huge page, a power of two; 0: unknown */
	uint32_t pad3;
};
_Static_assert(sizeof(struct page_state) == 32, "page_state has no hidden padding");

/* page_bytes: a power of two, at least 4096. fns must stay valid. NULL with errno. */
struct page_book *page_book_new(uint32_t page_bytes, const struct page_book_fns *fns, void *ctx);
void page_book_free(struct page_book *b);

/*
 * Enter a fault. 0; -ENOSPC: the book is full, and the bytes count as held and unchecked from now
 * on; -ENOMEM, or as fns.
 */
int page_book_touch(struct page_book *b, const struct page_touch *t);
/*
 * Pages were moved to another address at this time; answers to older questions do not affect them.
 * Only about 4 million addresses a round (page_book_ask()) are searched for moves: pages that are
 * moved after that are found gone. 0, -ENOMEM, or as fns.
 */
int page_book_move(struct page_book *b, uint64_t addr, uint64_t bytes, uint64_t to,
		   uint64_t time_ns);

/*
 * At this time nothing was mapped in the range: pages with an earlier fault are gone. Counts as a
 * move for that limit. As fns.
 */
int page_book_unmapped(struct page_book *b, uint64_t addr, uint64_t bytes, uint64_t time_ns);

/*
 * Fill addrs, sorted, with the next pages to ask about: only those whose fault was not asked about
 * yet (all false; pos is not used), or those of all pages from *pos on, which it advances (0: a new
 * round from the start; UINT64_MAX: the round is complete). Returns the number, at most max.
 */
size_t page_book_ask(struct page_book *b, bool all, uint64_t *pos, uint64_t *addrs, size_t max);
/* Take answers. asked_ns: when they were asked for: they do not affect later faults. */
int page_book_take(struct page_book *b, const struct page_state *states, size_t cnt,
		   uint64_t asked_ns);
/*
 * A huge page that was not asked about is counted if it is next to a sampled one, but only while
 * less than this many bytes are held: how much the process has grown since it was first seen.
 * Before the first call: no limit.
 */
void page_book_set_growth(struct page_book *b, uint64_t bytes);
/* Pages cannot be checked: those without an answer are held as base pages, all are unchecked. */
int page_book_deny(struct page_book *b);
/* The process ends: pass on what was not answered so far, as base pages. Nothing counts as gone. */
int page_book_end(struct page_book *b);

/* Bytes that are held, and how many of them cannot be checked. */
uint64_t page_book_held(const struct page_book *b);
uint64_t page_book_unchecked(const struct page_book *b);
size_t page_book_pages(const struct page_book *b);	/* held or waiting for an answer */
/* Bytes of pages whose fault, until then, waits for its first answer. Looks at all pages. */
uint64_t page_book_waiting_bytes(const struct page_book *b, uint64_t until_ns);

#endif
