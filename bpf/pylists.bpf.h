/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pylists.bpf.h - searches the interpreters' lists of thread states for a thread's own.
 */
#ifndef TACHBPF_PYLISTS_H
#define TACHBPF_PYLISTS_H

#include "pystate.bpf.h"

/*
 * Returns true if the thread with this state runs Python, and the state is the current thread's, by
 * its thread_id.
 */
static __always_inline bool has_id_and_frames(struct scratch *s, const struct list_walk *w)
{
	u64 id, frame;

	return !read_user(&id, 8, w->ts + s->l.ts_thread_id) && id == w->self &&
	       !read_user(&frame, 8, w->ts + s->l.ts_frame) && frame;
}

/*
 * Returns true if the current thread has left this state to run another interpreter inside. From
 * 3.13 on, a state has its own thread's id. From 3.10 to 3.12, a state that runs has its _PyCFrame
 * on the thread's C stack. Before, nothing shows it with certainty.
 */
static __always_inline bool is_outer(struct scratch *s, const struct list_walk *w)
{
	u32 cframe = s->l.cframe_frame != ABI_NO_OFF ? s->l.ts_frame : s->l.ts_cframe;
	u64 at;

	if (w->ts == s->walk.ts)
		return false;
	if (!s->l.foreign_ids)
		return has_id_and_frames(s, w);
	return cframe != ABI_NO_OFF && w->sp && !read_user(&at, 8, w->ts + cframe) &&
	       at >= w->sp && at < w->sp_end;
}

/* Check whether the state at w->ts is this thread's. Counts it in *w. 1: end the search. */
static __always_inline int list_check(struct scratch *s, struct list_walk *w)
{
	u64 id, cframe;
	u32 status;

	if (w->how == LIST_BY_C_STACK) {
		/* Of the states whose _PyCFrame is in this thread's C stack, take the innermost. */
		if (read_user(&cframe, 8, w->ts + s->l.ts_cframe))
			return 0;
		if (cframe >= w->sp && cframe < w->sp_end && (!w->cnt || cframe < w->cframe)) {
			w->cframe = cframe;
			w->found = w->ts;
			w->cnt = 1;
		}
		return 0;
	}
	if (w->how == LIST_OUTER) {
		w->found = is_outer(s, w) ? w->ts : 0;
		return w->found != 0;
	}
	if (w->how == LIST_BY_ID_AND_FRAMES) {
		if (has_id_and_frames(s, w)) {
			w->found = w->ts;
			w->cnt++;
		}
		return 0;
	}
	if (read_user(&id, 8, w->ts + s->l.ts_thread_id) || id != w->self)
		return 0;
	if (s->l.ts_status != ABI_NO_OFF) {
		if (read_user(&status, 4, w->ts + s->l.ts_status) ||
		    !(status & TS_BOUND_GILSTATE)) {
			w->unbound++;
			return 0;
		}
	}
	w->found = w->ts;
	w->cnt++;
	return !s->l.foreign_ids;
}

/* How a call of list_steps() has ended. */
enum list_end {
	LIST_GOES_ON = 0,	/* there may be more */
	LIST_IS_OVER = 1,	/* the lists were read completely, or that is not needed */
	LIST_IS_LATE = 2,	/* the sample's time limit has passed */
};

/* One step along the lists. Returns an enum list_end. */
static __always_inline int list_step(struct scratch *s, struct list_walk *w)
{
	u64 next;

	if (!w->ts) {
		if (!w->is)
			return LIST_IS_OVER;
		w->unreadable = read_user(&w->ts, 8, w->is + s->l.interp_threads_head) ||
				read_user(&next, 8, w->is + s->l.interp_next);
		if (w->unreadable)
			return LIST_IS_OVER;
		w->is = next;
		return LIST_GOES_ON;
	}
	if (list_check(s, w))
		return LIST_IS_OVER;
	w->unreadable = !!read_user(&next, 8, w->ts + s->l.ts_next);
	if (w->unreadable)
		return LIST_IS_OVER;
	w->ts = next;
	return LIST_GOES_ON;
}

int list_steps(void);
/*
 * LIST_STEPS_A_CALL steps along the lists. Returns an enum list_end. This function and the two that
 * follow have external linkage: the verifier checks the steps of one call and not of all, and each
 * loop once and not for each state in which a search begins.
 */
__weak __noinline int list_steps(void)
{
	struct scratch *s;
	u32 zero = 0, i;
	int end;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return LIST_IS_OVER;
#pragma clang loop unroll(disable)
	for (i = 0; i < LIST_STEPS_A_CALL; i++) {
		end = list_step(s, &s->list);
		if (end)
			return end;
	}
	return LIST_GOES_ON;
}

int list_calls(void);
/*
 * LIST_CALLS calls of list_steps(). It looks at the clock before each LIST_CALLS_PER_CLOCK of them.
 * Returns an enum list_end.
 */
__weak __noinline int list_calls(void)
{
	struct scratch *s;
	u32 zero = 0, i;
	int end;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return LIST_IS_OVER;
#pragma clang loop unroll(disable)
	for (i = 0; i < LIST_CALLS; i++) {
		if (i % LIST_CALLS_PER_CLOCK == 0 && is_out_of_time(s, bpf_ktime_get_ns(), 0))
			return LIST_IS_LATE;
		end = list_steps();
		if (end)
			return end;
	}
	return LIST_GOES_ON;
}

int walk_lists(void);
/* LIST_ROUNDS calls of list_calls(), or until the search ends. Returns an enum list_end. */
__weak __noinline int walk_lists(void)
{
	int end;
	u32 i;

#pragma clang loop unroll(disable)
	for (i = 0; i < LIST_ROUNDS; i++) {
		end = list_calls();
		if (end)
			return end;
	}
	return LIST_GOES_ON;
}

/*
 * Search the interpreters' thread lists for the state of this thread. s->list says how. interps:
 * py_proc.interps. Other threads may change the lists at the same time, so a result is only certain
 * if the lists were read completely.
 */
static __always_inline u64 search_lists(struct scratch *s, u64 interps)
{
	struct list_walk *w = &s->list;
	int end;

	if (read_user(&w->is, 8, interps))
		return TSTATE_UNREADABLE;
	end = walk_lists();
	if (w->unreadable)
		return TSTATE_UNREADABLE;
	if (end != LIST_IS_OVER)
		return TSTATE_UNCERTAIN;
	/*
	 * Up to 3.11 the thread's first state is the last match, in the main interpreter;
	 * running_tstate() then finds the state that runs. In 3.12 a state has a bit if it is
	 * bound to a thread, but its thread_id may be that of the thread that created it.
	 */
	if (w->cnt > 1 && (w->how == LIST_BY_ID_AND_FRAMES || s->l.ts_status != ABI_NO_OFF))
		return TSTATE_UNCERTAIN;
	if (!w->cnt && w->unbound)
		return TSTATE_UNCERTAIN;
	return w->cnt ? w->found : TSTATE_NONE;
}

#endif
