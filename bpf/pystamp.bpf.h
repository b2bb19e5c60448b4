/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pystamp.bpf.h - detects that a thread leaves its CPU with the same stack as the last time.
 *
 * Most threads wait at the same few places. The stamp of a stack is a hash of its frames: their
 * addresses, code objects and instructions. If it equals that of the thread's last record, the
 * stack is not walked, and a record without frames is sent (RAW_SWITCH_SAME). A stamp only counts
 * where a code object has certainly not changed since it was read: see set_stamps(). It also needs
 * direct reads, which make a look at a frame cheap. A stack with compiled code has none: its lines
 * are elsewhere, see own_line().
 *
 * A thread whose stacks change, or cannot be repeated, would pay for stamps in vain. So after each
 * failure the thread's next switch-outs have no stamp, twice as many each time.
 */
#ifndef TACHBPF_PYSTAMP_H
#define TACHBPF_PYSTAMP_H

#include "pyframe.bpf.h"

#define STAMP_STEPS_A_CALL 12	/* two calls for 20 frames, and those where C calls Python */
#define STAMP_CALLS (ABI_MAX_FRAMES / STAMP_STEPS_A_CALL + 1)
/*
 * After this time a stack is sent again: user space may have forgotten the thread, whose waits then
 * count as forgotten.
 */
#define STAMP_NS (1ULL << 30)
/* Limit on switch-outs without a stamp. One less than a power of two. */
#define STAMP_PAUSE_MAX 63

static __always_inline u64 mix_word(u64 hash, u64 word)
{
	return (hash ^ word) * 0x9e3779b97f4a7c15ULL;
}

/* The page with the frames, while consecutive frames are on it. */
struct stamp_page {
	const struct direct_page *page;	/* NULL: none */
	u64 first;	/* its first byte in the process */
};

static __always_inline bool is_page_still(const struct stamp_page *on)
{
	return !on->page || is_still(on->page);
}

/* The fields of a frame that a stamp covers. */
struct stamp_fields {
	u64 code, previous;
	u64 place;	/* the instruction and tlbc_index */
	u64 has_line;	/* 1: it may be compiled code */
};

#define STAMP_FIELDS(f, l, FIELD)                                                                  \
	do {                                                                                       \
		(f)->code = FIELD(u64, (l)->fr_code);                                              \
		(f)->place = FIELD(u64, (l)->fr_ip);                                               \
		if ((l)->fr_tlbc_index != ABI_NO_OFF)                                              \
			(f)->place ^= (u64)FIELD(u32, (l)->fr_tlbc_index) << 48;                   \
		(f)->previous = FIELD(u64, (l)->fr_previous);                                      \
		(f)->has_line = may_have_object(s, FIELD(u8, (l)->fr_owner)) &&                    \
				is_in_object(addr, FIELD(u64, (l)->fr_object));                    \
	} while (0)

int copy_stamp_fields(u64 addr);
/*
 * Read the frame at addr, which is on two pages: a struct stamp_fields in s->words.
 * Returns 0, or -1. With external linkage, so that the verifier checks it once: few frames are.
 */
__weak __noinline int copy_stamp_fields(u64 addr)
{
	struct stamp_fields *f;
	struct scratch *s;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!HAVE_DIRECT || !s || copy_frame(addr))
		return -1;
	_Static_assert(sizeof(*f) <= sizeof(s->words), "a struct stamp_fields fits in s->words");
	f = (void *)s->words;
#define COPIED(type, off) (*(const type *)(s->frames + SINGLE_POS + ((off) & FIELD_MASK)))
	STAMP_FIELDS(f, &s->l, COPIED);
#undef COPIED
	return 0;
}

/* Read the frame at addr. Returns 0, or -1: it is unreadable. */
static __always_inline int read_stamp_fields(struct scratch *s, struct stamp_page *on, u64 addr,
					     struct stamp_fields *f)
{
	u64 bytes = s->l.fr_bytes & FIELD_MASK, at;

	if (addr % PAGE_BYTES + bytes > PAGE_BYTES) {
		if (copy_stamp_fields(addr))
			return -1;
		*f = *(const struct stamp_fields *)s->words;
		return 0;
	}
	if (!on->page || addr - on->first >= PAGE_BYTES) {
		if (!is_page_still(on))
			return -1;
		on->page = find_known_page(s, addr);
		if (!on->page && look_at_page(addr, place_of_page(addr)))
			return -1;
		on->page = find_known_page(s, addr);
		if (!on->page)
			return -1;
		on->first = addr & ~(u64)(PAGE_BYTES - 1);
	}
	at = on->page->at + addr % PAGE_BYTES;
#define LOADED(type, off) (*(const type *)kernel_words(at + (off)))
	STAMP_FIELDS(f, &s->l, LOADED);
#undef LOADED
	return 0;
}

/* Add the frame at *fr to the hash, and set *fr to its caller. 0, or -1: not possible. */
static __always_inline int stamp_frame(struct scratch *s, struct stamp_page *on, u64 *fr,
				       u64 *hash)
{
	struct stamp_fields f;
	u64 h;

	if (read_stamp_fields(s, on, *fr + s->l.fr_base, &f) || f.has_line)
		return -1;
	h = mix_word(mix_word(mix_word(*hash, *fr), f.code), f.place);
	*hash = h ^ h >> 32;
	*fr = f.previous;
	return 0;
}

int stamp_frames(void);
/*
 * Add STAMP_STEPS_A_CALL frames to s->stamp. Returns 1 to continue. At the end of the chain, or if
 * the stack has no stamp (then it is 0), returns 0. The function has external linkage, so the
 * verifier checks the steps of one call and not of all.
 */
__weak __noinline int stamp_frames(void)
{
	struct stamp_page on = { NULL, 0 };
	struct scratch *s;
	u32 zero = 0, i;
	u64 fr, hash;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!HAVE_DIRECT || !s)	/* also checked here, because the kernel checks this by itself */
		return 0;
	fr = s->stamp.fr;
	hash = s->stamp.now;
	s->stamp.now = 0;
#pragma clang loop unroll(disable)
	for (i = 0; i < STAMP_STEPS_A_CALL && fr; i++)
		if (stamp_frame(s, &on, &fr, &hash))
			return 0;
	count_reads(s, STAMP_STEPS_A_CALL / 4);	/* half of a direct read each */
	if (!is_page_still(&on) || s->walk.out_of_time)
		return 0;
	s->stamp.fr = fr;
	s->stamp.now = hash;
	return fr != 0;
}

/*
 * Returns true if the walk that begins at w->fr leads to the stack of the thread's last record.
 * Sets s->stamp. What is read of _PyCFrames (3.12) decides on the walk, so it is part of the stamp.
 */
static __always_inline bool has_same_stack(struct scratch *s, const struct walk *w)
{
	struct stamp *stamp = &s->stamp;
	u32 i;

	stamp->now = 0;
	if (!stamp->wanted || !w->certain || !s->direct.table || w->gc_looks ||
	    s->sample.flags)
		return false;
	stamp->tried = 1;
	stamp->cframe = w->cframe;
	stamp->fr = w->fr;
	stamp->now = w->stamp;
	if (w->cframe)
		stamp->now = mix_word(mix_word(mix_word(stamp->now, w->cframe), w->entered_from),
				      w->caller_cframe ^ (u64)w->unchecked << 63 ^
				      (u64)w->from_caller << 62);
#pragma clang loop unroll(disable)
	for (i = 0; i < STAMP_CALLS && stamp_frames(); i++)
		;
	if (stamp->fr)	/* it is too deep */
		stamp->now = 0;
	stamp->same = stamp->now && stamp->now == stamp->before;
	return stamp->same;
}

/*
 * Returns true if a RAW_SWITCH_SAME can repeat the stack that the walk has found: it is complete,
 * all its names were sent, and it begins where the stamp does.
 */
static __always_inline bool is_repeatable(const struct scratch *s, const struct walk *w)
{
	return w->n && !s->sample.flags && !s->new_cnt && !w->unverified &&
	       w->cframe == s->stamp.cframe;
}

#endif
