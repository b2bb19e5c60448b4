/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pyouter.bpf.h - a thread that runs an interpreter inside another one: adds the frames of its
 * states in the outer interpreters.
 */
#ifndef TACHBPF_PYOUTER_H
#define TACHBPF_PYOUTER_H

#include "pylists.bpf.h"

/*
 * Prepare the walk of the frames of the state s->list.found, from which the interpreter of the
 * frames so far was called. epoch: py_proc.epoch. Returns 0, or -1: the state is unreadable.
 */
static __always_inline int enter_outer(struct scratch *s, struct walk *w, u64 epoch)
{
	u64 fr, is, e;

	if (read_state(s->list.found))
		return -1;
	fr = ts_u64(s, s->l.ts_frame);
	if (s->l.cframe_frame != ABI_NO_OFF && read_u64(s, &fr, fr + s->l.cframe_frame))
		return -1;
	is = ts_u64(s, s->l.ts_interp);
	if (s->l.interp_epoch != ABI_NO_OFF32)
		epoch = is + s->l.interp_epoch;
	if (epoch && !read_ahead(s, &e, epoch) && (u32)e)
		set_certain(w, s->ident, is, e);
	else
		set_fresh(s, w, s->ident);
	s->sample.frames[w->n & (ABI_MAX_FRAMES - 1)] = (struct raw_frame){
		.code = s->list.id, .lasti = FRAME_SYNTHETIC << RAW_KIND_SHIFT, .id = 1,
	};
	w->n++;
	w->fr = fr;
	w->low = fr + 1;
	w->chunk = ts_u64(s, s->l.ts_datastack);
	w->win_last = 0;
	w->cframe = 0;
	w->unchecked = 0;
	w->entered = 0;
	w->owner = 0;
	return 0;
}

/*
 * The frames of the state s->list.found were walked: prepare the search for the next one. Returns
 * 0, or -1: it is unreadable.
 */
static __always_inline int leave_outer(struct scratch *s, struct walk *w)
{
	struct list_walk *list = &s->list;
	u64 id;

	if (w->n == list->before + 1)	/* it is running nothing */
		w->n = list->before;
	else if (read_u64(s, &id, ts_u64(s, s->l.ts_interp) + s->l.interp_id))
		return -1;
	else
		list->id = id;
	return read_u64(s, &list->ts, list->found + s->l.ts_next);
}

int next_outer(u64 interps, u64 epoch, u32 i);
/*
 * The frames of an interpreter were walked. If the thread has called it from another one, add
 * "<interpreter ID>" and prepare the walk of the frames there. If there are several, they follow
 * the order of the list of interpreters, newest first, because inner ones were usually made later.
 * i: number of earlier calls for this stack. interps, epoch: of py_proc. Returns 1, or 0 if there
 * is no other. The function has external linkage, so the verifier checks it only once.
 */
__weak __noinline int next_outer(u64 interps, u64 epoch, u32 i)
{
	struct scratch *s;
	struct walk *w;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 0;
	w = &s->walk;
	if (!i) {
		s->list = (struct list_walk){
			.how = LIST_OUTER, .self = w->self, .sp = w->sp,
			.sp_end = c_stack_end(w->self, w->sp, false), .id = s->sample.interp_id,
		};
		if (read_u64(s, &s->list.is, interps))
			goto cut;
	} else if (leave_outer(s, w)) {
		goto cut;
	}
	if (!w->n || s->sample.flags & ~RAW_GC)
		return 0;
	s->list.found = 0;
	if (walk_lists() != LIST_IS_OVER || s->list.unreadable)
		goto cut;
	if (!s->list.found)
		return 0;
	s->list.before = w->n;
	if (i < OUTER_MAX && w->n < ABI_MAX_FRAMES && !enter_outer(s, w, epoch))
		return 1;
cut:
	s->sample.flags |= RAW_TRUNCATED;
	return 0;
}

#endif
