/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pyunwind.bpf.h - walks the Python stack of the current thread.
 *
 * Knows struct py_layout and no CPython version. Reads only memory of the current process, in
 * that process' context, so the thread stands still. All of that memory may be hostile: every
 * offset is masked immediately before its use, and every chain is bounded. The result is the
 * struct raw_sample in per-CPU scratch memory.
 */
#ifndef TACHBPF_PYUNWIND_H
#define TACHBPF_PYUNWIND_H

#include "native.bpf.h"
#include "pyasync.bpf.h"
#include "pycode.bpf.h"
#include "pygc.bpf.h"
#include "pyouter.bpf.h"
#include "pystamp.bpf.h"
#include "pythread.bpf.h"

/* End the walk without frames: the memory does not contain a stack. Returns as walk_step(). */
static __always_inline int discard_stack(struct scratch *s, struct walk *w)
{
	w->n = 0;
	w->entries = 0;
	s->sample.flags = w->gc_top | RAW_UNREADABLE;
	s->sample.gc_at = 0;
	return 1;
}

static __always_inline int fetch_cframe(struct scratch *s, struct cframe *c, u64 addr)
{
	return read_memory(s, c, sizeof(*c), addr + s->l.cframe_frame);
}

int walk_from_caller(void);
/*
 * Start again with the caller's frames. When C calls the interpreter in 3.11 and 3.12, it sets
 * tstate->cframe to the new _PyCFrame some instructions before it fills that in (v3.12.0,
 * Python/ceval.c, _PyEval_EvalFrameDefault()). Until then the memory has an old _PyCFrame, or
 * anything. In a valid chain, the first entry frame (3.12: shim) was entered from the frame in the
 * previous _PyCFrame. If a chain fails this check, the stack begins at the previous _PyCFrame. If
 * that one fails it as well, its address was invalid, too. Returns as walk_step(). The function has
 * external linkage, so the verifier checks it once and not at every step.
 */
__weak __noinline int walk_from_caller(void)
{
	struct scratch *s;
	struct cframe c;
	struct walk *w;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 1;
	w = &s->walk;
	if (w->from_caller)
		return discard_stack(s, w);
	count_one(CNT_ENTERING);
	s->sample.flags = w->gc_top;
	s->sample.gc_at = 0;
	w->from_caller = 1;
	w->entered = 0;
	w->n = 0;
	w->entries = 0;
	w->shim = 1;
	w->fr = w->entered_from;
	w->low = w->fr + 1;
	w->cframe = w->from_cframe;
	w->unchecked = w->caller_cframe != 0;
	if (!w->caller_cframe)
		return 0;
	/* Its call may have returned, and other data may have overwritten it. */
	if (fetch_cframe(s, &c, w->caller_cframe) ||
	    !is_cframe(&c, w->caller_cframe, w->ts))
		return discard_stack(s, w);
	w->entered_from = c.frame;
	return 0;
}

/*
 * Frame n has no readable code object: returns true if this is not a stack. True for the first
 * frame, because code that runs is in memory. Also true if the previous frame has none either: then
 * the chain leads through objects and their types, which are not frames.
 */
static __always_inline bool is_no_stack(const struct raw_sample *s, u32 n)
{
	return !n || !s->frames[(n - 1) & (ABI_MAX_FRAMES - 1)].id;
}

/*
 * Returns true if the frame fr is the caller of the first frame. A call makes the new frame current
 * some instructions before it stores the caller in the frame (v3.12.1, Python/ceval_macros.h,
 * DISPATCH_INLINED(), as gcc 12 compiles it). Until then the field has the caller of an earlier
 * frame at this address, perhaps of a call that has returned. In the chunk, the true caller ends
 * where the new frame begins.
 */
static __always_inline bool is_caller(struct scratch *s, struct walk *w, u64 fr, u64 code)
{
	u32 room;

	if (fr < w->chunk || fr >= w->entered) {	/* another chunk: cannot be checked */
		w->entered = 0;
		return true;
	}
	room = frame_room(s, code);
	if (room && fr + room != w->entered) {
		count_one(CNT_ENTERING);
		return false;
	}
	w->entered = 0;
	return true;
}

/* Returns true if the first frame is on the data stack (3.11+) and has executed no instruction. */
static __always_inline bool has_not_begun(const struct scratch *s, const struct walk *w, u64 fr)
{
	return s->l.fr_owner != ABI_NO_OFF && fr - w->chunk < CHUNK_BYTES &&
	       s->sample.frames[0].lasti == RAW_LASTI_NONE;
}

int end_of_chain(void);
/*
 * The last frame has no caller. Check whether an intact chain ends there. Returns as walk_step().
 * With external linkage, too.
 */
__weak __noinline int end_of_chain(void)
{
	struct raw_sample *out;
	u32 zero = 0, last;
	struct scratch *s;
	struct walk *w;
	bool compiled;
	u64 kept;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 1;
	w = &s->walk;
	out = &s->sample;
	if (s->l.end_shim && !w->shim && w->n && w->owner == FRAME_OWNED_BY_THREAD) {
		kept = kept_of(w->last);
		if (kept) {
			if (w->unchecked || !is_on_c_stack(w, kept))
				out->flags |= RAW_SWITCHING;
			return 1;
		}
	}
	if (w->unchecked)
		return walk_from_caller();
	last = out->frames[(w->n - 1) & (ABI_MAX_FRAMES - 1)].lasti;
	compiled = w->n && !w->shim && raw_lasti_is_line(last);
	/*
	 * A call makes the new frame current before it stores the caller (3.11.2 built by gcc 12).
	 * Until then the field has the caller of an earlier frame at this address. If that was a
	 * generator that is suspended now, the chain ends at the generator's frame. Or it was
	 * compiled code that has returned, and was the caller itself.
	 */
	if (w->owner == FRAME_OWNED_BY_GENERATOR && w->n > 1 && (w->n == 2 || !compiled) &&
	    out->frames[0].lasti == RAW_LASTI_NONE)
		return discard_stack(s, w);
	/* Compiled code that runs outside of all calls of the interpreter has no shim. */
	if (s->l.end_shim && !w->shim && !compiled)
		out->flags |= RAW_BROKEN_END;
	return 1;
}

/* Add the frame at fr to the stack as raw. owner: its _PyInterpreterFrame.owner. */
static __always_inline void keep_frame(struct scratch *s, struct walk *w, u64 fr, u32 owner,
				       struct raw_frame raw)
{
	s->sample.frames[w->n & (ABI_MAX_FRAMES - 1)] = raw;
	w->owner = owner;
	w->last = fr;
	if (!w->n && !owner && has_not_begun(s, w, fr))
		w->entered = fr;
	w->n++;
}

int judge_entry(u64 fr);
/*
 * The frame fr has the caller that the call of w->cframe was entered from (3.12), so it is the
 * shim of that call, whose owner may not be stored yet; or greenlet has taken the shim off the
 * chain, and the chain is confirmed. Returns 0. The function has external linkage, so the verifier
 * checks it only once.
 */
__weak __noinline int judge_entry(u64 fr)
{
	struct scratch *s;
	struct walk *w;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 0;
	w = &s->walk;
	if (w->fr && is_near_cframe(w, fr))
		w->shim = 1;
	else if (!w->shim && is_near_cframe(w, kept_of(fr)))
		w->unchecked = 0;
	return 0;
}

/*
 * Returns true if C code has called the interpreter with the frame fr of this step (3.11). Compiled
 * code does not set is_entry.
 */
static __always_inline bool is_entry(const struct scratch *s, u64 fr, const struct frame_fields *f)
{
	return f->is_entry && !may_have_line(s, fr, f->owner);
}

/* raw_frame.lasti of the frame fr of this step. */
static __always_inline u32 place_of(const struct scratch *s, u64 fr, u64 code,
				    const struct frame_fields *f)
{
	u32 line = RAW_LASTI_NONE;

	if (may_have_line(s, fr, f->owner))
		line = own_line(fr, s->walk.object);
	return line != RAW_LASTI_NONE ? line : offset_of(s, code, f->ip, s->walk.tlbc);
}

/* One step: the frame at w->fr. Returns 0 to continue; 1: the chain ends or cannot be followed. */
static __always_inline int walk_step(struct scratch *s, struct code_cache *cache,
				     struct walk *w)
{
	struct raw_sample *out = &s->sample;
	struct frame_fields f;
	u64 code, fr = w->fr;
	u32 id;

	if (w->out_of_time) {
		out->flags |= RAW_TRUNCATED;
		count_one(CNT_CUT_OFF);
		return 1;
	}
	if (!fr)
		return end_of_chain();
	if (fetch_fields(s, w, &f)) {
		if (w->unchecked)
			return walk_from_caller();
		out->flags |= RAW_UNREADABLE;
		return 1;
	}
	code = f.code & ~(u64)s->l.code_tag_mask;
	w->fr = f.previous;
	w->shim = f.owner >= s->l.skip_owner;
	if (w->unchecked && s->l.end_shim && w->fr == w->entered_from)
		judge_entry(fr);
	if (w->unchecked && (w->shim || is_entry(s, fr, &f))) {
		if (w->fr != w->entered_from)
			return walk_from_caller();
		w->unchecked = 0;
	}
	if (cfg_native && w->shim)
		note_entry(fr);
	if (w->gc_looks && w->shim)
		note_gc_shim(s, w, fr);
	if (w->shim || !code)
		return 0;
	if (!f.owner) {
		w->low = fr;
		if (w->entered && !is_caller(s, w, fr, code))
			return discard_stack(s, w);
	}
	if (w->n >= ABI_MAX_FRAMES) {
		out->flags |= RAW_TRUNCATED;
		return 1;
	}
	id = code_id(cache, code, w);
	if (w->unchecked && !id && is_no_stack(out, w->n))
		return walk_from_caller();
	if (id == CODE_ID_HIDDEN)
		return 0;
	if (cfg_async)
		async_note_frame(fr);
	keep_frame(s, w, fr, f.owner, (struct raw_frame){
		.code = code,
		.lasti = place_of(s, fr, code, &f),
		.id = id,
	});
	if (cfg_native && is_entry(s, fr, &f))
		note_entry(0);
	if (w->gc_looks)
		note_gc_frame(fr, f.is_entry | (s->l.fr_is_entry == ABI_NO_OFF));
	return 0;
}

/*
 * STEPS_A_CALL steps of the walk. Returns 1 if the walk has ended. The function has external
 * linkage, so the verifier checks the steps of one call and not of all.
 */
int walk_steps(void);
__weak __noinline int walk_steps(void)
{
	struct code_cache *cache;
	struct scratch *s;
	u32 zero = 0, i;

	s = bpf_map_lookup_elem(&scratches, &zero);
	cache = bpf_map_lookup_elem(&code_caches, &zero);
	if (!s || !cache)
		return 1;
#pragma clang loop unroll(disable)
	for (i = 0; i < STEPS_A_CALL; i++)
		if (walk_step(s, cache, &s->walk))
			return 1;
	return 0;
}

int walk_on(void);
/*
 * The steps that are left after FIRST_CALLS calls of walk_steps(). Returns 0. With external
 * linkage, too: few stacks are so deep, and the verifier would follow each call for each caller.
 */
#define FIRST_CALLS 8
__weak __noinline int walk_on(void)
{
	struct scratch *s;
	u32 zero = 0, i;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 0;
#pragma clang loop unroll(disable)
	for (i = FIRST_CALLS; i < MAX_STEPS / STEPS_A_CALL; i++)
		if (walk_steps())
			return 0;
	s->sample.flags |= RAW_TRUNCATED;
	return 0;
}

static __always_inline void walk_frames(void)
{
	u32 i;

#pragma clang loop unroll(disable)
	for (i = 0; i < FIRST_CALLS; i++)
		if (walk_steps())
			return;
	walk_on();
}

int read_cframe(u64 ts);
/*
 * Replace the walk's fr, which is a _PyCFrame's address, by its frame, and prepare the checks of
 * walk_from_caller() with the previous _PyCFrame. Returns 0, or -1 if it is unreadable. With
 * external linkage, too.
 */
__weak __noinline int read_cframe(u64 ts)
{
	struct cframe c, caller;
	struct scratch *s;
	struct walk *w;
	u32 zero = 0;
	u64 addr;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return -1;
	w = &s->walk;
	addr = w->fr;
	if (fetch_cframe(s, &c, addr))
		return -1;
	w->fr = c.frame;
	w->cframe = addr;
	w->unchecked = c.previous || !is_cframe(&c, addr, ts);
	w->from_caller = !c.previous ||
			 fetch_cframe(s, &caller, c.previous) ||
			 !is_cframe(&caller, c.previous, ts);
	w->entered_from = 1;	/* no frame has this address */
	if (w->from_caller)
		return 0;
	w->entered_from = caller.frame;
	w->from_cframe = c.previous;
	if (caller.previous)
		w->caller_cframe = caller.previous;
	return 0;
}

/* Restart the walk at fr, keeping the time that it has used. */
static __always_inline void restart_walk(struct walk *w, u64 fr)
{
	w->fr = fr;
	w->win_last = 0;
	w->caller_cframe = 0;
	w->from_cframe = 0;
	w->entered = 0;
	w->n = 0;
	w->entries = 0;
	w->shim = 0;
	w->owner = 0;
}

int enter_greenlet(u64 ts);
/*
 * The walk from the _PyCFrame of the state ts has failed: another greenlet's C stack may be in its
 * place (3.11, 3.12). Prepare the walk of the greenlet that is entered. Returns 0 if its _PyCFrame
 * is not found. The function has external linkage, so the verifier checks it only once.
 */
__weak __noinline int enter_greenlet(u64 ts)
{
	u64 cframe, found;
	struct scratch *s;
	struct walk *w;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 0;
	w = &s->walk;
	cframe = ts_u64(s, s->l.ts_frame);
	found = find_cframe(w);
	if (!found || found == cframe)
		return 0;
	restart_walk(w, found);
	s->sample.flags = w->gc_top;
	s->sample.gc_at = 0;
	if (read_cframe(ts)) {
		discard_stack(s, w);
		return 0;
	}
	w->low = w->fr + 1;
	return 1;
}

/*
 * The walk from the _PyCFrame of the state ts has failed: walk the greenlet that is entered.
 * Inline: nested calls share 512 bytes of stack.
 */
static __always_inline void walk_entered_greenlet(struct scratch *s, struct walk *w, u64 ts)
{
	u64 cframe = ts_u64(s, s->l.ts_frame);

	if (enter_greenlet(ts))
		walk_frames();
	/* A _PyCFrame in use is not below the stack pointer. */
	if (!w->n && s->sample.flags & RAW_UNREADABLE && cframe < w->sp &&
	    is_on_c_stack(w, cframe))
		s->sample.flags ^= RAW_UNREADABLE | RAW_SWITCHING;
}

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
	u64 addr = p->epoch;
	u32 e;

	if (p->l.interp_epoch != ABI_NO_OFF32)
		addr = is + p->l.interp_epoch;
	/* 0: the counter has overflowed and no longer counts (3.12, 3.13). */
	if (addr && !read_u32(s, &e, addr) && e) {
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

	if (flags & PF_EXITING)
		return CNT_NATIVE_THREAD;
	ts = find_tstate(s, p, tp, self);
	*tstate = ts;
	if (ts > TSTATE_UNCERTAIN && read_state(ts))
		ts = TSTATE_UNREADABLE;
	if (p->l.gil_how == PY_GIL_RT_CURRENT &&
	    (ts > TSTATE_UNCERTAIN || (ts == TSTATE_NONE && !is_unknown(tp)))) {
		running = running_tstate(s, p, self, sp, ts);
		if (running > TSTATE_UNCERTAIN && running != ts && read_state(running))
			running = TSTATE_UNREADABLE;
		ts = running;
		*tstate = ts;
	}
	if (ts > TSTATE_UNCERTAIN)
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
	if (p->l.interp_gil && read_seldom(s, &gil, is + p->l.interp_gil))
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
	if (end != CNT_SAMPLE)
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
	if (w->cframe && (out->flags & RAW_SWITCHING || (!w->n && out->flags & RAW_UNREADABLE)))
		walk_entered_greenlet(s, w, ts);
	end_gc(s, p, is);
	if (out->interp_id) {
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
