/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * page_book.h - the pages of one process that a sampled fault brought: which stack touched each of
 * them, and which are still there.
 *
 * A page is entered when its fault is seen, and asked about soon (page_check.h): the answer says
 * whether the fault gave the process memory at all, and how much (a huge page). From then on it is
 * held until an answer says that it is gone or another page is in its place, or until another fault
 * at its address is seen. No event is passed on before the first answer, but page_book_end().
 */
#ifndef TACHBPF_PAGE_BOOK_H
#define TACHBPF_PAGE_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct page_book;

/* At most so many pages of a process: 16 GiB at one in 64 KiB. The others count as unchecked. */
#define PAGE_BOOK_MAX (256 * 1024)
/* The names of pages that were never kept here are no addresses: they are from here on. */
#define PAGE_NAME_UNTRACKED (1ull << 63)

/* What a page stands for. */
struct page_touch {
	uint64_t addr;		/* any address in the page */
	uint64_t weight;	/* bytes that it stands for if it is a base page */
	uint64_t time_ns;	/* CLOCK_MONOTONIC */
	uint32_t stack, tid;
};

/*
 * What becomes of pages. addr names what was got until it is gone: the page's address at its fault,
 * with the number of moves before in its low bits (bit 11: a huge page). Functions return 0 or
 * -errno, which the function that called them returns.
 */
struct page_book_fns {
	int (*got)(void *ctx, uint64_t addr, uint64_t bytes, const struct page_touch *touch);
	int (*gone)(void *ctx, uint64_t addr, uint64_t bytes, uint32_t stack);
};

/* What /proc/PID/pagemap and /proc/kpageflags say of an address. */
enum page_kind {
	PAGE_GONE = 0,		/* nothing is there */
	PAGE_ANON,		/* private memory of base page size */
	PAGE_HUGE,		/* part of a transparent huge page */
	PAGE_SWAPPED,
	PAGE_ZERO,		/* the kernel's page of zeros: read, never written */
	PAGE_OTHER,		/* of a file, or shared */
};
struct page_state {
	uint64_t addr;		/* as it was asked */
	uint64_t frame;		/* page frame number; 0: not known */
	uint8_t kind;		/* enum page_kind */
	uint8_t pad;
	uint16_t huge_before, huge_after;	/* huge pages next to its own, without a gap, at lower
						 * and higher addresses; nobody asked about them */
	uint16_t pad2;
	uint32_t huge_bytes;	/* size of a huge page, a power of two; 0: not known */
	uint32_t pad3;
};
_Static_assert(sizeof(struct page_state) == 32, "page_state has no hidden padding");

/* page_bytes: a power of two, 4096 at least. fns must stay valid. NULL with errno. */
struct page_book *page_book_new(uint32_t page_bytes, const struct page_book_fns *fns, void *ctx);
void page_book_free(struct page_book *b);

/*
 * A fault. 0; -ENOSPC: the book is full, and the bytes count as held and unchecked from now on;
 * -ENOMEM, or as fns.
 */
int page_book_touch(struct page_book *b, const struct page_touch *t);
/*
 * Pages were moved to another address. Only some 4 million addresses a round (page_book_ask()) are
 * looked at for moves: pages that were moved after that are found gone. 0, -ENOMEM, or as fns.
 */
int page_book_move(struct page_book *b, uint64_t addr, uint64_t bytes, uint64_t to);

/*
 * At this time nothing was mapped in the range: pages whose fault was before are gone. It counts as
 * a move for the bound. As fns.
 */
int page_book_unmapped(struct page_book *b, uint64_t addr, uint64_t bytes, uint64_t time_ns);

/*
 * Fill addrs, sorted, with what must be asked about: only pages whose fault nobody was asked about
 * yet (all false; pos is not used), or the next ones of all pages, from *pos on, which it advances
 * (0: a new round from the start; UINT64_MAX: that was the last). Returns how many, max at most.
 */
size_t page_book_ask(struct page_book *b, bool all, uint64_t *pos, uint64_t *addrs, size_t max);
/* Take answers. asked_ns: when they were asked for: later faults are not touched by them. */
int page_book_take(struct page_book *b, const struct page_state *states, size_t cnt,
		   uint64_t asked_ns);
/*
 * A huge page that nobody asked about is taken for one that is next to it, but only while less than
 * so many bytes are held: what the process has more than when it was first seen. Before the first
 * call: any number.
 */
void page_book_set_growth(struct page_book *b, uint64_t bytes);
/* Nobody can be asked: pages without an answer are held, as base pages, and all are unchecked. */
int page_book_deny(struct page_book *b);
/* The process ends: pass on what was not answered yet, as base pages. Nothing counts as gone. */
int page_book_end(struct page_book *b);

/* Bytes that are held, and those of them that cannot be checked. */
uint64_t page_book_held(const struct page_book *b);
uint64_t page_book_unchecked(const struct page_book *b);
size_t page_book_pages(const struct page_book *b);	/* held or waiting for an answer */
/* Bytes of pages whose fault was until then and waits for its first answer. Looks at all pages. */
uint64_t page_book_waiting_bytes(const struct page_book *b, uint64_t until_ns);

#endif
