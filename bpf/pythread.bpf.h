/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pythread.bpf.h - finds the PyThreadState of the current thread, and the thread's status: whether
 * it holds the GIL, handles an exception, is the main thread.
 */
#ifndef TACHBPF_PYTHREAD_H
#define TACHBPF_PYTHREAD_H

#include "pylists.bpf.h"

/* Code that only arm64 needs. It is also compiled for user space, so that all tests run it. */
#if defined(__TARGET_ARCH_arm64) || !defined(__bpf__)
#define WITH_ARM64 1
#else
#define WITH_ARM64 0
#endif

/*
 * Returns true if the thread pointer is unknown: after an exec the C library has not set one yet,
 * or (arm64) the kernel has not saved it yet: see thread_pointer_of().
 */
static __always_inline bool is_unknown(u64 tp)
{
	return !tp;
}

/*
 * Thread pointer of the current thread; 0: unknown. On arm64 the kernel may have the value from
 * before an exec. That is not an address in the new program, so a read below it, where the struct
 * pthread would be, fails. In a process of several threads the value is current, because the kernel
 * has saved it at the clone() or at a switch-out.
 */
static __always_inline u64 thread_pointer(const struct task_struct *task)
{
	u64 tp = thread_pointer_of(task), word;

	if (WITH_ARM64 && tp && current_is_alone() && read_user(&word, 8, tp - 8))
		return 0;
	return tp;
}

/* pthread_self(), which on arm64 is not the thread pointer; 0: unknown. tp: the thread pointer. */
static __always_inline u64 self_of(const struct py_proc *p, u64 tp)
{
	return WITH_ARM64 && tp ? tp - p->self_below : tp;
}

/* ---- thread state: its address, or TSTATE_* ---- */

/* CPython's key for pthread_getspecific(); negative: CPython has not created it yet. */
static __always_inline s32 tss_key(struct py_proc *p)
{
	struct {
		s32 initialized;
		s32 key;
	} tss;

	if (p->tss_key >= 0)
		return p->tss_key;
	if (read_user(&tss, sizeof(tss), p->tss - 4) || (p->l.tss_flag && !tss.initialized))
		return -1;
	p->tss_key = tss.key;
	return tss.key;
}

/*
 * Offsets in struct pthread. glibc's (nptl/descr.h) has specific_1stblock and then specific[], the
 * pointers to further blocks; a block has 512 bytes and 32 keys. The struct's header has 704 bytes
 * on x86-64 and 192 on arm64. musl's (1.2, src/internal/pthread_impl.h) has tsd, a pointer to an
 * array with one pointer for each key. TCB_DTV: the DTV's address, counted from the thread pointer.
 */
#ifdef __TARGET_ARCH_arm64
#define PTHREAD_1STBLOCK 0x110
#define PTHREAD_MUSL_TSD 0x70
#define TCB_DTV 0
#else
#define PTHREAD_1STBLOCK 0x310
#define PTHREAD_MUSL_TSD 0x80
#define TCB_DTV 8
#endif
#define PTHREAD_SPECIFIC (PTHREAD_1STBLOCK + 512)

/*
 * Functions named place_ return the address of the PyThreadState's location instead, which is above
 * all TSTATE_*.
 */

/* PY_TSTATE_TSS_GLIBC. self: pthread_self(). */
static __always_inline u64 place_by_tss(struct scratch *s, struct py_proc *p, u64 self)
{
	u64 block = self + PTHREAD_1STBLOCK;
	s32 key = tss_key(p);

	if ((u32)key >= 1024)	/* PTHREAD_KEYS_MAX */
		return TSTATE_NONE;
	if (key >= 32) {
		if (read_u64(s, &block, self + PTHREAD_SPECIFIC + 8 * (key >> 5)))
			return TSTATE_UNREADABLE;
		if (!block)
			return TSTATE_NONE;
	}
	return block + 16 * (key & 31) + 8;
}

/* PY_TSTATE_TSS_MUSL. self: pthread_self(). */
static __always_inline u64 place_by_musl(struct scratch *s, struct py_proc *p, u64 self)
{
	s32 key = tss_key(p);
	u64 tsd;

	if ((u32)key >= 128)	/* PTHREAD_KEYS_MAX */
		return TSTATE_NONE;
	if (read_u64(s, &tsd, self + PTHREAD_MUSL_TSD))
		return TSTATE_UNREADABLE;
	return tsd ? tsd + 8 * key : TSTATE_NONE;
}

/* PY_TSTATE_TLS_DTV, PY_TSTATE_TLS_DTV_MUSL. index_at: address of the tls_index. */
static __always_inline u64 place_by_dtv(struct scratch *s, struct py_proc *p, u64 tp,
					u64 index_at)
{
	u64 dtv, block, module, offset, entry = p->tstate_how == PY_TSTATE_TLS_DTV_MUSL ? 8 : 16;

	if (read_words(index_at, 2))	/* a tls_index */
		return TSTATE_UNREADABLE;
	module = s->words[0];
	offset = s->words[1];
	if (read_u64(s, &dtv, tp + TCB_DTV))
		return TSTATE_UNREADABLE;
	/* The block is -1 (glibc) or 0 (musl) if this thread has none of that module so far. */
	if (module > 4096 || read_u64(s, &block, dtv + entry * module))
		return TSTATE_UNREADABLE;
	if (block + 1 <= 1)
		return TSTATE_NONE;
	return block + offset + p->tls_off;
}

/*
 * PY_TSTATE_TLS_DESC. A TLS descriptor is a resolver and its argument. If the library was loaded
 * with the program, the argument is the variable's offset from the thread pointer; otherwise it is
 * the address of a tls_index (glibc's sysdeps/aarch64/tlsdesc.c). The size distinguishes them: no
 * program starts with a MiB of TLS, and no heap is below 1 MiB.
 */
#define TLSDESC_OFFSET_MAX (1024 * 1024)
static __always_inline u64 place_by_desc(struct scratch *s, struct py_proc *p, u64 tp)
{
	struct {
		u64 resolver, arg;
	} desc;

	if (read_user(&desc, sizeof(desc), p->tls_index))
		return TSTATE_UNREADABLE;
	if (!desc.resolver)	/* the dynamic linker has not filled it in yet */
		return TSTATE_NONE;
	if (desc.arg >= TLSDESC_OFFSET_MAX)
		return place_by_dtv(s, p, tp, desc.arg);
	return tp + desc.arg + p->tls_off;
}

/* PY_TSTATE_LIST: by the thread_id. */
static __always_inline u64 tstate_by_list(struct scratch *s, struct py_proc *p, u64 self)
{
	s->list = (struct list_walk){ .how = LIST_BY_ID, .self = self };
	return search_lists(s, p->interps);
}

/* For an unknown thread pointer: the only state of a process with one thread and interpreter. */
static __always_inline u64 tstate_alone(struct py_proc *p)
{
	u64 is, ts, next;

	/* No interpreter exists before the list of interpreters is first written. */
	if (!current_is_alone() || read_user(&is, 8, p->interps) || !is)
		return TSTATE_NONE;
	if (read_user(&next, 8, is + p->l.interp_next) ||
	    read_user(&ts, 8, is + p->l.interp_threads_head))
		return TSTATE_UNREADABLE;
	if (next || !ts)
		return TSTATE_NONE;
	if (read_user(&next, 8, ts + p->l.ts_next))
		return TSTATE_UNREADABLE;
	return next ? TSTATE_NONE : ts;
}

/*
 * Where it is in a program that has it elsewhere than most. Not inline, out of the way of the
 * others.
 */
static __noinline u64 place_otherwise(struct scratch *s, struct py_proc *p, u64 tp, u64 self)
{
	switch (p->tstate_how) {
	case PY_TSTATE_TSS_MUSL:
		return place_by_musl(s, p, self);
	case PY_TSTATE_TLS_DTV:
	case PY_TSTATE_TLS_DTV_MUSL:
		return place_by_dtv(s, p, tp, p->tls_index);
	case PY_TSTATE_TLS_DESC:
		return WITH_ARM64 ? place_by_desc(s, p, tp) : TSTATE_NONE;
	}
	return TSTATE_NONE;
}

/*
 * Find the current thread's state, up to 3.11 the first one that it ever had, and read it into
 * s->ts. tp: its thread pointer. self: its pthread_self(). Returns its address, or TSTATE_*.
 */
static __always_inline u64 find_tstate(struct scratch *s, struct py_proc *p, u64 tp, u64 self)
{
	u64 place = 0, ts;

	s->ahead_at = NOWHERE;
	if (unlikely(is_unknown(tp)))
		ts = WITH_ARM64 ? tstate_alone(p) : TSTATE_NONE;
	else if (p->tstate_how == PY_TSTATE_LIST)
		ts = tstate_by_list(s, p, self);
	else if (p->tstate_how == PY_TSTATE_TSS_GLIBC)
		ts = place = place_by_tss(s, p, self);
	else if (p->tstate_how == PY_TSTATE_TLS_TP)
		ts = place = tp + p->tls_off;
	else
		ts = place = place_otherwise(s, p, tp, self);
	if (unlikely(ts <= TSTATE_UNCERTAIN))
		return ts;
	return read_first(place, ts, p->l.gil_how == PY_GIL_RT_CURRENT ? p->current : p->epoch);
}

/*
 * Where the C stack of the current thread ends, which has the stack pointer sp: below its struct
 * pthread, or (the main thread) anywhere. near: a thread without a known state may have switched to
 * a stack of its own making, which other threads' stacks may follow, so only what is near sp
 * counts.
 */
static __always_inline u64 c_stack_end(u64 self, u64 sp, bool near)
{
	u64 end = self < sp ? ~0ULL : self;

	return near && end - sp > NEAR_C_STACK_BYTES ? sp + NEAR_C_STACK_BYTES : end;
}

/*
 * Determine whether the current thread runs the state holder, which holds the GIL: then the
 * holder's _PyCFrame is in this thread's C stack. Without ts_cframe (or sp) only its thread_id
 * shows it, which may be that of the state's creator: enough for a thread whose key leads to no
 * state (ts is 0), or if there is no other thread. Returns holder, TSTATE_NONE or TSTATE_UNCERTAIN.
 */
static __always_inline u64 holder_of_self(struct scratch *s, u64 holder, u64 self, u64 sp, u64 ts)
{
	bool by_stack = s->l.ts_cframe != ABI_NO_OFF && sp;
	u64 word;

	if (!holder ||
	    read_u64(s, &word, holder + (by_stack ? s->l.ts_cframe : s->l.ts_thread_id)))
		return TSTATE_NONE;
	if (by_stack)
		return word >= sp && word < c_stack_end(self, sp, true) ? holder : TSTATE_NONE;
	if (word != self)
		return TSTATE_NONE;
	return ts && !current_is_alone() ? TSTATE_UNCERTAIN : holder;
}

u64 running_by_list(u64 self, u64 sp, u64 ts, u64 interps);
/*
 * Search the lists for the state that the thread runs: see running_tstate(). interps:
 * py_proc.interps. With external linkage, so that the verifier checks it once: few processes have
 * two interpreters.
 */
__weak __noinline u64 running_by_list(u64 self, u64 sp, u64 ts, u64 interps)
{
	struct scratch *s;
	bool by_stack;
	u32 zero = 0;
	u64 found;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return TSTATE_UNCERTAIN;
	by_stack = s->l.ts_cframe != ABI_NO_OFF;
	if (by_stack ? !sp : !!ts)
		return TSTATE_UNCERTAIN;
	s->list = (struct list_walk){
		.how = by_stack ? LIST_BY_C_STACK : LIST_BY_ID_AND_FRAMES,
		.self = self,
		.sp = sp,
		.sp_end = c_stack_end(self, sp, !ts),
	};
	found = search_lists(s, interps);
	return found ? found : ts;	/* ts if the thread runs no Python */
}

/*
 * The state that the thread runs (up to 3.11). ts is the result of find_tstate(), and must be in
 * s->ts: the first state that the thread ever had, whatever interpreter it runs now (v3.11.0,
 * Python/pystate.c, _PyGILState_NoteThreadStateCore()). ts is TSTATE_NONE if the thread never had
 * one, or if that was deleted: mod_wsgi makes a second state, deletes the first, and swaps in the
 * second. p->by_hand says that a thread of this process has swapped in a state like that. sp: the
 * thread's stack pointer; 0: unknown.
 *
 * The right state is the GIL's holder, if ts or holder_of_self() says so. Otherwise it is ts, if
 * there is only one interpreter. Otherwise it is the innermost state whose _PyCFrame is in this
 * thread's C stack. Without ts_cframe it is the GIL's holder if the process has only one thread,
 * or, for a thread without ts, the only state that has the thread's id and frames.
 */
static __always_inline u64 running_tstate(struct scratch *s, struct py_proc *p, u64 self, u64 sp,
					  u64 ts)
{
	bool by_stack = p->l.ts_cframe != ABI_NO_OFF;
	u64 current, head, next, found;

	if (unlikely(read_ahead(s, &current, p->current)))
		return ts ? TSTATE_UNREADABLE : TSTATE_NONE;
	s->gil_holder = current;
	if (likely(ts && current == ts))
		return ts;
	if (!sp)
		sp = current_user_sp();
	found = holder_of_self(s, current, self, sp, ts);
	if (found > TSTATE_UNCERTAIN)
		p->by_hand = 1;
	if (found || (!ts && !p->by_hand))
		return found;
	if (read_u64(s, &head, p->interps))
		return TSTATE_UNREADABLE;
	if (!head)	/* after Py_Finalize(); the key keeps its value */
		return TSTATE_NONE;
	if (read_u64(s, &next, head + p->l.interp_next))
		return TSTATE_UNREADABLE;
	if (ts && !next && head == ts_u64(s, p->l.ts_interp) && !(by_stack && p->by_hand))
		return ts;
	if (ts && !by_stack && current && current_is_alone())
		return current;
	return running_by_list(self, sp, ts, p->interps);
}

/* ---- status ---- */

/*
 * is_main_thread() for a thread that runs a sub-interpreter (3.14+): returns true if the main
 * interpreter's state that runs the main program is this thread's. Before that interpreter was
 * seen, the process' first thread is the main one.
 */
static __always_inline bool is_main_in_sub(struct scratch *s, const struct py_proc *p, u64 self)
{
	u64 pid_tgid = bpf_get_current_pid_tgid(), main, id;

	if (!p->main_interp)
		return (u32)pid_tgid == pid_tgid >> 32;
	return !read_u64(s, &main, p->main_interp + p->l.interp_threads_main) && main &&
	       !read_u64(s, &id, main + p->l.ts_thread_id) && id == self;
}

/*
 * is_main_thread() for a thread that is not the main one as far as is known. me: what identifies
 * it. Not inline, out of the way of the main thread.
 */
static __noinline bool is_main_now(struct scratch *s, struct py_proc *p, u64 is, u64 me, u64 self)
{
	bool by_state = p->l.interp_threads_main != ABI_NO_OFF32;
	bool known = p->main_thread && !(WITH_ARM64 && is_unknown(me));
	u8 second = s->began_ns >> 30;
	u64 main;

	if (by_state && is != p->main_interp)
		return is_main_in_sub(s, p, self);
	if (known && p->main_second == second)
		return false;
	if (by_state) {
		if (read_u64(s, &main, is + p->l.interp_threads_main))
			return false;
	} else {
		/* pthread_self() can only be unknown for the first thread. */
		if (!p->main_id || (WITH_ARM64 && is_unknown(self))) {
			u64 pid_tgid = bpf_get_current_pid_tgid();

			return (u32)pid_tgid == pid_tgid >> 32;
		}
		if (read_u64(s, &main, p->main_id))
			return false;
	}
	if (main == me)
		p->main_thread = me;
	if (main == p->main_thread)
		p->main_second = second;
	return main == me;
}

/*
 * Returns true for the main thread. From 3.14 on, each interpreter has a state that runs its main
 * program; the main interpreter's decides. A child that another thread has forked has none. Up to
 * 3.13 CPython records the main thread's pthread_t. As soon as the main thread itself was seen, it
 * is read once a second (2^30 ns) for the others.
 */
static __always_inline bool is_main_thread(struct scratch *s, struct py_proc *p, u64 is, u64 ts,
					  u64 self)
{
	bool by_state = p->l.interp_threads_main != ABI_NO_OFF32;
	u64 me = by_state ? ts : self;

	if (me && p->main_thread == me && (!by_state || is == p->main_interp))
		return true;
	return is_main_now(s, p, is, me, self);
}

/* Returns true if the thread with the state ts holds the GIL. */
static __always_inline bool has_gil(struct scratch *s, struct py_proc *p, u64 ts)
{
	if (p->l.gil_how == PY_GIL_TS_MASK)
		return ts_u32(s, p->l.ts_gil) & p->l.ts_gil_mask;
	return p->l.gil_how == PY_GIL_RT_CURRENT && s->gil_holder == ts;
}

/*
 * Returns true if the value of an exception slot is an exception. Up to 3.12 a slot may contain
 * None. If None's address is unknown, the value's type decides: Py_TPFLAGS_BASE_EXC_SUBCLASS in
 * tp_flags (Include/object.h; ob_type at 8 and tp_flags at 168 in all builds with a GIL).
 */
static __always_inline bool is_exception(struct scratch *s, u64 value)
{
	u64 type = 0, flags = 0;

	if (!value || s->none)
		return value && value != s->none;
	return !read_u64(s, &type, value + 8) && !read_u64(s, &flags, type + 168) &&
	       flags >> 30 & 1;
}

int is_handled(u64 item, u64 bottom);
/*
 * Returns true if a frame handles an exception. Looks at the stack items from item to bottom, the
 * embedded one, and sets s->exception. With external linkage: most threads have only the embedded
 * item, and the verifier would follow each.
 */
__weak __noinline int is_handled(u64 item, u64 bottom)
{
	struct scratch *s;
	u32 zero = 0, i;
	const u64 *e;	/* up to 3.10: type, value, traceback, previous; then: value, previous */
	u64 previous;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 0;
	e = s->words;
#pragma clang loop unroll(disable)
	for (i = 0; i < MAX_EXC_ITEMS && item && item != bottom; i++) {
		if (read_words(item, 4))
			return 0;
		s->exception = e[0];
		previous = e[s->l.exc_previous / 8 & 3];
		if (is_exception(s, s->exception))
			return 1;
		item = previous;
	}
	s->exception = ts_u64(s, s->l.ts_exc_state);
	return item == bottom && is_exception(s, s->exception);
}

/*
 * Returns true if an exception propagates, or a frame of this thread handles one; sets s->exception
 * to it. Generators have stack items of their own, linked by previous_item. The slot of an unused
 * item has NULL, or None in 3.11 and 3.12.
 */
static __always_inline bool has_exception(struct scratch *s, struct py_proc *p, u64 ts)
{
	u64 bottom = ts + p->l.ts_exc_state, item = bottom;

	s->exception = ts_u64(s, p->l.ts_exc_current);
	if (s->exception)
		return true;
	if (p->l.ts_exc_info != ABI_NO_OFF)
		item = ts_u64(s, p->l.ts_exc_info);
	s->none = p->none;
	if (item == bottom) {
		s->exception = ts_u64(s, p->l.ts_exc_state);
		if (!s->exception || s->exception == s->none)
			return false;
	}
	return is_handled(item, bottom);
}

#endif
