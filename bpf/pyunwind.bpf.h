/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pyunwind.bpf.h - walks the Python stack of the current thread.
 *
 * Knows the layouts of abi.h and no CPython version. Reads memory of the current process
 * only, in its own context: the thread stands still meanwhile. All of that memory is
 * hostile: every offset is masked immediately before its use, and every chain is bounded.
 * The result is a struct raw_sample in per-CPU scratch memory.
 */
#ifndef TACHBPF_PYUNWIND_H
#define TACHBPF_PYUNWIND_H

#include "pycode.bpf.h"
#include "pythread.bpf.h"

/*
 * Start of the window: as low as memory is surely mapped, that is, the chunk's start or the
 * frame's own page.
 */
static __always_inline u64 window_start(const struct walk *w, u64 want)
{
	u64 floor = w->fr & ~(u64)(PAGE_BYTES - 1);

	if (w->fr - w->chunk < CHUNK_BYTES)
		floor = w->chunk;
	return want < floor ? floor : want;
}

/*
 * Bring the frame at w->fr into scratch memory. Returns its offset in s->frames; negative:
 * unreadable.
 */
static __always_inline s32 fetch_frame(struct scratch *s, struct walk *w)
{
	u32 bytes = s->l.fr_bytes & FIELD_MASK;
	u64 off = w->fr - w->win;

	if (w->win_last && off <= w->win_last)
		return off;
	count_reads(s, 1);
	if (s->l.ts_datastack != ABI_NO_OFF && w->low - w->fr < NEAR_BYTES) {
		u64 win = window_start(w, w->fr + bytes - WINDOW_BYTES);
		u64 len = w->fr + bytes - win;

		barrier_var(len);
		if (len <= WINDOW_BYTES && !read_user(s->frames, len, win)) {
			w->win = win;
			w->win_last = len - bytes;
			return len - bytes;
		}
		w->win_last = 0;	/* it may be half overwritten */
		count_reads(s, FAULT_READS);
	}
	barrier_var(bytes);
	bytes &= FIELD_MASK;
	return read_user(s->frames + SINGLE_POS, bytes, w->fr + s->l.fr_base) ? -1 : SINGLE_POS;
}

/* _PyInterpreterFrame.owner (3.11+, Include/internal/pycore_frame.h) */
#define FRAME_OWNED_BY_GENERATOR 1

/* End the walk: the memory does not contain a stack. */
static __always_inline int discard_stack(struct scratch *s, struct walk *w)
{
	w->n = 0;
	s->sample.flags = (s->sample.flags & RAW_GC) | RAW_UNREADABLE;
	s->sample.gc_at = 0;
	return 1;
}

struct cframe {
	u64 frame, previous;
};

/*
 * Is this a valid _PyCFrame? Only the thread's first one, which is part of PyThreadState,
 * has no previous one. It has no frame, either. Another one without a frame (greenlet makes
 * such) directly follows the first one.
 */
static __always_inline bool is_cframe(const struct cframe *c, u64 addr, u64 ts)
{
	if (addr - ts < ABI_TS_BYTES)
		return true;
	return c->frame ? c->previous : c->previous - ts < ABI_TS_BYTES;
}

/*
 * Start again with the caller's frames. In 3.11 and 3.12, when C calls the interpreter,
 * tstate->cframe is set to the new _PyCFrame some instructions before that is filled in
 * (v3.12.0, Python/ceval.c, _PyEval_EvalFrameDefault()); until then its memory has an old
 * one, or anything. In a valid chain, the first entry frame (3.12: shim) was entered from
 * the frame in the previous _PyCFrame. If that is not so, the stack begins at the previous
 * _PyCFrame. If the same check fails for that one, its address was invalid, too.
 */
static __always_inline int walk_from_caller(struct scratch *s, struct walk *w)
{
	struct cframe c;

	if (w->from_caller)
		return discard_stack(s, w);
	count(CNT_ENTERING);
	s->sample.flags &= RAW_GC;
	s->sample.gc_at = 0;
	w->from_caller = 1;
	w->entered = 0;
	w->n = 0;
	w->shim = 1;
	w->fr = w->entered_from;
	w->low = w->fr + 1;
	w->unchecked = w->caller_cframe != 0;
	if (!w->caller_cframe)
		return 0;
	/* It may belong to a call that has returned, and its memory may have been used again. */
	if (read_user(&c, sizeof(c), w->caller_cframe + s->l.cframe_frame) ||
	    !is_cframe(&c, w->caller_cframe, w->ts))
		return discard_stack(s, w);
	w->entered_from = c.frame;
	return 0;
}

/*
 * Offset in the bytecode, in bytes. ip is the word at fr_ip: an address, or an int that is
 * -1 before the first instruction.
 */
static __always_inline u32 offset_of(const struct scratch *s, u64 code, u64 ip, u32 tlbc)
{
	s64 lasti;
	u64 start;

	if (s->l.lasti_unit) {
		lasti = (s64)(s32)ip * s->l.lasti_unit;
	} else {
		start = tlbc ? own_bytecode(code, tlbc) : code + s->l.co_code;
		lasti = start ? (s64)(ip - start) : -1;
	}
	return lasti < 0 || lasti > RAW_LASTI_NONE ? RAW_LASTI_NONE : lasti;
}

/*
 * Frame n has no readable code object: is this no stack at all? Yes if it is the first
 * frame, because running code is in memory. Yes if the frame before it has none, either:
 * then these are objects whose types form an endless chain, and no frames.
 */
static __always_inline bool is_no_stack(const struct raw_sample *s, u32 n)
{
	return !n || !s->frames[(n - 1) & (ABI_MAX_FRAMES - 1)].id;
}

/*
 * Is this frame the caller of the first one? A call makes the new frame current some instructions
 * before it stores the caller in it (v3.12.1, Python/ceval_macros.h, DISPATCH_INLINED(), as gcc 12
 * compiles it). Until then the field has the caller of a frame that was at this address before,
 * perhaps of a call that has returned. The true caller, or the next frame below that is in the
 * same chunk of the data stack, ends where the new frame begins.
 */
static __always_inline bool is_caller(struct scratch *s, struct walk *w, u64 fr, u64 code)
{
	u32 room;

	if (fr < w->chunk || fr >= w->entered) {	/* in another chunk: cannot be checked */
		w->entered = 0;
		return true;
	}
	room = frame_room(s, code);
	if (room && fr + room != w->entered) {
		count(CNT_ENTERING);
		return false;
	}
	w->entered = 0;
	return true;
}

/* Is the first frame on the data stack (3.11+), and has it executed no instruction yet? */
static __always_inline bool has_not_begun(const struct scratch *s, const struct walk *w, u64 fr)
{
	return s->l.fr_owner != ABI_NO_OFF && fr - w->chunk < CHUNK_BYTES &&
	       s->sample.frames[0].lasti == RAW_LASTI_NONE;
}

/* No frame called the last one. Is that where an intact chain ends? Returns as walk_step(). */
static __always_inline int end_of_chain(struct scratch *s, struct walk *w)
{
	struct raw_sample *out = &s->sample;

	if (w->unchecked)
		return walk_from_caller(s, w);
	if (w->by_generator && out->frames[0].lasti == RAW_LASTI_NONE)
		return discard_stack(s, w);
	if (s->l.end_shim && !w->shim)
		out->flags |= RAW_BROKEN_END;
	return 1;
}

/* The frame at fr belongs to the stack; owner is its _PyInterpreterFrame.owner. */
static __always_inline void keep_frame(struct scratch *s, struct walk *w, u64 fr, u32 owner,
				       struct raw_frame raw)
{
	s->sample.frames[w->n & (ABI_MAX_FRAMES - 1)] = raw;
	/*
	 * A call makes the new frame current before it stores its caller (3.11.2 built by gcc 12).
	 * Until then the field has the last caller of a frame at this address. If that was a
	 * generator's frame, and the generator is suspended now, the chain ends at it.
	 */
	w->by_generator = w->n && owner == FRAME_OWNED_BY_GENERATOR;
	if (!w->n && !owner && has_not_begun(s, w, fr))
		w->entered = fr;
	w->n++;
}

/* Process one frame. 0: go on; 1: the chain has ended or cannot be followed. */
static __always_inline int walk_step(struct scratch *s, struct code_cache *cache,
				     struct walk *w)
{
	struct raw_sample *out = &s->sample;
	u64 code, ip, fr = w->fr;
	u32 pos, id, owner = 0, tlbc = 0;
	s32 at;

	if (w->out_of_time) {
		out->flags |= RAW_TRUNCATED;
		count(CNT_CUT_OFF);
		return 1;
	}
	if (!fr)
		return end_of_chain(s, w);
	at = fetch_frame(s, w);
	if (at < 0) {
		if (w->unchecked)
			return walk_from_caller(s, w);
		out->flags |= RAW_UNREADABLE;
		return 1;
	}
	pos = at;
	barrier_var(pos);	/* the verifier does not know the
				 * bounds that the compiler has derived */
	if (pos > SINGLE_POS)
		return 1;
#define FRAME_FIELD(type, field) (*(type *)(s->frames + pos + (s->l.field & FIELD_MASK)))
	code = FRAME_FIELD(u64, fr_code) & ~(u64)s->l.code_tag_mask;
	ip = FRAME_FIELD(u64, fr_ip);
	if (s->l.fr_owner != ABI_NO_OFF)
		owner = FRAME_FIELD(u8, fr_owner);
	if (s->l.fr_tlbc_index != ABI_NO_OFF)
		tlbc = FRAME_FIELD(u32, fr_tlbc_index);
	w->fr = FRAME_FIELD(u64, fr_previous);
	w->shim = owner >= s->l.skip_owner;
	/* 3.12 enters a frame only through a shim, whose owner may not be stored yet. */
	if (w->unchecked && s->l.end_shim && w->fr && w->fr == w->entered_from)
		w->shim = 1;
	if (w->unchecked &&
	    (w->shim || (s->l.fr_is_entry != ABI_NO_OFF && FRAME_FIELD(u8, fr_is_entry)))) {
		if (w->fr != w->entered_from)
			return walk_from_caller(s, w);
		w->unchecked = 0;
	}
#undef FRAME_FIELD
	if (w->shim || !code)
		return 0;
	if (!owner) {
		w->low = fr;
		if (w->entered && !is_caller(s, w, fr, code))
			return discard_stack(s, w);
	}
	if (w->n >= ABI_MAX_FRAMES) {
		out->flags |= RAW_TRUNCATED;
		return 1;
	}
	if (fr == w->gc_frame) {
		out->gc_at = w->n;
		out->flags |= RAW_GC;
	}
	id = code_id(cache, code, w->stamp);
	if (w->unchecked && !id && is_no_stack(out, w->n))
		return walk_from_caller(s, w);
	if (id == CODE_ID_HIDDEN)
		return 0;
	keep_frame(s, w, fr, owner, (struct raw_frame){
		.code = code,
		.lasti = offset_of(s, code, ip, tlbc),
		.id = id,
	});
	return 0;
}

/*
 * Some steps of the walk; 1: it is over. Has external linkage so that the verifier checks
 * STEPS_A_CALL steps and not all of them.
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

static __always_inline void walk_frames(struct scratch *s)
{
	u32 i;

#pragma clang loop unroll(disable)
	for (i = 0; i < MAX_STEPS / STEPS_A_CALL; i++)
		if (walk_steps())
			return;
	s->sample.flags |= RAW_TRUNCATED;
}

/* Find out whether a collection is going on, and which frame was current when it began. */
static __always_inline void find_gc(struct scratch *s, struct py_proc *p, u64 is, struct walk *w)
{
	u64 at = p->collecting;
	u32 collecting = 0;

	if (p->l.interp_gc_collecting != ABI_NO_OFF32)
		at = is + p->l.interp_gc_collecting;
	if (!at || read_user(&collecting, 4, at) || !collecting)
		return;
	/*
	 * If others run during a collection, the thread collects whose stack has the frame:
	 * see walk_step().
	 */
	if (!p->l.gc_by_frame)
		s->sample.flags |= RAW_GC;
	if (p->l.interp_gc_frame != ABI_NO_OFF32)
		read_user(&w->gc_frame, 8, is + p->l.interp_gc_frame);
}

/*
 * Replace w->fr, a _PyCFrame's address, by its frame, and check its predecessor. 0, or -1:
 * unreadable.
 */
static __always_inline int read_cframe(struct py_proc *p, struct walk *w, u64 ts)
{
	struct cframe c, caller;
	u64 addr = w->fr;

	if (read_user(&c, sizeof(c), addr + p->l.cframe_frame))
		return -1;
	w->fr = c.frame;
	w->unchecked = c.previous || !is_cframe(&c, addr, ts);
	w->from_caller = !c.previous ||
			 read_user(&caller, sizeof(caller), c.previous + p->l.cframe_frame) ||
			 !is_cframe(&caller, c.previous, ts);
	w->entered_from = 1;	/* no frame has this address */
	if (w->from_caller)
		return 0;
	w->entered_from = caller.frame;
	if (caller.previous)
		w->caller_cframe = caller.previous;
	return 0;
}

static __always_inline u32 interpreter_id(struct py_proc *p, u64 is)
{
	u32 id = 0;

	if (is == p->main_interp || p->l.interp_id == ABI_NO_OFF32)
		return 0;
	if (!read_user(&id, 4, is + p->l.interp_id) && !id)
		p->main_interp = is;
	return id;
}

static __always_inline u64 code_stamp(struct scratch *s, struct py_proc *p, u64 is)
{
	u64 addr = p->epoch, epoch = ++s->seq;
	u32 e;

	if (p->l.interp_epoch != ABI_NO_OFF32)
		addr = is + p->l.interp_epoch;
	/*
	 * 0: the counter has overflowed and does not count any more (3.12, 3.13), so
	 * nothing may be cached.
	 */
	if (addr && !read_user(&e, 4, addr) && e)
		return (p->ident ^ is * 0x9e3779b97f4a7c15ULL) + (u64)e * 0xbf58476d1ce4e5b9ULL;
	return epoch * 0x94d049bb133111ebULL ^ p->ident;
}

/*
 * Read the state up to the last field that is needed, rounded up to a size that every
 * version's state has. The sizes are constants because the verifiers of 5.10 and 6.1 lose
 * the bounds of a computed one.
 */
static __always_inline int read_state(struct scratch *s, struct py_proc *p, u64 ts)
{
	if (p->l.ts_bytes <= 192)
		return read_user(s->ts, 192, ts);
	if (p->l.ts_bytes <= 288)
		return read_user(s->ts, 288, ts);
	if (p->l.ts_bytes <= 352)
		return read_user(s->ts, 352, ts);
	return read_user(s->ts, ABI_TS_BYTES, ts);
}

/*
 * Why a thread state could not be read. It is no loss if the C library has not started yet
 * (no thread pointer), if the process is executing another program (no memory), or after
 * Py_Finalize(), which frees the state.
 */
static __always_inline enum counter why_unreadable(const struct py_proc *p, u64 tp)
{
	u64 head;

	if (!tp || current_is_in_exec())
		return CNT_NOT_READY;
	return read_user(&head, 8, p->interps) || head ? CNT_TSTATE_UNREADABLE : CNT_NATIVE_THREAD;
}

/*
 * Read the current thread's state into s->ts. Returns CNT_SAMPLE, or the counter for why
 * there is none.
 *
 * A thread that exits has none: the kernel clears its tid (clear_child_tid) before it
 * releases the memory, and from then on the C library may give its stack, which contains
 * its struct pthread and its thread-local storage, to a new thread. The state found there
 * would be that thread's, while that thread runs.
 */
static __always_inline enum counter read_tstate(struct scratch *s, struct py_proc *p, u64 tp,
						u64 self, u64 sp, u64 *tstate)
{
	u64 ts, running;

	if (current_flags() & PF_EXITING)
		return CNT_NATIVE_THREAD;
	ts = find_tstate(s, p, tp, self);
	if (ts > TSTATE_UNCERTAIN) {
		*tstate = ts;
		if (read_state(s, p, ts))
			ts = TSTATE_UNREADABLE;
	}
	if (ts > TSTATE_UNCERTAIN) {
		if (p->l.gil_how != PY_GIL_RT_CURRENT)
			return CNT_SAMPLE;
		running = running_tstate(s, p, self, sp, ts);
		if (running == ts)
			return CNT_SAMPLE;
		ts = running;
		*tstate = ts;
		if (ts > TSTATE_UNCERTAIN)
			return read_state(s, p, ts) ? why_unreadable(p, tp) : CNT_SAMPLE;
	}
	if (ts == TSTATE_UNREADABLE)
		return why_unreadable(p, tp);
	if (ts == TSTATE_UNCERTAIN)
		return CNT_TSTATE_UNCERTAIN;
	if (is_unknown(tp) || ((p->tstate_how == PY_TSTATE_TSS_GLIBC ||
		     p->tstate_how == PY_TSTATE_TSS_MUSL) && p->tss_key < 0))
		return CNT_NOT_READY;
	return CNT_NATIVE_THREAD;
}

int is_musl_waiter(u64 cond, u64 futex);
/*
 * Is this futex one of a musl condition variable? In musl (1.1.11 on,
 * src/thread/pthread_cond_timedwait.c) a thread waits on a futex on its own stack, 20 bytes into a
 * list node. The list begins 8 bytes into the variable, the newest node first; the next node's
 * address is 8 bytes into each. Has external linkage so that the verifier checks it once.
 */
#define MUSL_WAITERS_MAX 64
__weak __noinline int is_musl_waiter(u64 cond, u64 futex)
{
	u64 node = cond;
	int i;

#pragma clang loop unroll(disable)
	for (i = 0; i < MUSL_WAITERS_MAX; i++) {
		if (read_user(&node, 8, node + 8) || !node)
			return 0;
		if (node + 20 == futex)
			return 1;
	}
	return 0;
}

/* Does the thread wait for the GIL in this system call? */
static __always_inline bool waits_for_gil(struct py_proc *p, u64 is, const struct user_call *call)
{
	u64 gil = p->gil, futex = futex_waited_for(call);

	if (!futex || !p->l.gil_locks)
		return false;
	if (p->l.interp_gil && read_user(&gil, 8, is + p->l.interp_gil))
		return false;
	if (!gil)
		return false;
	gil += p->l.gil_cond;
	if (futex - gil < p->l.gil_locks)
		return true;
	/* The second condition variable is that of the forced switch. */
	return p->tstate_how == PY_TSTATE_TSS_MUSL &&
	       (is_musl_waiter(gil, futex) || is_musl_waiter(gil + p->l.gil_locks / 2, futex));
}

static __always_inline u8 status_of(struct scratch *s, struct py_proc *p, u64 self, u64 is, u64 ts)
{
	u8 status = 0;

	if (has_gil(s, p, ts))
		status |= STATUS_HAS_GIL;
	if (has_exception(s, p, ts))
		status |= STATUS_HAS_EXCEPTION;
	if (is_main_thread(p, is, ts, self))
		status |= STATUS_MAIN_THREAD;
	return status;
}

/*
 * Walk the current thread: fills s->sample's stack and status. call is NULL if the thread is
 * on-CPU; otherwise the thread leaves its CPU, and call is the system call that it is in. Returns
 * the counter that says how the walk ended; only after CNT_SAMPLE is there a sample to send.
 */
static __always_inline enum counter unwind_python(struct scratch *s, struct py_proc *p, u64 sp,
						  const struct user_call *call)
{
	struct raw_sample *out = &s->sample;
	struct walk *w = &s->walk;
	u64 tp = thread_pointer(), self = self_of(p, tp), ts, is;
	enum counter end;

	s->l = p->l;
	end = read_tstate(s, p, tp, self, sp, &ts);
	if (end != CNT_SAMPLE)
		return end;
	is = ts_u64(s, p->l.ts_interp);
	*w = (struct walk){
		.fr = ts_u64(s, p->l.ts_frame),
		.ts = ts,
		.chunk = ts_u64(s, p->l.ts_datastack),
		.stamp = code_stamp(s, p, is),
	};
	if (p->l.cframe_frame != ABI_NO_OFF && w->fr && read_cframe(p, w, ts))
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
	 * Without a branch, which the verifier would follow: bit 0 of the pointer at offset
	 * 0 is always 0.
	 */
	out->status |= (ts_u32(s, p->l.ts_gil_requested) & 1) * STATUS_GIL_REQUESTED;
	if (call && waits_for_gil(p, is, call))
		out->status |= STATUS_GIL_REQUESTED;
	if (cfg_need_status && !(out->status & cfg_need_status))
		return CNT_UNWANTED;
	if (cfg_gc && (out->status & STATUS_HAS_GIL))
		find_gc(s, p, is, w);
	walk_frames(s);
	out->nframes = w->n;
	/* A stack of which not even one frame could be read is sent, too. */
	return w->n || out->flags & RAW_UNREADABLE ? CNT_SAMPLE : CNT_NO_FRAMES;
}

#endif
