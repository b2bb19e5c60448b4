/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pyunwind.bpf.h - the Python stack of the current thread, its status and what it waits for.
 *
 * Knows struct py_layout and no CPython version. Reads only memory of the current process, in
 * that process' context, so the thread stands still. All of that memory may be hostile: see
 * pywalk.bpf.h. The result is the struct raw_sample in per-CPU scratch memory.
 */
#ifndef TACHBPF_PYUNWIND_H
#define TACHBPF_PYUNWIND_H

#include "pyouter.bpf.h"
#include "pystamp.bpf.h"
#include "pythread.bpf.h"
#include "pywalk.bpf.h"

/* Id of the interpreter is; 0 also if it is unknown. */
static __always_inline u32 interpreter_id(struct py_proc *p, u64 is)
{
	u32 id = 0;

	if (is == p->main_interp || p->l.interp_id == ABI_NO_OFF32)
		return 0;
	if (!read_user(&id, 4, is + p->l.interp_id) && !id)
		p->main_interp = is;
	return id;
}

/* Set the stamps of this sample's fingerprints: see code_id(). is: the interpreter. */
static __always_inline void set_stamps(struct scratch *s, struct walk *w, struct py_proc *p, u64 is)
{
	u64 addr = p->epoch, e;

	if (p->l.interp_epoch != ABI_NO_OFF32)
		addr = is + p->l.interp_epoch;
	/* 0: the counter has overflowed and no longer counts (3.12, 3.13). */
	if (addr && !read_ahead(s, &e, addr) && (u32)e) {
		set_certain(w, p->ident, is, e);
		return;
	}
	set_fresh(s, w, p->ident);
}

/*
 * The counter for a thread state that was unreadable. It is not a loss if the C library has not set
 * the thread pointer yet, during an exec (the memory is gone), or after Py_Finalize(), which frees
 * the state.
 */
static __always_inline enum counter why_unreadable(const struct py_proc *p, u64 tp)
{
	u64 head;

	if (!tp || current_is_in_exec())
		return CNT_NOT_READY;
	return read_user(&head, 8, p->interps) || head ? CNT_TSTATE_UNREADABLE : CNT_NATIVE_THREAD;
}

/*
 * Read the current thread's state into s->ts, and set *tstate to its address. Returns CNT_SAMPLE,
 * or the counter that says why there is none.
 *
 * A thread that exits has none: the kernel clears its tid (clear_child_tid) before it releases the
 * memory. From then on the C library may give the thread's stack, with its struct pthread and
 * thread-local storage, to a new thread. The state that is found there would be the new one's.
 */
static __always_inline enum counter read_tstate(struct scratch *s, struct py_proc *p, u32 flags,
						u64 tp, u64 self, u64 sp, u64 *tstate)
{
	u64 ts, running;

	if (unlikely(flags & PF_EXITING))
		return CNT_NATIVE_THREAD;
	ts = find_tstate(s, p, tp, self);
	*tstate = ts;
	if (p->l.gil_how == PY_GIL_RT_CURRENT &&
	    (ts > TSTATE_UNCERTAIN || (ts == TSTATE_NONE && !is_unknown(tp)))) {
		running = running_tstate(s, p, self, sp, ts);
		if (running > TSTATE_UNCERTAIN && running != ts && read_state(running))
			running = TSTATE_UNREADABLE;
		ts = running;
		*tstate = ts;
	}
	if (likely(ts > TSTATE_UNCERTAIN))
		return CNT_SAMPLE;
	if (ts == TSTATE_UNREADABLE)
		return why_unreadable(p, tp);
	if (ts == TSTATE_UNCERTAIN)
		return CNT_TSTATE_UNCERTAIN;
	if (is_unknown(tp) || ((p->tstate_how == PY_TSTATE_TSS_GLIBC ||
		     p->tstate_how == PY_TSTATE_TSS_MUSL) && p->tss_key < 0))
		return CNT_NOT_READY;
	return CNT_NATIVE_THREAD;
}

/*
 * In musl (1.1.11 on, src/thread/pthread_cond_timedwait.c) a thread that waits for a condition
 * variable waits on a futex on its own stack, 20 bytes into a list node. The first node's address
 * is 8 bytes into the variable, and the next node's is 8 bytes into each node.
 */
#define MUSL_NODES_A_CALL 8
#define MUSL_CALLS 8

int musl_nodes(u64 futex);
/*
 * Look at MUSL_NODES_A_CALL nodes after that at s->words[0]. Returns 1 if one has the futex; -1 at
 * the end of the list; 0 to continue. Both functions have external linkage: the verifier checks the
 * nodes of one call and not of all.
 */
__weak __noinline int musl_nodes(u64 futex)
{
	struct scratch *s;
	u32 zero = 0, i;
	u64 node;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return -1;
	node = s->words[0];
#pragma clang loop unroll(disable)
	for (i = 0; i < MUSL_NODES_A_CALL; i++) {
		if (read_user(&node, 8, node + 8) || !node)
			return -1;
		if (node + 20 == futex)
			return 1;
	}
	s->words[0] = node;
	return 0;
}

int is_musl_waiter(u64 cond, u64 futex);
/* Returns true if this is a futex of the musl condition variable at cond. Looks at 64 nodes. */
__weak __noinline int is_musl_waiter(u64 cond, u64 futex)
{
	struct scratch *s;
	u32 zero = 0, i;
	int found;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 0;
	s->words[0] = cond;
#pragma clang loop unroll(disable)
	for (i = 0; i < MUSL_CALLS; i++) {
		found = musl_nodes(futex);
		if (found)
			return found > 0;
	}
	return 0;
}

/* Returns true if the thread waits for the GIL in this system call. */
static __always_inline bool waits_for_gil(struct scratch *s, struct py_proc *p, u64 is,
					 const struct user_call *call)
{
	u64 gil = p->gil, futex = futex_waited_for(call);

	if (!futex || !p->l.gil_locks)
		return false;
	if (p->l.interp_gil && read_u64(s, &gil, is + p->l.interp_gil))
		return false;
	if (!gil)
		return false;
	gil += p->l.gil_cond;
	if (futex - gil < p->l.gil_locks)
		return true;
	/* The second condition variable is switch_cond. */
	return p->tstate_how == PY_TSTATE_TSS_MUSL &&
	       (is_musl_waiter(gil, futex) || is_musl_waiter(gil + p->l.gil_locks / 2, futex));
}

/* STATUS_* bits of the state ts in s->ts. self: pthread_self(). is: the interpreter. */
static __always_inline u8 status_of(struct scratch *s, struct py_proc *p, u64 self, u64 is, u64 ts)
{
	u8 status = 0;

	if (has_gil(s, p, ts))
		status |= STATUS_HAS_GIL;
	if (has_exception(s, p, ts))
		status |= STATUS_HAS_EXCEPTION;
	if (is_main_thread(s, p, is, ts, self))
		status |= STATUS_MAIN_THREAD;
	return status;
}

/*
 * Walk the current thread, task: fill in the stack, status and flags of s->sample. sp: its user
 * stack pointer; 0: unknown. call: NULL if the thread is on-CPU; otherwise the thread leaves its
 * CPU, and call says how it has entered the kernel. Returns the counter that says how the walk has
 * ended; if that is not CNT_SAMPLE, there is no sample to send.
 */
static __always_inline enum counter unwind_python(struct scratch *s, struct py_proc *p,
						  const struct task_struct *task, u64 sp,
						  const struct user_call *call)
{
	struct raw_sample *out = &s->sample;
	struct walk *w = &s->walk;
	u64 tp = thread_pointer(task), self = self_of(p, tp), ts, is;
	enum counter end;
	u32 i;

	s->l = p->l;
	end = read_tstate(s, p, flags_of(task), tp, self, sp, &ts);
	if (unlikely(end != CNT_SAMPLE))
		return end;
	is = ts_u64(s, p->l.ts_interp);
	*w = (struct walk){
		.fr = ts_u64(s, p->l.ts_frame),
		.ts = ts,
		.chunk = ts_u64(s, p->l.ts_datastack),
		.sp = sp,
		.self = self,
	};
	set_stamps(s, w, p, is);
	if (p->l.cframe_frame != ABI_NO_OFF && w->fr && read_cframe(ts))
		return CNT_TSTATE_UNREADABLE;
	w->low = w->fr + 1;	/* the first frame may use a window */

	s->new_cnt = 0;
	s->file = 0;
	s->ident = p->ident;
	out->flags = 0;
	out->gc_at = 0;
	out->interp_id = interpreter_id(p, is);
	out->status = status_of(s, p, self, is, ts);
	if (!call)
		out->status |= STATUS_ON_CPU;
	/*
	 * A branch would cost the verifier states. If ts_gil_requested is 0, the word at offset
	 * 0 is a pointer, whose bit 0 is 0.
	 */
	out->status |= (ts_u32(s, p->l.ts_gil_requested) & 1) * STATUS_GIL_REQUESTED;
	if (call && waits_for_gil(s, p, is, call))
		out->status |= STATUS_GIL_REQUESTED;
	if (cfg_need_status && !(out->status & cfg_need_status))
		return CNT_UNWANTED;
	if (cfg_gc && out->status & STATUS_HAS_GIL && collects_garbage(s, p, is))
		begin_gc(is, 1);
	/*
	 * A stamp has no frames of outer interpreters. Without the GIL, a thread with the same
	 * stack is in a collection if it was then, so this is not checked again.
	 */
	if (cfg_stamps && call && !out->interp_id && has_same_stack(s, w))
		return CNT_SAMPLE;
	if (cfg_gc && !(out->status & STATUS_HAS_GIL))
		begin_gc_without_gil(is, gc_flag(p, is));
	if (cfg_async)
		async_begin(ts);
	walk_frames();
	if (w->cframe &&
	    unlikely(out->flags & RAW_SWITCHING || (!w->n && out->flags & RAW_UNREADABLE)))
		walk_entered_greenlet(s, w, ts);
	end_gc(s, p, is);
	if (unlikely(out->interp_id)) {
		if (p->l.foreign_ids && !w->sp && !call)
			w->sp = current_user_sp();
#pragma clang loop unroll(disable)
		for (i = 0; i <= OUTER_MAX && next_outer(p->interps, p->epoch, i); i++)
			walk_on();
	}
	out->nframes = w->n;
	out->stack_ns = 0;
	if (cfg_stamps && call && !is_repeatable(s, w))
		s->stamp.now = 0;
	/* A stack whose first frame could not be read is sent, too. */
	return w->n || out->flags & (RAW_UNREADABLE | RAW_SWITCHING) ? CNT_SAMPLE : CNT_NO_FRAMES;
}

/* Returns true if such an end of a walk means no Python stack; otherwise the walk has failed. */
static __always_inline bool is_without_stack(enum counter end)
{
	return end == CNT_NATIVE_THREAD || end == CNT_NO_FRAMES || end == CNT_NOT_READY;
}

#endif
