// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * page_take.c - takes answers: page_book_take(). See page_book.h. Answers come from a worker that
 * may be compromised: any of them may be false, and does no more harm than being believed.
 */
#include <errno.h>
#include <stdlib.h>

#include "memory/page_table.h"

/*
 * Another frame at an address of held memory, and no fault that an event chose: the kernel has
 * moved the page (compaction, NUMA balancing), or it was given back and touched again by a fault
 * that no event chose. Nothing tells these two apart. But with each chosen fault in place of a held
 * page go as many others as it stands for. So many frames, twice over for chance, may be replaced;
 * the others were moved. If every fault is chosen, all were.
 */

/* How many faults that no event chose go with a chosen one of this weight. */
static uint64_t unchosen(const struct page_book *b, uint64_t weight)
{
	return weight > b->page_bytes ? weight / b->page_bytes - 1 : 0;
}

/* A chosen fault has replaced held memory. */
static void count_chosen(struct page_book *b, uint64_t weight)
{
	b->expected += 2 * unchosen(b, weight);
}

/* Returns true if the kernel has moved the page; otherwise its frame counts as replaced. */
static bool was_moved(struct page_book *b)
{
	if (b->replaced >= b->expected + unchosen(b, b->least))
		return true;
	b->replaced++;
	return false;
}

/*
 * Huge pages of a page_book. The fault of a huge page is sampled as rarely as that of a base page,
 * so those next to a sampled one, which were not asked about, count as memory of the nearest
 * sampled stack. A huge page that the kernel has formed from base pages in the book (khugepaged) is
 * not held a second time: its base pages stay held.
 */

/* Base pages in a huge page: 512 MiB has 8,192 of 64 KiB (arm64). */
#define BASE_PAGES_MAX 8192u
/* Limit on neighbours examined for one batch of answers: 32 GiB of 2 MiB. */
#define NEIGHBOURS_MAX 16384u

/* A huge page whose fault was sampled, and its neighbours: the range from lo to hi. */
struct run {
	uint64_t base, bytes, lo, hi;
	uint32_t stack, tid;
};

static bool is_huge(const struct page_book *b, const struct page_state *s)
{
	uint64_t bytes = s->huge_bytes;

	return s->kind == PAGE_HUGE && bytes > b->page_bytes && !(bytes & (bytes - 1)) &&
	       bytes / b->page_bytes <= BASE_PAGES_MAX;
}

/* Returns true if base pages in the range are held. */
static bool has_base_pages(const struct page_book *b, uint64_t base, uint64_t bytes)
{
	const struct page *p;
	uint64_t at;

	for (at = base; at < base + bytes; at += b->page_bytes) {
		p = page_find(b, at, 0);
		if (p && p->held)
			return true;
	}
	return false;
}

/* Returns true if the fault of p, which holds nothing, brought a whole huge page. */
static bool page_is_huge_fault(const struct page_book *b, const struct page *p,
			const struct page_state *s)
{
	return is_huge(b, s) && !has_base_pages(b, page_addr(p) & ~(uint64_t)(s->huge_bytes - 1),
						s->huge_bytes);
}

/* Hold the huge page at base, which is not in the book, with like's stack, thread and time. */
static int hold_block(struct page_book *b, uint64_t base, uint64_t bytes, uint64_t frame,
		      const struct page *like)
{
	struct page *p = page_add(b, base, KEY_BLOCK);

	if (!p)
		return errno == ENOSPC ? 0 : -ENOMEM;
	p->time_ns = like->time_ns;
	p->stack = like->stack;
	p->tid = like->tid;
	p->flags = like->flags;
	return page_hold(b, p, bytes, frame);
}

/* Take such an answer: p is removed, and its huge page is held. As fns. */
static int page_huge_fault(struct page_book *b, struct page *p, const struct page_state *s)
{
	uint64_t bytes = s->huge_bytes, base = page_addr(p) & ~(bytes - 1);
	uint64_t before = (page_addr(p) - base) / b->page_bytes;
	uint64_t frame = s->frame > before ? s->frame - before : 0;
	struct page touched = *p, *block;
	int err = 0;

	touched.flags = PAGE_SAMPLED;
	page_answered(b, p);
	page_remove(b, p);
	block = page_find(b, base, KEY_BLOCK);
	if (block && block->flags & PAGE_SAMPLED && (!frame || frame == block->frame))
		return 0;	/* another sample of the same fault, or of its first use */
	if (block) {
		count_chosen(b, touched.weight);
		err = page_let_go(b, block);
		page_remove(b, block);
	}
	return err ? err : hold_block(b, base, bytes, frame, &touched);
}

/* ---- neighbours ---- */

/* The runs of sampled huge pages in these answers, in their order. Returns their number. */
static size_t find_runs(const struct page_book *b, const struct page_state *states, size_t cnt,
			struct run *runs)
{
	size_t i, n = 0;

	for (i = 0; i < cnt; i++) {
		const struct page_state *s = &states[i];
		uint64_t bytes = s->huge_bytes, base, before, after;
		const struct page *p;

		if (!is_huge(b, s))
			continue;
		base = s->addr & ~(bytes - 1);
		p = page_find(b, base, KEY_BLOCK);
		if (!p || !(p->flags & PAGE_SAMPLED) || (n && base <= runs[n - 1].base))
			continue;
		before = s->huge_before * bytes;
		after = (s->huge_after + 1ull) * bytes;
		runs[n++] = (struct run){
			.base = base, .bytes = bytes, .stack = p->stack, .tid = p->tid,
			.lo = base > before ? base - before : 0,
			.hi = base + after > base ? base + after : base,
		};
	}
	return n;
}

/* Pages between two sampled ones are shared equally by the two. */
static void share_neighbours(struct run *runs, size_t n)
{
	uint64_t middle;
	size_t i;

	for (i = 0; i + 1 < n; i++) {
		struct run *r = &runs[i], *next = &runs[i + 1];

		if (r->hi <= next->lo)
			continue;
		middle = r->base + ((next->base - r->base) / r->bytes / 2 + 1) * r->bytes;
		if (r->hi > middle)
			r->hi = middle;
		if (next->lo < r->hi)
			next->lo = r->hi;
	}
}

static int take_run(struct page_book *b, const struct run *r, uint64_t asked_ns,
		    unsigned int *looked_at)
{
	const struct page like = { .stack = r->stack, .tid = r->tid, .time_ns = asked_ns };
	uint64_t at;
	int err = 0;

	for (at = r->lo; at < r->hi && !err; at += r->bytes) {
		if (b->held + r->bytes > b->growth || ++*looked_at > NEIGHBOURS_MAX)
			break;
		if (!page_find(b, at, KEY_BLOCK) && !has_base_pages(b, at, r->bytes))
			err = hold_block(b, at, r->bytes, 0, &like);
	}
	return err;
}

/* Take the neighbours of the huge pages in these answers, which are sorted. As fns, or -ENOMEM. */
static int page_huge_neighbours(struct page_book *b, const struct page_state *states, size_t cnt,
			 uint64_t asked_ns)
{
	unsigned int looked_at = 0;
	struct run *runs;
	size_t i, n = 0;
	int err = 0;

	for (i = 0; i < cnt; i++)
		n += is_huge(b, &states[i]);
	if (!n)
		return 0;
	runs = malloc(n * sizeof(*runs));
	if (!runs)
		return -ENOMEM;
	n = find_runs(b, states, cnt, runs);
	share_neighbours(runs, n);
	for (i = 0; i < n && !err; i++)
		err = take_run(b, &runs[i], asked_ns, &looked_at);
	free(runs);
	return err;
}

static bool is_memory(const struct page_state *s)
{
	return s->kind == PAGE_ANON || s->kind == PAGE_HUGE || s->kind == PAGE_SWAPPED;
}

/* Returns true if the frames are known, and are not the same. */
static bool is_other_frame(const struct page *p, const struct page_state *s)
{
	return s->frame && p->frame && s->frame != p->frame;
}

/*
 * Returns true if what p holds is still there. A page that was swapped out comes back with another
 * frame; so does one that has become part of a huge page, unless a fault at its address says that
 * the huge page is new. Without frames, a fault means a new page.
 */
static bool page_stays(struct page_book *b, const struct page *p, const struct page_state *s)
{
	if (!is_memory(s))
		return false;
	if (s->kind == PAGE_SWAPPED)
		return true;
	if (s->frame && s->frame == p->frame)
		return true;
	if (p->weight)
		count_chosen(b, p->weight);
	else if (s->kind != PAGE_HUGE && is_other_frame(p, s))
		return was_moved(b);
	return !p->weight;
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

	if (p->held && page_stays(b, p, s))
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

/*
 * Returns true if pages have moved to this address after the question, so that the answer may be
 * about what was there before; or if so many have moved that nobody knows.
 */
static bool is_older_than_move(const struct page_book *b, uint64_t addr, uint64_t asked_ns)
{
	uint32_t i;

	for (i = 0; i < MOVES_KEPT && i < b->moves; i++) {
		const struct page_move *m = &b->recent[(b->moves - 1 - i) % MOVES_KEPT];

		if (m->time_ns < asked_ns)
			return false;
		if (addr - m->addr < m->bytes)
			return true;
	}
	return i == MOVES_KEPT;
}

static int take_state(struct page_book *b, const struct page_state *s, uint64_t asked_ns)
{
	uint64_t addr = page_of(b, s->addr);
	struct page *p;
	int err = 0;

	if (is_older_than_move(b, addr, asked_ns))
		return 0;
	p = page_find(b, addr, KEY_BLOCK);
	if (p && is_memory(s) && (!is_other_frame(p, s) || was_moved(b))) {
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
		err = take_state(b, &states[i], asked_ns);
	return err ? err : page_huge_neighbours(b, states, cnt, asked_ns);
}
