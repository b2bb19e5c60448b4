/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pyunwind.bpf.h - from the current thread to its Python stack.
 *
 * Knows abi.h's layouts and never a CPython version. Reads the memory of the
 * current process only, in its own context: the thread stands still meanwhile.
 * All of that memory is hostile: every offset is masked right before its use,
 * every chain is bounded. The result is a struct raw_sample in per-CPU scratch.
 */
#ifndef TACHBPF_PYUNWIND_H
#define TACHBPF_PYUNWIND_H

#include "common.bpf.h"

/*
 * Frames lie next to each other in the thread's data stack, the caller below
 * the callee, so one read that ends with a frame brings its callers too.
 */
#define WINDOW_BYTES 2048
/* Behind the window in the same buffer: a frame that lies elsewhere (generator, shim). */
#define SINGLE_POS WINDOW_BYTES
#define SINGLE_BYTES 128
#define FIELD_MASK (SINGLE_BYTES - 1)
/* A caller this far below the last frame of a data stack is taken to be in it. */
#define NEAR_BYTES (64 * 1024)
/* Python frames plus the C-stack shims between them. */
#define MAX_STEPS (ABI_MAX_FRAMES + 160)
#define MAX_EXC_ITEMS 8
#define MAX_INTERPRETERS 4
#define MAX_THREADS 64

/* PyCodeObject from co_firstlineno on; FT builds need most: 72 bytes + the last pointer. */
#define CODE_BYTES 88
#define CODE_CACHE_SIZE 1024

/* A code object whose fingerprint is known while stamp stands; see code_id(). */
struct code_cache_entry {
	u64 code;
	u64 stamp;
	u64 id;
};

/*
 * The walk's cursor. It lives in map memory, not on the stack, so that the
 * verifier does not follow its values: a loop of n steps is n states, not n * n.
 */
struct walk {
	u64 fr;		/* frame to look at next */
	u64 win;	/* target address of frames[0]; 0: nothing read */
	u64 low;	/* lowest data stack frame seen: callers lie below */
	u64 stamp;
	u64 gc_frame;
	u32 n;
	u32 shim;	/* the last step was a C-stack shim */
};

struct scratch {
	u8 ts[2 * 512];		/* PyThreadState: ABI_TS_BYTES are read, masks reach further */
	u8 frames[WINDOW_BYTES + 2 * SINGLE_BYTES + 8];
	u8 code[2 * SINGLE_BYTES];
	u64 seq;		/* samples on this CPU */
	struct walk walk;
	struct raw_sample sample;
};

struct code_cache {
	struct code_cache_entry entries[CODE_CACHE_SIZE];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct code_cache);
} code_caches SEC(".maps");

static __always_inline int read_user(void *dst, u32 size, u64 addr)
{
	return bpf_probe_read_user(dst, size, (const void *)addr);
}

/* Fields of the PyThreadState in scratch. */
static __always_inline u64 ts_u64(const struct scratch *s, u32 off)
{
	off &= 511;
	barrier_var(off);
	return *(const u64 *)(s->ts + off);
}

static __always_inline u32 ts_u32(const struct scratch *s, u32 off)
{
	off &= 511;
	barrier_var(off);
	return *(const u32 *)(s->ts + off);
}

/* ---- thread state ---- */

/* glibc's struct pthread: specific_1stblock at 0x310, specific[] at 0x510; 32 keys a block. */
static __always_inline u64 tstate_by_tss(struct py_proc *p, u64 tp)
{
	struct {
		s32 initialized;
		s32 key;
	} tss;
	u64 ts = 0, block = tp + 0x310;
	s32 key = p->tss_key;

	if (key < 0) {
		if (read_user(&tss, sizeof(tss), p->runtime + p->l.rt_tss_key) || !tss.initialized)
			return 0;
		key = tss.key;
		p->tss_key = key;
	}
	if ((u32)key >= 1024)	/* PTHREAD_KEYS_MAX */
		return 0;
	if (key >= 32 && (read_user(&block, 8, tp + 0x510 + 8 * (key >> 5)) || !block))
		return 0;
	read_user(&ts, 8, block + 16 * (key & 31) + 8);
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

/* The last resort: look through the lists for a state of this thread that has frames. */
static __always_inline u64 tstate_by_list(struct py_proc *p, u64 tp)
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

/* ---- frames ---- */

/*
 * The fingerprint of a code object (abi.h), read afresh unless it is certain
 * that it is still the object that was read before. Certain is: within one
 * sample (this thread stands still and its frames own their code), or while the
 * interpreter's code counter has not moved (is_epoch). stamp says both.
 */
static __always_inline u32 code_id(struct scratch *s, struct code_cache *cache,
				   struct py_proc *p, u64 code, u64 stamp)
{
	u32 slot = (code >> 4 ^ code >> 14) & (CODE_CACHE_SIZE - 1);
	struct code_cache_entry *e = &cache->entries[slot];
	u64 base = p->l.co_firstlineno & ~7;
	u32 version = 0;

	if (e->code == code && e->stamp == stamp)
		return e->id;
	if (read_user(s->code, CODE_BYTES, code + base)) {
		count(CNT_UNVERIFIED_CODE);
		return 0;
	}
#define CODE_FIELD(type, field) (*(type *)(s->code + ((p->l.field - base) & FIELD_MASK)))
	if (p->l.co_version != ABI_NO_OFF)
		version = CODE_FIELD(u32, co_version);
	e->code = code;
	e->stamp = stamp;
	e->id = code_identity(CODE_FIELD(u64, co_filename), CODE_FIELD(u64, co_name),
			      CODE_FIELD(u64, co_qualname), CODE_FIELD(u64, co_linetable),
			      CODE_FIELD(u32, co_firstlineno), version);
#undef CODE_FIELD
	return e->id;
}

/*
 * Bring the frame at w->fr into scratch. Returns its position in s->frames,
 * negative if it cannot be read.
 */
static __always_inline s32 fetch_frame(struct scratch *s, struct py_proc *p, struct walk *w)
{
	u32 bytes = p->l.fr_bytes & FIELD_MASK;
	u64 off = w->fr - w->win;

	if (off <= WINDOW_BYTES - bytes)
		return off;
	if (w->low - w->fr < NEAR_BYTES) {
		u64 win = w->fr + bytes - WINDOW_BYTES;

		if (!read_user(s->frames, WINDOW_BYTES, win)) {
			w->win = win;
			return WINDOW_BYTES - bytes;
		}
		w->win = 0;	/* half overwritten */
	}
	if (read_user(s->frames + SINGLE_POS, SINGLE_BYTES, w->fr))
		return -1;
	return SINGLE_POS;
}

/* Look at one frame; 0: go on, 1: the chain ended or cannot be followed. */
static __always_inline int walk_step(struct scratch *s, struct code_cache *cache,
				     struct py_proc *p, struct walk *w)
{
	struct raw_sample *out = &s->sample;
	u64 code, ip, fr = w->fr;
	u32 pos, owner;
	s64 lasti;
	s32 at;

	if (!fr) {
		if (p->l.end_shim && !w->shim)
			out->flags |= RAW_BROKEN_END;
		return 1;
	}
	at = fetch_frame(s, p, w);
	if (at < 0) {
		out->flags |= RAW_UNREADABLE;
		return 1;
	}
	pos = at;
#define FRAME_FIELD(type, field)                                                                  \
	(*(type *)(s->frames + (pos & (2 * WINDOW_BYTES - 1)) + (p->l.field & FIELD_MASK)))
	if (pos > SINGLE_POS)
		return 1;
	code = FRAME_FIELD(u64, fr_code) & ~(u64)p->l.code_tag_mask;
	ip = FRAME_FIELD(u64, fr_ip);
	owner = FRAME_FIELD(u8, fr_owner);
	w->fr = FRAME_FIELD(u64, fr_previous);
#undef FRAME_FIELD
	w->shim = owner >= p->l.skip_owner;
	if (w->shim || !code)
		return 0;
	if (!owner)
		w->low = fr;
	if (w->n >= ABI_MAX_FRAMES) {
		out->flags |= RAW_TRUNCATED;
		return 1;
	}
	if (fr == w->gc_frame)
		out->gc_at = w->n;
	lasti = ip - (code + p->l.co_code);
	out->frames[w->n & (ABI_MAX_FRAMES - 1)] = (struct raw_frame){
		.code = code,
		.lasti = lasti < 0 || lasti > 0x7fffffff ? RAW_LASTI_NONE : lasti,
		.id = code_id(s, cache, p, code, w->stamp),
	};
	w->n++;
	return 0;
}

static __always_inline void walk_frames(struct scratch *s, struct code_cache *cache,
					struct py_proc *p, struct walk *w)
{
	u32 i;

#pragma clang loop unroll(disable)
	for (i = 0; i < MAX_STEPS; i++)
		if (walk_step(s, cache, p, w))
			return;
	s->sample.flags |= RAW_TRUNCATED;
}

/* Is a collection going on, and since which frame? */
static __always_inline void note_gc(struct scratch *s, struct py_proc *p, u64 is, struct walk *w)
{
	u32 collecting = 0;

	if (p->l.is_gc_collecting == ABI_NO_OFF32 ||
	    read_user(&collecting, 4, is + p->l.is_gc_collecting) || !collecting)
		return;
	s->sample.flags |= RAW_GC;
	if (p->l.is_gc_frame != ABI_NO_OFF32)
		read_user(&w->gc_frame, 8, is + p->l.is_gc_frame);
}

static __always_inline u64 code_stamp(struct scratch *s, struct py_proc *p, u64 is)
{
	u64 epoch = ++s->seq;
	u32 e;

	/* 0: the counter has overflowed and stands still (3.12, 3.13); trust nothing. */
	if (p->l.is_epoch != ABI_NO_OFF32 && !read_user(&e, 4, is + p->l.is_epoch) && e)
		return (p->ident ^ is * 0x9e3779b97f4a7c15ULL) + (u64)e * 0xbf58476d1ce4e5b9ULL;
	return epoch * 0x94d049bb133111ebULL ^ p->ident;
}

/*
 * Fill s->sample's stack and status for the current thread. Returns the counter
 * that says how it ended; only after CNT_SAMPLE is there something to send.
 */
static __always_inline enum counter unwind_python(struct scratch *s, struct code_cache *cache,
						  struct py_proc *p)
{
	u64 tp = current_thread_pointer();
	u64 ts = find_tstate(p, tp), is, frame;
	struct raw_sample *out = &s->sample;
	struct walk *w = &s->walk;

	if (!ts)
		return p->tstate_how == PY_TSTATE_TSS_GLIBC && p->tss_key < 0 ? CNT_NOT_READY :
										CNT_NATIVE_THREAD;
	if (read_user(s->ts, ABI_TS_BYTES, ts))
		return CNT_TSTATE_UNREADABLE;
	is = ts_u64(s, p->l.ts_interp);
	frame = ts_u64(s, p->l.ts_frame);
	if (p->l.cframe_frame != ABI_NO_OFF &&
	    (!frame || read_user(&frame, 8, frame + p->l.cframe_frame)))
		return CNT_NO_FRAMES;

	out->status = STATUS_ON_CPU;
	out->flags = 0;
	out->gc_at = 0;
	out->interp_id = 0;
	if (has_gil(s, p, ts))
		out->status |= STATUS_HAS_GIL;
	if (has_exception(s, p, ts))
		out->status |= STATUS_HAS_EXCEPTION;
	read_user(&out->interp_id, 4, is + p->l.is_id);

	*w = (struct walk){
		.fr = frame,
		.low = frame + 1,	/* the first frame: try a window */
		.stamp = code_stamp(s, p, is),
	};
	if (cfg_gc && (out->status & STATUS_HAS_GIL))
		note_gc(s, p, is, w);
	walk_frames(s, cache, p, w);
	out->nframes = w->n;
	return w->n ? CNT_SAMPLE : CNT_NO_FRAMES;
}

#endif
