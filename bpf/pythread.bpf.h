/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pythread.bpf.h - from the current thread to its PyThreadState, and what that says:
 * holds the GIL, handles an exception.
 */
#ifndef TACHBPF_PYTHREAD_H
#define TACHBPF_PYTHREAD_H

#include "pyscratch.bpf.h"

/* ---- thread state ---- */

/*
 * glibc's struct pthread (nptl/descr.h): specific_1stblock, then specific[]; 32 keys a block of
 * 512 bytes. It begins with a header of 704 bytes on x86-64 and of 192 on arm64, where it
 * lies below the thread pointer.
 */
#ifdef __TARGET_ARCH_arm64
#define PTHREAD_1STBLOCK 0x110
#define TCB_DTV 0
#else
#define PTHREAD_1STBLOCK 0x310
#define TCB_DTV 8
#endif
#define PTHREAD_SPECIFIC (PTHREAD_1STBLOCK + 512)

static __always_inline u64 tstate_by_tss(struct py_proc *p, u64 self)
{
	struct {
		s32 initialized;
		s32 key;
	} tss;
	u64 ts = 0, block = self + PTHREAD_1STBLOCK;
	s32 key = p->tss_key;

	if (key < 0) {
		if (read_user(&tss, sizeof(tss), p->runtime + p->l.rt_tss_key) || !tss.initialized)
			return 0;
		key = tss.key;
		p->tss_key = key;
	}
	if ((u32)key >= 1024)	/* PTHREAD_KEYS_MAX */
		return 0;
	if (key >= 32 && (read_user(&block, 8, self + PTHREAD_SPECIFIC + 8 * (key >> 5)) || !block))
		return 0;
	read_user(&ts, 8, block + 16 * (key & 31) + 8);
	return ts;
}

static __always_inline u64 tstate_by_dtv(struct py_proc *p, u64 tp, u64 index_at)
{
	struct {
		u64 module, offset;
	} index;
	u64 dtv, block, ts = 0;

	if (read_user(&index, sizeof(index), index_at) || read_user(&dtv, 8, tp + TCB_DTV))
		return 0;
	/* An entry is 16 bytes; -1: this thread has no block of that module yet. */
	if (index.module > 4096 || read_user(&block, 8, dtv + 16 * index.module) ||
	    block + 1 <= 1)
		return 0;
	read_user(&ts, 8, block + index.offset + p->tls_off);
	return ts;
}

/*
 * A TLS descriptor is a resolver and its argument. That is the variable's offset from the
 * thread pointer where the library was loaded with the program, else the address of a
 * tls_index (glibc's sysdeps/aarch64/tlsdesc.c). No program has a MiB of TLS from its start,
 * and none has a heap below one.
 */
#define TLSDESC_OFFSET_MAX (1024 * 1024)
static __always_inline u64 tstate_by_desc(struct py_proc *p, u64 tp)
{
	struct {
		u64 resolver, arg;
	} desc;
	u64 ts = 0;

	/* No resolver: the dynamic linker has not got so far. */
	if (read_user(&desc, sizeof(desc), p->tls_index) || !desc.resolver)
		return 0;
	if (desc.arg >= TLSDESC_OFFSET_MAX)
		return tstate_by_dtv(p, tp, desc.arg);
	read_user(&ts, 8, tp + desc.arg + p->tls_off);
	return ts;
}

/* The last resort: look through the lists for a state of this thread. */
static __always_inline u64 tstate_by_list(struct py_proc *p, u64 self)
{
	u64 is = 0, ts = 0, id;
	int i, k;

	if (read_user(&is, 8, p->runtime + p->l.rt_interp_head))
		return 0;
	for (i = 0; i < MAX_INTERPRETERS && is; i++) {
		if (read_user(&ts, 8, is + p->l.is_threads_head))
			return 0;
		for (k = 0; k < MAX_THREADS && ts; k++) {
			if (read_user(&id, 8, ts + p->l.ts_thread_id))
				return 0;
			if (id == self)
				return ts;
			if (read_user(&ts, 8, ts + p->l.ts_next))
				return 0;
		}
		if (read_user(&is, 8, is + p->l.is_next))
			return 0;
	}
	return 0;
}

/* The only state in an only interpreter: an only thread's. */
static __always_inline u64 tstate_alone(struct py_proc *p)
{
	u64 is = 0, ts = 0, next = 0;

	if (!current_is_alone() || read_user(&is, 8, p->runtime + p->l.rt_interp_head) || !is ||
	    read_user(&next, 8, is + p->l.is_next) || next ||
	    read_user(&ts, 8, is + p->l.is_threads_head) || !ts ||
	    read_user(&next, 8, ts + p->l.ts_next) || next)
		return 0;
	return ts;
}

static __always_inline u64 find_tstate(struct py_proc *p, u64 tp)
{
	u64 ts = 0;

	if (!tp)	/* not known yet: see current_thread_pointer() */
		return tstate_alone(p);
	switch (p->tstate_how) {
	case PY_TSTATE_TSS_GLIBC:
		return tstate_by_tss(p, tp - p->self_below);
	case PY_TSTATE_TLS_TP:
		read_user(&ts, 8, tp + p->tls_off);
		return ts;
	case PY_TSTATE_TLS_DTV:
		return tstate_by_dtv(p, tp, p->tls_index);
	case PY_TSTATE_TLS_DESC:
		return tstate_by_desc(p, tp);
	case PY_TSTATE_LIST:
		return tstate_by_list(p, tp - p->self_below);
	}
	return 0;
}

/* ---- status ---- */

static __always_inline bool has_gil(struct scratch *s, struct py_proc *p, u64 ts)
{
	u64 current = 0;

	if (p->l.gil_how == PY_GIL_TS_MASK)
		return ts_u32(s, p->l.ts_gil) & p->l.ts_gil_mask;
	if (p->l.gil_how == PY_GIL_RT_CURRENT)
		return !read_user(&current, 8, p->runtime + p->l.rt_gil) && current == ts;
	return false;
}

/*
 * An exception propagates through C code, or some frame of this thread handles
 * one. Generators have stack items of their own, linked by previous_item; an
 * item that was left says NULL, or None in 3.11 and 3.12.
 */
static __always_inline bool has_exception(struct scratch *s, struct py_proc *p, u64 ts)
{
	u64 item = ts_u64(s, p->l.ts_exc_info), bottom = ts + p->l.ts_exc_state, value;
	int i;

	if (ts_u64(s, p->l.ts_exc_current))
		return true;
	for (i = 0; i < MAX_EXC_ITEMS && item && item != bottom; i++) {
		struct {
			u64 value, previous;
		} e;

		/* exc_value, previous_item: neighbours since 3.11 */
		if (read_user(&e, sizeof(e), item + p->l.exc_value))
			return false;
		if (e.value && e.value != p->none)
			return true;
		item = e.previous;
	}
	value = ts_u64(s, p->l.ts_exc_state + p->l.exc_value);
	return item == bottom && value && value != p->none;
}

#endif
