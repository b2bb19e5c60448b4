/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pygc.bpf.h - whether a thread collects garbage, and where in its stack the collection began.
 *
 * From 3.15 on, the interpreter records the frame that was current when the collection began.
 * Before, it has only a flag: a collection is running. Usually that is on top of the thread that
 * holds the GIL. But a collection also calls Python: __del__(), callbacks of weak references, the
 * rest of a generator. These may wait and release the GIL, and then other threads run.
 *
 * Such a call is recognised by its arguments. The collector moves the objects of each kind from
 * their generation to a list, whose head is a variable of a C function (Modules/gcmodule.c, from
 * 3.13 on Python/gc.c: `seen` in finalize_garbage(), `wrcb_to_call` in handle_weakrefs()). The
 * object that is being finalized is the last of its list, and the weak reference whose callback
 * runs is the first: it is next to a head on the C stack of the thread that collects. The collector
 * has called a frame if such an object is one of its first two variables, or its generator, or the
 * first item of a tuple (*args; up to 3.11, where no shim separates a frame from the C code that
 * called it).
 */
#ifndef TACHBPF_PYGC_H
#define TACHBPF_PYGC_H

#include "pyframe.bpf.h"
#include "pygreenlet.bpf.h"

/* Number of frames that are checked, the innermost ones. */
#define GC_LOOKS 64
/* Flags in the pointers of a PyGC_Head. */
#define GC_HEAD_FLAGS 7ull

/* Address of the flag that a garbage collection is running in the interpreter is; 0: unknown. */
static __always_inline u64 gc_flag(const struct py_proc *p, u64 is)
{
	return p->l.interp_gc_collecting != ABI_NO_OFF32 ? is + p->l.interp_gc_collecting :
							   p->collecting;
}

/* Returns true if a garbage collection is running in the interpreter is. */
static __always_inline bool collects_garbage(struct scratch *s, const struct py_proc *p, u64 is)
{
	u64 at = gc_flag(p, is);
	u64 collecting;

	return at && !read_u64(s, &collecting, at) && (u32)collecting;
}

int begin_gc(u64 is, u32 has_gil);
/*
 * A collection is running in the interpreter is: prepare the walk, and set RAW_GC if the collection
 * is assumed to be on top of the stack. Returns 0. This function and those below have external
 * linkage, so the verifier checks each only once.
 */
__weak __noinline int begin_gc(u64 is, u32 has_gil)
{
	struct scratch *s;
	struct walk *w;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 0;
	w = &s->walk;
	if (s->l.interp_gc_frame != ABI_NO_OFF32 &&
	    !read_u64(s, &w->gc_frame, is + s->l.interp_gc_frame) && w->gc_frame) {
		w->gc_looks = 1;
		return 0;	/* RAW_GC is set if the stack has it */
	}
	if (s->l.gc_by_frame)
		return 0;
	if (!w->sp)
		w->sp = current_user_sp();
	if (s->l.gc_head && w->sp)
		w->gc_looks = GC_LOOKS + 1;
	if (has_gil)
		w->gc_top = RAW_GC;
	s->sample.flags |= w->gc_top;
	return 0;
}

int begin_gc_without_gil(u64 is, u64 flag);
/*
 * begin_gc() for a thread that does not hold the GIL, if a collection is running: it may wait in a
 * function that the collector has called. flag: gc_flag(). Returns 0.
 */
__weak __noinline int begin_gc_without_gil(u64 is, u64 flag)
{
	struct scratch *s;
	u32 zero = 0;
	u64 word;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s || !flag || read_u64(s, &word, flag) || !(u32)word)
		return 0;
	return begin_gc(is, 0);
}

/* Returns true if addr is on the part of the thread's C stack that is in use. */
static __always_inline bool is_c_variable(const struct walk *w, u64 addr)
{
	return addr >= w->sp && is_on_c_stack(w, addr);
}

int is_next_to_list_head(u64 object);
/* If the object is in a list, next to a head on the C stack, sets s->walk.gc_list and returns 1. */
__weak __noinline int is_next_to_list_head(u64 object)
{
	u64 head, next, previous;
	struct scratch *s;
	struct walk *w;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 0;
	w = &s->walk;
	if (object % 8 || object < PAGE_BYTES)	/* no address, and a read would fault */
		return 0;
	head = object - s->l.gc_head;
	count_reads(s, 1);
	if (read_words(head, 2))
		return 0;
	next = s->words[0] & ~GC_HEAD_FLAGS;
	previous = s->words[1] & ~GC_HEAD_FLAGS;
	if (is_c_variable(w, next) && !read_words(next, 2) &&
	    (s->words[1] & ~GC_HEAD_FLAGS) == head) {
		w->gc_list = next;
		return 1;
	}
	if (is_c_variable(w, previous) && !read_words(previous, 2) &&
	    (s->words[0] & ~GC_HEAD_FLAGS) == head) {
		w->gc_list = previous;
		return 1;
	}
	return 0;
}

/*
 * Returns true if the collector has called the frame at fr. owner: its _PyInterpreterFrame.owner.
 */
static __always_inline bool is_called_by_gc(struct scratch *s, u64 fr, u32 owner)
{
	u64 tag = s->l.code_tag_mask, first, second, item = 0, generator = 0;

	count_reads(s, 1);
	if (read_words(fr + s->l.fr_locals, 2))
		return false;
	first = s->words[0] & ~tag;
	second = s->words[1] & ~tag;
	if (is_next_to_list_head(first) || is_next_to_list_head(second))
		return true;
	if (owner == FRAME_OWNED_BY_GENERATOR)
		generator = fr - s->l.fr_generator;
	else if (s->l.fr_owner == ABI_NO_OFF)
		read_u64(s, &generator, fr + s->l.fr_generator);
	if (!s->l.end_shim)	/* a tuple's items follow its size */
		read_u64(s, &item, first + s->l.bytes_size + 8);
	return is_next_to_list_head(generator) || is_next_to_list_head(item);
}

int note_gc_frame(u64 fr, u32 is_entry);
/*
 * The frame at fr was just added to the stack. If the collection began in it, or the collector has
 * called it, set RAW_GC and gc_at. A function may pass an object on, so the outermost frame with it
 * counts. is_entry: 0 if the frame's caller runs in the same C function (3.11). Returns 0.
 */
__weak __noinline int note_gc_frame(u64 fr, u32 is_entry)
{
	struct scratch *s;
	struct walk *w;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 0;
	w = &s->walk;
	if (fr == w->gc_frame) {
		s->sample.flags |= RAW_GC;
		s->sample.gc_at = w->n - 1;
	}
	if (w->gc_looks > 1) {
		w->gc_looks--;
		if (is_called_by_gc(s, fr, w->owner)) {
			s->sample.flags |= RAW_GC;
			w->gc_open = 1;
		}
	}
	if (w->gc_open)
		s->sample.gc_at = w->n;
	if (is_entry)
		w->gc_open = 0;
	return 0;
}

/*
 * The same for the shim at fr (3.12+), a variable of the C function that runs the frames so far. If
 * the collector has called that function, its variables are below the list's head, and all these
 * frames are the collection's.
 */
static __always_inline void note_gc_shim(struct scratch *s, const struct walk *w, u64 fr)
{
	if (fr != w->gc_frame && (!w->gc_list || fr - w->sp >= w->gc_list - w->sp))
		return;
	s->sample.flags |= RAW_GC;
	s->sample.gc_at = w->n;
}

u64 collections_done(u64 at);
/*
 * Returns the number of collections that have ended, plus 1; 0: unreadable. at: the address of
 * struct gc_generation_stats[3].
 */
__weak __noinline u64 collections_done(u64 at)
{
	u64 done = 1, n;
	struct scratch *s;
	u32 zero = 0, i;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 0;
#pragma clang loop unroll(disable)
	for (i = 0; i < 3; i++, at += 24) {
		if (read_u64(s, &n, at))
			return 0;
		done += n;
	}
	return done;
}

/* py_proc.gc_place: the collector has called Python. */
#define GC_CALLS 1

/*
 * Returns true if the collection can be on top of the stack that was walked. While it is, the
 * thread stays at one instruction. So if the last sample during the same collection was at another
 * place, or had a frame that the collector has called, the collecting thread is another one, which
 * is waiting now.
 */
static __always_inline bool is_on_top(struct scratch *s, struct py_proc *p, u64 is)
{
	const struct walk *w = &s->walk;
	u64 at = p->gc_stats, done, place, before;

	if (p->l.interp_gc_stats != ABI_NO_OFF32)
		at = is + p->l.interp_gc_stats;
	done = at && p->l.gc_stats_how == PY_GC_STATS_ARRAY ? collections_done(at) : 0;
	if (!done)
		return true;
	place = (w->ts ^ s->sample.frames[0].code << 8 ^ s->sample.frames[0].lasti) + w->n;
	before = p->gc_done == done ? p->gc_place : place;
	p->gc_done = done;
	p->gc_place = w->gc_list || before == GC_CALLS ? GC_CALLS : place;
	return before == place;
}

/* end_gc() after a walk in a collection. */
static __noinline void judge_gc(struct scratch *s, struct py_proc *p, u64 is)
{
	if (!is_on_top(s, p, is) && !s->walk.gc_list)
		s->sample.flags &= ~RAW_GC;
}

/* The walk has ended: take RAW_GC back if begin_gc() was wrong. is: the interpreter. */
static __always_inline void end_gc(struct scratch *s, struct py_proc *p, u64 is)
{
	const struct walk *w = &s->walk;

	if (w->gc_list || w->gc_top)
		judge_gc(s, p, is);
}

#endif
