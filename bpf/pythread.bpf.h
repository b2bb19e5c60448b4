/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pythread.bpf.h - from the current thread to its PyThreadState, and what that says:
 * holds the GIL, handles an exception.
 */
#ifndef TACHBPF_PYTHREAD_H
#define TACHBPF_PYTHREAD_H

#include "pyscratch.bpf.h"

/* ---- thread state ---- */

/* pthread_getspecific()'s key. Negative: not made yet. */
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

/* glibc's struct pthread: specific_1stblock at 0x310, specific[] at 0x510; 32 keys a block. */
static __always_inline u64 tstate_by_tss(struct py_proc *p, u64 tp)
{
	u64 ts = 0, block = tp + 0x310;
	s32 key = tss_key(p);

	if ((u32)key >= 1024)	/* PTHREAD_KEYS_MAX */
		return 0;
	if (key >= 32 && (read_user(&block, 8, tp + 0x510 + 8 * (key >> 5)) || !block))
		return 0;
	read_user(&ts, 8, block + 16 * (key & 31) + 8);
	return ts;
}

/* musl 1.2: struct pthread's tsd at 0x80, one pointer a key (src/internal/pthread_impl.h). */
static __always_inline u64 tstate_by_musl(struct py_proc *p, u64 tp)
{
	u64 ts = 0, tsd;
	s32 key = tss_key(p);

	if ((u32)key < 128 && !read_user(&tsd, 8, tp + 0x80))	/* PTHREAD_KEYS_MAX */
		read_user(&ts, 8, tsd + 8 * key);
	return ts;
}

static __always_inline u64 tstate_by_dtv(struct py_proc *p, u64 tp)
{
	struct {
		u64 module, offset;
	} index;
	u64 dtv, block, ts = 0;

	if (read_user(&index, sizeof(index), p->tls_index) || read_user(&dtv, 8, tp + 8))
		return 0;
	/* An entry is 16 bytes; -1: this thread has no block of that module yet. */
	if (index.module > 4096 || read_user(&block, 8, dtv + 16 * index.module) ||
	    block + 1 <= 1)
		return 0;
	read_user(&ts, 8, block + index.offset + p->tls_off);
	return ts;
}

/* The last resort: look through the lists for a state of this thread. */
static __always_inline u64 tstate_by_list(struct py_proc *p, u64 tp)
{
	u64 is = 0, ts = 0, id;
	int i, k;

	if (read_user(&is, 8, p->interps))
		return 0;
	for (i = 0; i < MAX_INTERPRETERS && is; i++) {
		if (read_user(&ts, 8, is + p->l.is_threads_head))
			return 0;
		for (k = 0; k < MAX_THREADS && ts; k++) {
			if (read_user(&id, 8, ts + p->l.ts_thread_id))
				return 0;
			if (id == tp)
				return ts;
			if (read_user(&ts, 8, ts + p->l.ts_next))
				return 0;
		}
		if (read_user(&is, 8, is + p->l.is_next))
			return 0;
	}
	return 0;
}

static __always_inline u64 find_tstate(struct py_proc *p, u64 tp)
{
	u64 ts = 0;

	switch (p->tstate_how) {
	case PY_TSTATE_TSS_GLIBC:
		return tstate_by_tss(p, tp);
	case PY_TSTATE_TSS_MUSL:
		return tstate_by_musl(p, tp);
	case PY_TSTATE_TLS_FS:
		read_user(&ts, 8, tp + p->tls_off);
		return ts;
	case PY_TSTATE_TLS_DTV:
		return tstate_by_dtv(p, tp);
	case PY_TSTATE_LIST:
		return tstate_by_list(p, tp);
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
		return !read_user(&current, 8, p->current) && current == ts;
	return false;
}

/*
 * Is it an exception that stands in an exception slot? Without an address of None (up to 3.12
 * there may be one in it) its type tells: Py_TPFLAGS_BASE_EXC_SUBCLASS in tp_flags
 * (Include/object.h; ob_type at 8, tp_flags at 168 in all GIL builds).
 */
static __always_inline bool is_exception(struct py_proc *p, u64 value)
{
	u64 type = 0, flags = 0;

	if (!value || p->none)
		return value && value != p->none;
	return !read_user(&type, 8, value + 8) && !read_user(&flags, 8, type + 168) &&
	       flags >> 30 & 1;
}

/*
 * An exception propagates through C code, or some frame of this thread handles
 * one. Generators have stack items of their own, linked by previous_item; an
 * item that was left says NULL, or None in 3.11 and 3.12.
 */
static __always_inline bool has_exception(struct scratch *s, struct py_proc *p, u64 ts)
{
	u64 bottom = ts + p->l.ts_exc_state, item = bottom, value;
	int i;

	if (ts_u64(s, p->l.ts_exc_current))
		return true;
	if (p->l.ts_exc_info != ABI_NO_OFF)
		item = ts_u64(s, p->l.ts_exc_info);
	for (i = 0; i < MAX_EXC_ITEMS && item && item != bottom; i++) {
		u64 e[4];	/* to 3.10: type, value, traceback, previous; then value, previous */

		if (read_user(e, sizeof(e), item))
			return false;
		value = e[p->l.exc_value / 8 & 3];
		if (is_exception(p, value))
			return true;
		item = e[p->l.exc_previous / 8 & 3];
	}
	value = ts_u64(s, p->l.ts_exc_state + p->l.exc_value);
	return item == bottom && is_exception(p, value);
}

#endif
