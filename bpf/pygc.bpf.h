/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pygc.bpf.h - does a thread collect garbage, and where in its stack did the collection begin?
 *
 * From 3.15 on the interpreter says which frame was current when it began. Before, only a flag says
 * that a collection runs. Mostly it is on top of the thread that holds the GIL. But a collection also
 * calls Python: __del__(), callbacks of weak references, and what a generator still has to do. They may
 * wait, release the GIL, and then other threads run.
 *
 * Such a call is found by what it is called with. The collection takes the objects of each kind out
 * of their generation into lists, whose heads are variables of its C functions (Modules/gcmodule.c,
 * from 3.13 on Python/gc.c: `seen` in finalize_garbage(), `wrcb_to_call` in handle_weakrefs()). The
 * object that is being finalized is the last of its list, and the weak reference whose callback is called
 * is the first: next to a list's head on the C stack of the thread that collects. So a frame is the
 * collection's if such an object is one of its first two variables, or its generator, or, where no shim
 * tells who called whom (up to 3.11), the first item of a tuple: that of *args.
 */
#ifndef TACHBPF_PYGC_H
#define TACHBPF_PYGC_H

#include "pyframe.bpf.h"
#include "pygreenlet.bpf.h"

/* So many frames are looked at, the innermost ones. */
#define GC_LOOKS 64
/* Flags in the pointers of a PyGC_Head. */
#define GC_HEAD_FLAGS 7ull

/* Does a garbage collection run in the interpreter is? */
static __always_inline bool collects_garbage(struct scratch *s, struct py_proc *p, u64 is)
{
	u64 at = p->collecting;
	u32 collecting;

	if (p->l.interp_gc_collecting != ABI_NO_OFF32)
		at = is + p->l.interp_gc_collecting;
	return at && !read_u32(s, &collecting, at) && collecting;
}

int begin_gc(u64 is, u32 has_gil);
/*
 * A collection runs in the interpreter is: prepare the walk, and set RAW_GC if it is assumed to be on top
 * of the stack. Returns 0. With external linkage, so that the verifier checks it once: the same
 * holds for the other two.
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
	    !read_seldom(s, &w->gc_frame, is + s->l.interp_gc_frame) && w->gc_frame)
		return 0;	/* walk_step() sets RAW_GC if the stack has it */
	if (s->l.gc_by_frame)
		return 0;
	if (s->l.gc_head && w->sp)
		w->gc_looks = GC_LOOKS;
	if (has_gil)
		w->gc_top = RAW_GC;
	s->sample.flags |= w->gc_top;
	return 0;
}

/* Is addr on the part of the thread's C stack that is in use? */
static __always_inline bool is_c_variable(const struct walk *w, u64 addr)
{
	return addr >= w->sp && is_on_c_stack(w, addr);
}

int is_next_to_list_head(u64 object);
/* Is the object in a list, next to its head on the C stack? Then sets s->walk.gc_list, and returns 1. */
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
	head = object - s->l.gc_head;
	count_reads(s, 1);
	if (!object || read_words(head, 2))
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

/* Did the collection call the frame at fr? owner: its _PyInterpreterFrame.owner. */
static __always_inline bool is_of_collection(struct scratch *s, u64 fr, u32 owner)
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
		read_seldom(s, &generator, fr + s->l.fr_generator);
	if (!s->l.end_shim)	/* a tuple's items are behind its size */
		read_seldom(s, &item, first + s->l.bytes_size + 8);
	return is_next_to_list_head(generator) || is_next_to_list_head(item);
}

int note_gc_frame(u64 fr, u32 is_entry);
/*
 * The frame at fr was just added to the stack. If the collection has called it, the collection began behind it:
 * set RAW_GC and gc_at. What is called with an object may call others with it; so the outermost
 * frame counts. is_entry: 0: the frame's caller is its callers' C function, too (3.11). Returns 0.
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
	if (w->gc_looks) {
		w->gc_looks--;
		if (is_of_collection(s, fr, w->owner)) {
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

int note_gc_begin(u64 fr);
/*
 * The walk is at fr, a frame or a shim: are all frames so far the collection's? They are if fr is the
 * frame that was current when it began (3.15). A shim (3.12+) is a variable of the C function that
 * runs the frames so far: if the collection has called that, its variables are below the
 * collection's. Returns 0.
 */
__weak __noinline int note_gc_begin(u64 fr)
{
	struct scratch *s;
	struct walk *w;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 0;
	w = &s->walk;
	if (fr == w->gc_frame)
		s->sample.flags |= RAW_GC;
	else if (!w->shim || !w->gc_list || fr - w->sp >= w->gc_list - w->sp)
		return 0;
	s->sample.gc_at = w->n;
	return 0;
}

u64 collections_done(u64 at);
/*
 * How many collections are over, and one more; 0: unreadable. at: struct gc_generation_stats[3]. With
 * external linkage, so that the verifier checks it once.
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
		if (read_seldom(s, &n, at))
			return 0;
		done += n;
	}
	return done;
}

/* py_proc.gc_place: the collection has called Python. */
#define GC_CALLS 1

/*
 * A stack that a collection may be on top of was walked: is it? While it is, its thread stays at one
 * instruction. So if the last sample in the same collection was at another, or a frame that the
 * collection has called was seen, another thread collects, and waits now.
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

/* A collection runs in the interpreter is, and the walk is over: complete what begin_gc() began. */
static __always_inline void end_gc(struct scratch *s, struct py_proc *p, u64 is)
{
	const struct walk *w = &s->walk;

	if ((w->gc_list || w->gc_top) && !is_on_top(s, p, is) && !w->gc_list)
		s->sample.flags &= ~RAW_GC;
}

#endif
