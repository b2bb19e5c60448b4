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
 * Frames lie next to each other in chunks of the thread's data stack, the caller
 * below the callee, so one read that ends with a frame brings its callers too. It
 * must not reach below the chunk: a read that faults costs a microsecond or two.
 */
#define WINDOW_BYTES 2048
#define PAGE_BYTES 4096
/* A frame this far above the start of the current chunk is in it (16 KiB, or bigger if need be). */
#define CHUNK_BYTES (16 * 1024)
/* Behind the window in the same buffer: a frame that lies elsewhere (generator, shim). */
#define SINGLE_POS WINDOW_BYTES
#define SINGLE_BYTES 128
#define FIELD_MASK (SINGLE_BYTES - 1)
/* A caller this far below the last frame of a data stack is taken to be in it. */
#define NEAR_BYTES (64 * 1024)
/* Python frames plus the C-stack shims between them. */
#define STEPS_A_CALL 16
#define MAX_STEPS (ABI_MAX_FRAMES + 10 * STEPS_A_CALL)
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
	u32 id;
	u32 process;	/* of which process, folded: with code and id, user space was told */
};

/*
 * The walk's cursor. It lives in map memory, not on the stack, so that the
 * verifier does not follow its values: a loop of n steps is n states, not n * n.
 */
struct walk {
	u64 fr;		/* frame to look at next */
	u64 win;	/* target address of frames[0] */
	u64 win_last;	/* where in frames[] the last whole frame can begin; 0: nothing read */
	u64 chunk;	/* start of the current chunk of the data stack */
	u64 low;	/* lowest data stack frame seen: callers lie below */
	u64 stamp;
	u64 gc_frame;
	u64 entered_from;	/* see walk_from_caller() */
	u32 n;
	u32 shim;	/* the last step was a C-stack shim */
	u32 unchecked;	/* no entry frame seen yet */
	u32 pad;
};

/* For note_missed(). */
struct last_tick {
	u64 pid_tgid;
	u64 switches;
	u64 time_ns;
};

/* Code objects of one sample that user space has not been told of; more wait for the next. */
#define MAX_NEW_CODES 32
struct new_code {
	u64 code;
	u64 mark;	/* what is noted in sent_codes once it is sent */
	u32 id;
	u32 pad;
};

struct scratch {
	u8 ts[2 * 512];		/* PyThreadState: ABI_TS_BYTES are read, masks reach further */
	u8 frames[WINDOW_BYTES + 2 * SINGLE_BYTES + 8];
	u8 code[2 * SINGLE_BYTES];
	u8 name[40 + STRING_HEAD];	/* a str from its length to its first bytes, and then some */
	u64 seq;		/* samples on this CPU */
	struct last_tick last_tick;
	struct walk walk;
	u64 file;		/* the last file name's object and stamp in this sample */
	u32 file_stamp;
	u32 pad2;
	u64 ident;		/* of the process, and its layout: for what the verifier sees apart */
	struct py_layout l;
	u32 new_cnt;
	u32 pad;
	struct new_code new_codes[MAX_NEW_CODES];
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

/*
 * Which code objects were sent: one slot per hash, the last one wins. Shared and
 * without a lock: a store that is lost only repeats a record.
 */
#define SENT_SLOTS 65536
struct sent_codes {
	u64 marks[SENT_SLOTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct sent_codes);
} sent_codes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct raw_code);
} code_records SEC(".maps");

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

/* Is user space to be told of this code? false: yes, but this sample has no room for it. */
static __always_inline bool note_new_code(struct scratch *s, u64 code, u32 id)
{
	u64 mark = (s->ident ^ code * 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL + id;
	struct sent_codes *sent;
	u32 zero = 0, n = s->new_cnt;

	mark ^= mark >> 32;
	sent = bpf_map_lookup_elem(&sent_codes, &zero);
	if (!sent || sent->marks[mark & (SENT_SLOTS - 1)] == mark)
		return true;
	if (n >= MAX_NEW_CODES)
		return false;
	s->new_codes[n & (MAX_NEW_CODES - 1)] =
		(struct new_code){ .code = code, .mark = mark, .id = id };
	s->new_cnt = n + 1;
	return true;
}

/* In one read, unless the name is long or its page ends soon. */
static __always_inline u32 read_string_stamp(struct scratch *s, u64 str)
{
	u32 data = (s->l.str_data - s->l.str_length) & 63, n;
	u64 tail[STRING_TAIL / 8] = {}, length, len;

	str += s->l.str_length;
	if (read_user(s->name, sizeof(s->name), str)) {
		if (read_user(s->name, 8, str))
			return 0;
		len = *(u64 *)s->name;
		n = len < STRING_HEAD ? len : STRING_HEAD;
		barrier_var(n);
		if (n > STRING_HEAD || read_user(s->name + data, n, str + data))
			return 0;
	}
	length = *(u64 *)s->name;
	if (length > STRING_HEAD &&
	    read_user(tail, sizeof(tail), str + data + length - STRING_TAIL))
		return 0;
	return string_stamp(length, (const u64 *)(s->name + (data & 56)), tail);
}

/* Neighbours in a stack are often from one file. */
static __always_inline u32 read_names_stamp(struct scratch *s, u64 name, u64 file)
{
	if (s->file != file) {
		s->file_stamp = read_string_stamp(s, file);
		s->file = file;
	}
	return names_stamp(read_string_stamp(s, name), s->file_stamp);
}

u32 read_code_id(u64 code, u64 stamp);

static __always_inline struct code_cache_entry *cache_entry(struct code_cache *cache, u64 code)
{
	return &cache->entries[(code >> 4 ^ code >> 14) & (CODE_CACHE_SIZE - 1)];
}

/*
 * Read a code object's fingerprint (abi.h) and keep it while stamp stands. Of
 * external linkage: the verifier looks at it once, not at every step of the walk.
 */
__noinline u32 read_code_id(u64 code, u64 stamp)
{
	struct code_cache_entry *e;
	struct code_cache *cache;
	u32 zero = 0, version = 0, id, process;
	struct scratch *s;
	u64 base;

	s = bpf_map_lookup_elem(&scratches, &zero);
	cache = bpf_map_lookup_elem(&code_caches, &zero);
	if (!s || !cache)
		return 0;
	base = s->l.co_firstlineno & ~7;
	if (read_user(s->code, CODE_BYTES, code + base)) {
		count(CNT_UNVERIFIED_CODE);
		return 0;
	}
#define CODE_FIELD(type, field) (*(type *)(s->code + ((s->l.field - base) & FIELD_MASK)))
	if (s->l.co_version != ABI_NO_OFF)
		version = CODE_FIELD(u32, co_version);
	if (!version)
		version = read_names_stamp(s, CODE_FIELD(u64, co_qualname),
					   CODE_FIELD(u64, co_filename));
	if (!version) {
		count(CNT_UNVERIFIED_CODE);
		return 0;
	}
	id = code_identity(CODE_FIELD(u64, co_filename), CODE_FIELD(u64, co_name),
			   CODE_FIELD(u64, co_qualname), CODE_FIELD(u64, co_linetable),
			   CODE_FIELD(u32, co_firstlineno), version);
#undef CODE_FIELD
	process = s->ident >> 32 ^ s->ident;
	e = cache_entry(cache, code);
	if (e->code == code && e->id == id && e->process == process && e->stamp)
		e->stamp = stamp;
	else
		*e = (struct code_cache_entry){
			.code = code,
			/* 0: come here again with the next sample */
			.stamp = note_new_code(s, code, id) ? stamp : 0,
			.id = id,
			.process = process,
		};
	return id;
}

/*
 * The fingerprint of a code object, read afresh unless it is certain that it is
 * still the object that was read before. Certain is: within one sample (this
 * thread stands still and its frames own their code), or while the interpreter's
 * code counter has not moved (is_epoch). stamp says both.
 */
static __always_inline u32 code_id(struct code_cache *cache, u64 code, u64 stamp)
{
	const struct code_cache_entry *e = cache_entry(cache, code);

	if (e->code == code && e->stamp == stamp)
		return e->id;
	return read_code_id(code, stamp);
}

/* As far down as memory is sure to be mapped: the chunk's start, or the frame's own page. */
static __always_inline u64 window_start(const struct walk *w, u64 want)
{
	u64 floor = w->fr & ~(u64)(PAGE_BYTES - 1);

	if (w->fr - w->chunk < CHUNK_BYTES)
		floor = w->chunk;
	return want < floor ? floor : want;
}

/*
 * Bring the frame at w->fr into scratch. Returns its position in s->frames,
 * negative if it cannot be read.
 */
static __always_inline s32 fetch_frame(struct scratch *s, struct walk *w)
{
	u32 bytes = s->l.fr_bytes & FIELD_MASK;
	u64 off = w->fr - w->win;

	if (w->win_last && off <= w->win_last)
		return off;
	if (w->low - w->fr < NEAR_BYTES) {
		u64 win = window_start(w, w->fr + bytes - WINDOW_BYTES);
		u64 len = w->fr + bytes - win;

		barrier_var(len);
		if (len <= WINDOW_BYTES && !read_user(s->frames, len, win)) {
			w->win = win;
			w->win_last = len - bytes;
			return len - bytes;
		}
		w->win_last = 0;	/* half overwritten */
	}
	barrier_var(bytes);
	bytes &= FIELD_MASK;
	return read_user(s->frames + SINGLE_POS, bytes, w->fr) ? -1 : SINGLE_POS;
}

/*
 * 3.11, 3.12: when C calls the interpreter, tstate->cframe is the new _PyCFrame
 * some instructions before its current_frame is set (v3.12.0, Python/ceval.c,
 * _PyEval_EvalFrameDefault()): what stands there is an old frame's address or
 * anything. A true chain's first entry frame (3.12: shim) was entered from the
 * frame that the previous _PyCFrame has. If this one was not, it is the previous
 * one that tells the stack.
 */
static __always_inline int walk_from_caller(struct scratch *s, struct walk *w)
{
	count(CNT_ENTERING);
	s->sample.flags &= RAW_GC;
	s->sample.gc_at = 0;
	w->unchecked = 0;
	w->n = 0;
	w->shim = 1;
	w->fr = w->entered_from;
	w->low = w->fr + 1;
	return 0;
}

/* Look at one frame; 0: go on, 1: the chain ended or cannot be followed. */
static __always_inline int walk_step(struct scratch *s, struct code_cache *cache,
				     struct walk *w)
{
	struct raw_sample *out = &s->sample;
	u64 code, ip, fr = w->fr;
	u32 pos, owner;
	s64 lasti;
	s32 at;

	if (!fr) {
		if (w->unchecked)
			return walk_from_caller(s, w);
		if (s->l.end_shim && !w->shim)
			out->flags |= RAW_BROKEN_END;
		return 1;
	}
	at = fetch_frame(s, w);
	if (at < 0) {
		if (w->unchecked)
			return walk_from_caller(s, w);
		out->flags |= RAW_UNREADABLE;
		return 1;
	}
	pos = at;
	barrier_var(pos);	/* what the compiler knows of pos, the verifier does not */
	if (pos > SINGLE_POS)
		return 1;
#define FRAME_FIELD(type, field) (*(type *)(s->frames + pos + (s->l.field & FIELD_MASK)))
	code = FRAME_FIELD(u64, fr_code) & ~(u64)s->l.code_tag_mask;
	ip = FRAME_FIELD(u64, fr_ip);
	owner = FRAME_FIELD(u8, fr_owner);
	w->fr = FRAME_FIELD(u64, fr_previous);
	w->shim = owner >= s->l.skip_owner;
	if (w->unchecked &&
	    (w->shim || (s->l.fr_is_entry != ABI_NO_OFF && FRAME_FIELD(u8, fr_is_entry)))) {
		if (w->fr != w->entered_from)
			return walk_from_caller(s, w);
		w->unchecked = 0;
	}
#undef FRAME_FIELD
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
	lasti = ip - (code + s->l.co_code);
	out->frames[w->n & (ABI_MAX_FRAMES - 1)] = (struct raw_frame){
		.code = code,
		.lasti = lasti < 0 || lasti > 0x7fffffff ? RAW_LASTI_NONE : lasti,
		.id = code_id(cache, code, w->stamp),
	};
	w->n++;
	return 0;
}

/*
 * Some steps of the walk; 1: it is over. Of external linkage, so that the verifier
 * looks at STEPS_A_CALL steps and not at all of them.
 */
int walk_some(void);
__noinline int walk_some(void)
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
		if (walk_some())
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

/* From w->fr, a _PyCFrame, to its frame and its predecessor's. 0 or -1: unreadable. */
static __always_inline int read_cframe(struct py_proc *p, struct walk *w)
{
	struct {
		u64 frame, previous;
	} cframe;

	if (read_user(&cframe, sizeof(cframe), w->fr + p->l.cframe_frame))
		return -1;
	w->fr = cframe.frame;
	if (cframe.previous &&
	    !read_user(&w->entered_from, 8, cframe.previous + p->l.cframe_frame))
		w->unchecked = 1;
	return 0;
}

static __always_inline u32 interpreter_id(struct py_proc *p, u64 is)
{
	u32 id = 0;

	if (is == p->main_interp)
		return 0;
	if (!read_user(&id, 4, is + p->l.is_id) && !id)
		p->main_interp = is;
	return id;
}

static __always_inline u64 code_stamp(struct scratch *s, struct py_proc *p, u64 is)
{
	u64 addr = p->epoch, epoch = ++s->seq;
	u32 e;

	if (p->l.is_epoch != ABI_NO_OFF32)
		addr = is + p->l.is_epoch;
	/* 0: the counter has overflowed and stands still (3.12, 3.13); trust nothing. */
	if (addr && !read_user(&e, 4, addr) && e)
		return (p->ident ^ is * 0x9e3779b97f4a7c15ULL) + (u64)e * 0xbf58476d1ce4e5b9ULL;
	return epoch * 0x94d049bb133111ebULL ^ p->ident;
}

/*
 * Fill s->sample's stack and status for the current thread. Returns the counter
 * that says how it ended; only after CNT_SAMPLE is there something to send.
 */
static __always_inline enum counter unwind_python(struct scratch *s, struct py_proc *p)
{
	u64 tp = current_thread_pointer();
	u64 ts = find_tstate(p, tp), is;
	struct raw_sample *out = &s->sample;
	struct walk *w = &s->walk;

	if (!ts)
		return p->tstate_how == PY_TSTATE_TSS_GLIBC && p->tss_key < 0 ? CNT_NOT_READY :
										CNT_NATIVE_THREAD;
	if (read_user(s->ts, ABI_TS_BYTES, ts))
		return CNT_TSTATE_UNREADABLE;
	is = ts_u64(s, p->l.ts_interp);
	*w = (struct walk){
		.fr = ts_u64(s, p->l.ts_frame),
		.chunk = ts_u64(s, p->l.ts_datastack),
		.stamp = code_stamp(s, p, is),
	};
	if (p->l.cframe_frame != ABI_NO_OFF && w->fr && read_cframe(p, w))
		return CNT_TSTATE_UNREADABLE;
	w->low = w->fr + 1;	/* the first frame: try a window */

	s->new_cnt = 0;
	s->file = 0;
	s->ident = p->ident;
	s->l = p->l;
	out->status = STATUS_ON_CPU;
	out->flags = 0;
	out->gc_at = 0;
	if (has_gil(s, p, ts))
		out->status |= STATUS_HAS_GIL;
	if (has_exception(s, p, ts))
		out->status |= STATUS_HAS_EXCEPTION;
	out->interp_id = interpreter_id(p, is);

	if (cfg_gc && (out->status & STATUS_HAS_GIL))
		note_gc(s, p, is, w);
	walk_frames(s);
	out->nframes = w->n;
	/* Not even one frame could be read: that is told, too. */
	return w->n || out->flags & RAW_UNREADABLE ? CNT_SAMPLE : CNT_NO_FRAMES;
}

/* ---- what code objects are called ---- */

/* All of it, or what is on its first page: the next one may not be mapped. */
static __always_inline void read_piece(struct raw_piece *at, u8 *dst, u32 len, u64 addr)
{
	u32 on_page = 4096 - (addr & 4095);

	at->addr = addr;
	at->len = len;
	if (!read_user(dst, len, addr))
		return;
	at->len = 0;
	if (on_page < len && !read_user(dst, on_page, addr))
		at->len = on_page;
}

static __always_inline u64 head_u64(const struct raw_code *rec, u32 off)
{
	off &= RAW_CODE_HEAD - 8;
	barrier_var(off);
	return *(const u64 *)(rec->head + off);
}

/*
 * The line table's object, and at least as much as user space likes to read at
 * once if its page has it. Returns how many bytes of rec->table to send.
 */
static __always_inline u32 read_table(struct raw_code *rec, struct py_proc *p, u64 table)
{
	u32 on_page = 4096 - (table & 4095), len;
	u64 size = 0;

	read_user(&size, sizeof(size), table + p->l.bytes_size);
	size += p->l.bytes_data;
	if (size > RAW_CODE_TABLE)
		size = RAW_CODE_TABLE;
	len = size < RAW_CODE_TABLE_MIN ? RAW_CODE_TABLE_MIN : size;
	rec->table_at.addr = table;
	rec->table_at.len = len;
	barrier_var(len);
	if (len <= RAW_CODE_TABLE && !read_user(rec->table, len, table))
		return len;
	len = size < on_page ? on_page : size;
	rec->table_at.len = len;
	barrier_var(len);
	if (len <= RAW_CODE_TABLE && !read_user(rec->table, len, table))
		return len;
	rec->table_at.len = 0;
	return 0;
}

static __always_inline void send_code(struct raw_code *rec, struct code_cache *cache,
				      struct py_proc *p, const struct new_code *code)
{
	struct sent_codes *sent;
	u32 zero = 0, len;

	rec->code = code->code;
	rec->id = code->id;
	read_piece(&rec->head_at, rec->head, RAW_CODE_HEAD, code->code);
	if (!rec->head_at.len)
		return;
	read_piece(&rec->name_at, rec->name, RAW_CODE_NAME,
		   head_u64(rec, p->l.co_qualname == ABI_NO_OFF ? p->l.co_name :
								   p->l.co_qualname));
	read_piece(&rec->file_at, rec->file, RAW_CODE_FILE, head_u64(rec, p->l.co_filename));
	len = read_table(rec, p, head_u64(rec, p->l.co_linetable));
	if (len > RAW_CODE_TABLE)
		return;
	if (bpf_ringbuf_output(&events, rec, offsetof(struct raw_code, table) + len,
			       BPF_RB_NO_WAKEUP)) {
		count(CNT_CODE_LOST);
		cache_entry(cache, code->code)->stamp = 0;	/* again with the next sample */
		return;
	}
	count(CNT_CODE);
	sent = bpf_map_lookup_elem(&sent_codes, &zero);
	if (sent)
		sent->marks[code->mark & (SENT_SLOTS - 1)] = code->mark;
}

/* Before the sample itself, so that its names are there when it is. */
static __always_inline void send_new_codes(struct scratch *s, struct code_cache *cache,
					   struct py_proc *p, const struct raw_header *h)
{
	struct raw_code *rec;
	u32 zero = 0, i;

	if (!s->new_cnt)
		return;
	rec = bpf_map_lookup_elem(&code_records, &zero);
	if (!rec)
		return;
	rec->h = *h;
	rec->h.kind = RAW_CODE;
#pragma clang loop unroll(disable)
	for (i = 0; i < MAX_NEW_CODES; i++) {
		if (i >= s->new_cnt)
			break;
		send_code(rec, cache, p, &s->new_codes[i]);
	}
}

#endif
