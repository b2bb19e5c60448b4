/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pystate.bpf.h - reads thread states, and what else each sample needs first.
 *
 * Does not know how a thread's state is found.
 */
#ifndef TACHBPF_PYSTATE_H
#define TACHBPF_PYSTATE_H

#include "pyread.bpf.h"

/* A search for a thread's state returns the address of a PyThreadState, or one of these values. */
#define TSTATE_NONE 0		/* the thread has no PyThreadState */
#define TSTATE_UNREADABLE 1
#define TSTATE_UNCERTAIN 2	/* the thread may run one of several */

/* A thread state, which is on one page or on two. */
struct direct_state {
	u64 at, behind;	/* where the direct map has it; the part on the second page */
	u64 on_first;	/* bytes of it on the first page */
};

/* Copy the word at this offset of the state to s->ts. Returns false if it is on both pages. */
static __always_inline bool copy_state_word(struct scratch *s, const struct direct_state *d,
					    u32 off)
{
	u64 from = off + 8 <= d->on_first ? d->at : d->behind;

	if (off >= ABI_TS_BYTES)	/* this CPython has no such field */
		return true;
	if (unlikely(off < d->on_first && off + 8 > d->on_first))
		return false;
	off &= 511;
	barrier_var(off);
	*(u64 *)(s->ts + off) = *kernel_words(from + off);
	return true;
}

/*
 * Copy what is needed of the state at ts, whose first byte is on this page. Returns false if the
 * helper must read.
 */
static __always_inline bool copy_state(struct scratch *s, const struct direct_page *first, u64 ts)
{
	struct direct_state d = { .on_first = PAGE_BYTES - ts % PAGE_BYTES };
	const struct direct_page *second = first;
	const struct py_layout *l = &s->l;
	u32 i;

	if (unlikely(d.on_first < l->ts_bytes))
		second = find_page(s, ts + d.on_first, 1);
	if (unlikely(!second))
		return false;
	d.at = first->at + ts % PAGE_BYTES;
	d.behind = second->at - d.on_first;
#pragma clang loop unroll(disable)
	for (i = 0; i < TS_WORDS; i++)
		if (unlikely(!copy_state_word(s, &d, l->ts_words[i])))
			return false;
	return is_still(first) && is_still(second);
}

/* The sizes are constants because the verifiers of 5.10 and 6.1 forget the limits of others. */
static __always_inline int copy_state_by_helper(struct scratch *s, u64 ts)
{
	if (s->l.ts_bytes <= 192)
		return read_user(s->ts, 192, ts);
	if (s->l.ts_bytes <= 288)
		return read_user(s->ts, 288, ts);
	if (s->l.ts_bytes <= 352)
		return read_user(s->ts, 352, ts);
	return read_user(s->ts, ABI_TS_BYTES, ts);
}

#define NOWHERE (~0ULL)	/* where no process has memory */

/* What read_first() reads, in this order. */
enum first_part { PART_PLACE, PART_STATE, PART_AHEAD, PARTS };

/* Read one of them, at addr: the state into s->ts, a word into s->words. */
static __always_inline int read_part(struct scratch *s, u32 part, u64 addr)
{
	const struct direct_page *page;

	page = find_page_inline(s, addr, part == PART_STATE ? 1 : 8);
	if (part == PART_STATE)
		return likely(page) && likely(copy_state(s, page, addr)) ?
			       0 :
			       copy_state_by_helper(s, addr);
	if (likely(page)) {
		s->words[0] = *kernel_words(page->at + addr % PAGE_BYTES);
		if (likely(is_still(page)))
			return 0;
	}
	return read_user(s->words, 8, addr);
}

u64 read_first(u64 place, u64 ts, u64 ahead);
/*
 * Read what each sample needs first: where a state is, at `place` (0: at ts); its fields that a
 * walk needs, into s->ts; and the word for read_ahead(), at `ahead` (0: none) or, in a CPython
 * with interp_epoch, there. Returns the state's address, or TSTATE_*. With external linkage and in
 * a loop: the parts share their code, and one call takes some 10 ns.
 */
__weak __noinline u64 read_first(u64 place, u64 ts, u64 ahead)
{
	u64 addr = place ? place : ts;
	struct scratch *s;
	u32 zero = 0, part;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return TSTATE_UNREADABLE;
	s->ahead_at = NOWHERE;
#pragma clang loop unroll(disable)
	for (part = place ? PART_PLACE : PART_STATE; part < PARTS; part++) {
		barrier_var(part);	/* see read_names_hash() */
		if (unlikely(read_part(s, part, addr)))
			return part == PART_AHEAD ? ts : TSTATE_UNREADABLE;
		if (part == PART_PLACE) {
			ts = addr = s->words[0];
			if (unlikely(ts <= TSTATE_UNCERTAIN))
				return ts;
		} else if (part == PART_STATE) {
			addr = ahead;
			if (s->l.interp_epoch != ABI_NO_OFF32)
				addr = ts_u64(s, s->l.ts_interp) + s->l.interp_epoch;
			if (!addr)
				return ts;
		} else {
			s->ahead = s->words[0];
			s->ahead_at = addr;
		}
	}
	return ts;
}

/* Read the fields of the state at ts. Returns 0, or -1. */
static __always_inline int read_state(u64 ts)
{
	return read_first(0, ts, 0) == TSTATE_UNREADABLE ? -1 : 0;
}

/* The same as read_u64(), for a word that read_first() may have read. */
static __always_inline int read_ahead(struct scratch *s, u64 *v, u64 addr)
{
	if (unlikely(s->ahead_at != addr))
		return read_u64(s, v, addr);
	*v = s->ahead;
	return 0;
}

#endif
