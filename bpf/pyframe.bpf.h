/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pyframe.bpf.h - reads frames: _PyInterpreterFrame, up to 3.10 PyFrameObject. */
#ifndef TACHBPF_PYFRAME_H
#define TACHBPF_PYFRAME_H

#include "pyread.bpf.h"

/* _PyInterpreterFrame.owner (3.11+, Include/internal/pycore_frame.h) */
#define FRAME_OWNED_BY_THREAD 0
#define FRAME_OWNED_BY_GENERATOR 1

/*
 * Start of the window: want, but not below memory that is certainly mapped: the chunk's start, or
 * else the frame's own page.
 */
static __always_inline u64 window_start(const struct walk *w, u64 want)
{
	u64 floor = w->fr & ~(u64)(PAGE_BYTES - 1);

	if (w->fr - w->chunk < CHUNK_BYTES)
		floor = w->chunk;
	return want < floor ? floor : want;
}

/* Copy the frame at addr directly if it is on two pages. Returns false if read_user() must. */
static __always_inline bool copy_on_two_pages(struct scratch *s, u64 addr, u32 bytes)
{
	const struct direct_page *first, *second, *page;
	u64 at;
	u32 i;

	/* A word that is on both has no address: in memory another page follows the first. */
	if (addr % 8 || addr % PAGE_BYTES + bytes <= PAGE_BYTES)
		return false;
	first = find_page(s, addr, 1);
	second = find_page(s, addr + bytes - 1, 1);
	if (!first || !second)
		return false;
#pragma clang loop unroll(disable)
	for (i = 0; i < SINGLE_BYTES && i < bytes; i += 8) {
		at = addr + i;
		page = (at ^ addr) / PAGE_BYTES ? second : first;
		*(u64 *)(s->frames + SINGLE_POS + i) = *kernel_words(page->at + at % PAGE_BYTES);
	}
	return is_still(first) && is_still(second);
}

int copy_frame(u64 addr);
/*
 * Copy the frame at addr to SINGLE_POS in s->frames. Returns 0, or -1. With external linkage: with
 * direct reads only a frame on two pages needs it.
 */
__weak __noinline int copy_frame(u64 addr)
{
	struct scratch *s;
	u32 zero = 0, bytes;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return -1;
	bytes = s->l.fr_bytes & FIELD_MASK;
	if (HAVE_DIRECT && s->direct.table && copy_on_two_pages(s, addr, bytes))
		return 0;
	barrier_var(bytes);
	bytes &= FIELD_MASK;
	return read_user(s->frames + SINGLE_POS, bytes, addr) ? -1 : 0;
}

/*
 * Read the frame at w->fr into s->frames, unless it is in the window. Returns its offset in
 * s->frames; negative: unreadable.
 */
static __always_inline s32 fetch_frame(struct scratch *s, struct walk *w)
{
	u32 bytes = s->l.fr_bytes & FIELD_MASK;
	u64 off = w->fr - w->win;

	if (w->win_last && off <= w->win_last)
		return off;
	note_reads(s, 1);
	if (!s->direct.table && s->l.ts_datastack != ABI_NO_OFF && w->low - w->fr < NEAR_BYTES) {
		u64 win = window_start(w, w->fr + bytes - WINDOW_BYTES);
		u64 len = w->fr + bytes - win;

		barrier_var(len);
		if (len <= WINDOW_BYTES && !read_user(s->frames, len, win)) {
			w->win = win;
			w->win_last = len - bytes;
			return len - bytes;
		}
		w->win_last = 0;	/* the window may be half overwritten */
		count_reads(s, FAULT_READS);
	}
	return copy_frame(w->fr + s->l.fr_base) ? -1 : SINGLE_POS;
}

/* A thread's frame has no own_line(), and its object is not read. A shim has none. */
static __always_inline bool may_have_object(const struct scratch *s, u8 owner)
{
	return owner && owner < s->l.skip_owner;
}

/* Returns true if the frame fr is part of its object: of compiled code, but not of a generator. */
static __always_inline bool is_in_object(u64 fr, u64 object)
{
	return fr - object < FRAME_OBJECT_BYTES;
}

/* What a step needs to know of a frame; also walk.tlbc, walk.object. */
struct frame_fields {
	u64 code, ip, previous;
	u8 owner;
	u8 is_entry;	/* 3.11 */
};

/* Not a function, because the verifier does not treat a copy and the direct map alike. */
#define FRAME_FIELDS(f, l, FIELD)                                                                 \
	do {                                                                                       \
		(f)->code = FIELD(u64, (l)->fr_code);                                              \
		(f)->ip = FIELD(u64, (l)->fr_ip);                                                  \
		(f)->previous = FIELD(u64, (l)->fr_previous);                                      \
		(f)->owner = 0;                                                                    \
		if ((l)->fr_owner != ABI_NO_OFF) {                                                 \
			(f)->owner = FIELD(u8, (l)->fr_owner);                                     \
			s->walk.object = FIELD(u64, (l)->fr_object);                               \
		}                                                                                  \
		if ((l)->fr_tlbc_index != ABI_NO_OFF)                                              \
			s->walk.tlbc = FIELD(u32, (l)->fr_tlbc_index);                             \
		(f)->is_entry = (l)->fr_is_entry != ABI_NO_OFF ? FIELD(u8, (l)->fr_is_entry) : 0;  \
	} while (0)

/* Read the frame at fr directly. Returns false if read_user() must. */
static __always_inline bool load_frame(struct scratch *s, u64 fr, struct frame_fields *f)
{
	u64 addr = fr + s->l.fr_base, at;
	const struct direct_page *page;

	page = find_page_inline(s, addr, s->l.fr_bytes);
	if (unlikely(!page))
		return false;
	at = page->at + addr % PAGE_BYTES;
#define LOADED(type, off) (*(const type *)kernel_words(at + (off)))
	FRAME_FIELDS(f, &s->l, LOADED);
#undef LOADED
	return is_still(page);
}

/* Returns true if the frame fr of this step can have an own_line(). owner: its owner. */
static __always_inline bool may_have_line(const struct scratch *s, u64 fr, u8 owner)
{
	return is_in_object(fr, s->walk.object) && may_have_object(s, owner);
}

u32 own_line(u64 fr, u64 object);
/*
 * The line that the frame fr has in its object (3.11+), f_lineno, as raw_frame.lasti;
 * RAW_LASTI_NONE if it has none. The function has external linkage, so the verifier checks it only
 * once.
 */
__weak __noinline u32 own_line(u64 fr, u64 object)
{
	struct {	/* PyFrameObject from f_frame on, its second field */
		u64 frame, trace;
		u32 lineno, pad;
	} *o;
	struct scratch *s;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return RAW_LASTI_NONE;
	count_reads(s, 1);
	_Static_assert(sizeof(*o) <= sizeof(s->words), "it fits in s->words");
	o = (void *)s->words;
	/* A PyVarObject's ob_size is where the first field of an object is. */
	if (read_apart(object + s->l.bytes_size + 8) || o->frame != fr)
		return RAW_LASTI_NONE;
	return raw_lasti_of_line(o->lineno);
}

/* The fields of the frame at w->fr. Returns 0, or -1: it is unreadable. */
static __always_inline int fetch_fields(struct scratch *s, struct walk *w, struct frame_fields *f)
{
	s32 at;
	u32 pos;

	if (likely(load_frame(s, w->fr, f))) {
		note_direct_read(s);
		return 0;
	}
	at = fetch_frame(s, w);
	pos = at;
	barrier_var(pos);	/* the compiler must not drop the check
				 * below, which the verifier needs */
	if (at < 0 || pos > SINGLE_POS)
		return -1;
#define COPIED(type, off) (*(const type *)(s->frames + pos + ((off) & FIELD_MASK)))
	FRAME_FIELDS(f, &s->l, COPIED);
#undef COPIED
	return 0;
}

#endif
