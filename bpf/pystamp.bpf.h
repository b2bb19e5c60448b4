/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pystamp.bpf.h - does a thread leave its CPU with the stack that it had when it last left?
 *
 * Most threads wait at the same few places. The stamp of a stack is a hash of its frames: their
 * addresses, code objects and instructions. If it is that of the thread's last record, the stack is
 * not walked, and a record without frames is sent (RAW_SWITCH_SAME). A stamp only counts where a
 * code object is certainly what it was when it was read: see set_stamps(). It also needs direct
 * reads, which make a look at a frame cheap.
 */
#ifndef TACHBPF_PYSTAMP_H
#define TACHBPF_PYSTAMP_H

#include "pyframe.bpf.h"

#define STAMP_STEPS_A_CALL 8
/* After so long a stack is sent again: user space may have forgotten the thread. */
#define STAMP_NS (1ULL << 30)

static __always_inline u64 mix(u64 hash, u64 word)
{
	return (hash ^ word) * 0x9e3779b97f4a7c15ULL;
}

/* Add the frame at *fr to the hash, and set *fr to its caller. Returns false if it is unreadable. */
static __always_inline bool stamp_frame(struct scratch *s, u64 *fr, u64 *hash)
{
	struct frame_fields f;
	u64 h;

	if (!load_frame(s, *fr, &f))
		return false;
	h = mix(mix(mix(*hash, *fr), f.code), f.ip ^ (u64)f.tlbc << 32 ^ (u64)f.owner << 56);
	*hash = h ^ h >> 32;
	*fr = f.previous;
	return true;
}

int stamp_frames(void);
/*
 * Add STAMP_STEPS_A_CALL frames to s->stamp. Returns 1 to go on. At the end of the chain, or if the
 * stack has no stamp (then it is 0), returns 0. The function has external linkage, so the verifier
 * checks the steps of one call and not of all.
 */
__weak __noinline int stamp_frames(void)
{
	u64 fr, hash;
	struct scratch *s;
	u32 zero = 0, i;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 0;
	fr = s->stamp.fr;
	hash = s->stamp.now;
#pragma clang loop unroll(disable)
	for (i = 0; i < STAMP_STEPS_A_CALL && fr; i++) {
		if (!stamp_frame(s, &fr, &hash)) {
			s->stamp.now = 0;
			return 0;
		}
	}
	s->stamp.fr = fr;
	s->stamp.now = hash;
	return fr != 0;
}

/*
 * Does the walk that begins at w->fr lead to the stack of the thread's last record? Sets s->stamp.
 * A thread's innermost frame must have been the same twice before the others are looked at.
 */
static __always_inline bool has_same_stack(struct scratch *s, const struct walk *w)
{
	struct stamp *stamp = &s->stamp;
	u64 hash = w->stamp, fr = w->fr;
	u32 i;

	stamp->now = 0;
	if (!w->certain || !s->direct.table || w->cframe || w->gc_frame || s->sample.flags ||
	    !fr || !stamp_frame(s, &fr, &hash))
		return false;
	stamp->top = hash;
	if (stamp->top != stamp->top_before)
		return false;
	stamp->fr = fr;
	stamp->now = hash;
#pragma clang loop unroll(disable)
	for (i = 0; i < MAX_STEPS / STAMP_STEPS_A_CALL && stamp_frames(); i++)
		;
	if (stamp->fr)
		stamp->now = 0;
	stamp->same = stamp->now && stamp->now == stamp->before;
	return stamp->same;
}

/* Has the walk found a stack that a RAW_SWITCH_SAME can repeat: whole, with all names sent? */
static __always_inline bool is_repeatable(const struct scratch *s, const struct walk *w)
{
	return w->n && !s->sample.flags && !s->new_cnt && !w->unverified;
}

#endif
