/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pygreenlet.bpf.h - what greenlet does to a thread's frames while it switches.
 *
 * greenlet gives one thread several C stacks: it copies the part that the next greenlet needs to
 * the heap, and the next greenlet's back. It saves and restores the thread state's fields one by
 * one. So in the middle of a switch:
 *
 * 3.12+ (greenlet 3.0.3 on): the frames of the greenlet that is not running are linked to each
 * other without the shims between them, which are on the C stack, and the outermost has no caller.
 * What a frame had as previous is in the frame's object (greenlet 3.2.4, TGreenlet.cpp,
 * Greenlet::expose_frames()). The current frame is such a frame, of the greenlet that is left or of
 * the one that is entered: the stack is complete, except for its shims.
 *
 * 3.11, 3.12: the state's _PyCFrame is on the C stack of the greenlet that is left, where the
 * entered one's already is. That one's _PyCFrame is not far above the stack pointer.
 */
#ifndef TACHBPF_PYGREENLET_H
#define TACHBPF_PYGREENLET_H

#include "pyread.bpf.h"

/* kept_of(): the frame has an object with nothing in it. No address. */
#define KEPT_NOTHING 1

/* _PyCFrame from current_frame on. */
struct cframe {
	u64 frame, previous;
};

/*
 * Returns true if this is a valid _PyCFrame of the state ts. Only the first one, which is part of
 * PyThreadState, has no previous one and no frame. greenlet makes another one without a frame; its
 * previous one is the first.
 */
static __always_inline bool is_cframe(const struct cframe *c, u64 addr, u64 ts)
{
	if (addr - ts < ABI_TS_BYTES)
		return true;
	return c->frame ? c->previous : c->previous - ts < ABI_TS_BYTES;
}

u64 kept_of(u64 fr);
/*
 * The address of a shim that greenlet may have kept in the object of the frame fr, which is a
 * thread's; 0: the frame has no object. greenlet makes one for each frame of a greenlet that it
 * leaves (3.11: for the innermost). A frame that has ended has none. The function has external
 * linkage, so the verifier checks it only once.
 */
__weak __noinline u64 kept_of(u64 fr)
{
	u64 object, frame, kept;
	struct scratch *s;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s || s->l.fr_object == ABI_NO_OFF)
		return 0;
	count_reads(s, 3);
	if (read_user(&object, 8, fr + s->l.fr_object) || !object)
		return 0;
	/* PyFrameObject.f_frame is the second field, where a PyVarObject has ob_size the first. */
	if (read_user(&frame, 8, object + s->l.bytes_size + 8) || frame != fr)
		return 0;
	if (s->l.fo_data == ABI_NO_OFF || read_user(&kept, 8, object + s->l.fo_data) || !kept)
		return KEPT_NOTHING;
	return kept;
}

/*
 * Returns true if addr can be on this thread's C stack, also if that is unknown. A greenlet whose
 * stack was deeper has had it below the stack pointer.
 */
static __always_inline bool is_on_c_stack(const struct walk *w, u64 addr)
{
	u64 end = w->self < w->sp ? w->sp + C_STACK_BYTES : w->self;

	if (!w->sp)
		return addr > KEPT_NOTHING;
	return addr >= w->sp - C_STACK_BYTES && addr < end;
}

/* Returns true if addr is a shim of the call of w->cframe: both are variables of one C function. */
static __always_inline bool is_near_cframe(const struct walk *w, u64 addr)
{
	return addr - w->cframe + NEAR_CFRAME_BYTES < 2 * NEAR_CFRAME_BYTES;
}

int find_cframe_steps(u64 base, u32 first);
/*
 * Check whether one of the FIND_STEPS words of s->frames from first on is the current_frame of a
 * _PyCFrame with a frame that greenlet has left. Sets s->walk.cframe to that one, or 0. base:
 * address of the words. Returns 1 to end the search. The function has external linkage, so the
 * verifier checks it only once.
 */
__weak __noinline int find_cframe_steps(u64 base, u32 first)
{
	struct scratch *s;
	u64 addr, frame, previous;
	u32 zero = 0, i, at;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 1;
#pragma clang loop unroll(disable)
	for (i = 0; i < FIND_STEPS; i++) {
		at = (first + i) * 8 & (WINDOW_BYTES - 8);
		barrier_var(at);
		frame = *(u64 *)(s->frames + at);
		previous = *(u64 *)(s->frames + at + 8);
		addr = base + at;
		if (previous - s->walk.ts >= ABI_TS_BYTES && previous - addr >= C_STACK_BYTES)
			continue;
		if (frame <= PAGE_BYTES || frame & 7 || is_on_c_stack(&s->walk, frame))
			continue;
		if (s->walk.out_of_time)
			return 1;
		if (kept_of(frame)) {
			s->walk.cframe = addr - s->l.cframe_frame;
			return 1;
		}
	}
	return 0;
}

int find_cframe_window(u64 base);
/* The same for WINDOW_BYTES from base on, which it reads. With external linkage, too. */
__weak __noinline int find_cframe_window(u64 base)
{
	struct scratch *s;
	u32 zero = 0, i;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s || read_user(s->frames, WINDOW_BYTES + 8, base))
		return 1;
#pragma clang loop unroll(disable)
	for (i = 0; i < WINDOW_BYTES / 8; i += FIND_STEPS)
		if (find_cframe_steps(base, i))
			return 1;
	return 0;
}

/* The innermost _PyCFrame with a frame that greenlet has left; 0: none. */
static __always_inline u64 find_cframe(struct walk *w)
{
	u64 base = w->sp & ~7ull;
	u32 i;

	w->cframe = 0;
	if (!base)
		return 0;
#pragma clang loop unroll(disable)
	for (i = 0; i < FIND_BYTES; i += WINDOW_BYTES)
		if (find_cframe_window(base + i))
			break;
	return w->cframe;
}

#endif
