// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * layout.c - where things are in each supported CPython (GIL builds, 64-bit Linux).
 *
 * Owns every number that comes from CPython's headers. tests/e2e/test_layouts.py
 * derives them again from the headers of each interpreter it finds and compares.
 * Unless said otherwise a number is the same in all micro releases from .0 on.
 * Sources, at the tags v3.11.0 ... v3.15.0: Include/cpython/pystate.h (thread state,
 * _PyCFrame, _PyErr_StackItem), Include/internal/pycore_frame.h and from 3.14
 * pycore_interpframe_structs.h (_PyInterpreterFrame), Include/cpython/code.h,
 * Include/internal/pycore_runtime.h, pycore_interp.h (3.14+: pycore_interp_structs.h),
 * Include/cpython/unicodeobject.h, bytesobject.h.
 */
#include <errno.h>

#include "layout.h"

/* FRAME_OWNED_BY_CSTACK (3.12, 3.13), FRAME_OWNED_BY_INTERPRETER (3.14+) and above. */
#define OWNER_SHIM 3
#define OWNER_NO_SHIM 0xff

/* PyThreadState._status: initialized, bound, unbound, bound_gilstate, active, holds_gil */
#define STATUS_BIT_ACTIVE    (1u << 4)	/* 3.12: holds the GIL */
#define STATUS_BIT_HOLDS_GIL (1u << 5)	/* 3.13 only: 3.14 made it an int */

/* _PyStackRef: 3.14+ tags references in the low bits, GIL builds too (pycore_stackref.h). */
#define STACKREF_TAG_MASK 3

static const struct py_layout layout_311 = {
	.ts_next = 8, .ts_interp = 16, .ts_frame = 56, .cframe_frame = 8,
	.ts_thread_id = 152, .ts_gil = ABI_NO_OFF,
	.ts_exc_current = 96, .ts_exc_info = 120, .ts_exc_state = 320, .ts_datastack = 296,
	.exc_value = 0, .exc_previous = 8,
	.fr_code = 32, .fr_previous = 48, .fr_ip = 56, .fr_owner = 69, .fr_is_entry = 68,
	.fr_bytes = 72,
	.co_firstlineno = 72, .co_version = ABI_NO_OFF, .co_filename = 112, .co_name = 120,
	.co_qualname = 128, .co_linetable = 136, .co_code = 184,
	.rt_interp_head = 40, .rt_tss_key = 592, .rt_gil = 576,
	.is_id = 48, .is_next = 0, .is_threads_head = 16, .is_gc_collecting = 848,
	.is_gc_frame = ABI_NO_OFF32, .is_epoch = ABI_NO_OFF32,
	.gil_how = PY_GIL_RT_CURRENT, .skip_owner = OWNER_NO_SHIM,
};

static const struct py_layout layout_312 = {
	.ts_next = 8, .ts_interp = 16, .ts_frame = 56, .cframe_frame = 0,
	.ts_thread_id = 136, .ts_gil = 24, .ts_gil_mask = STATUS_BIT_ACTIVE,
	.ts_exc_current = 96, .ts_exc_info = 104, .ts_exc_state = 256, .ts_datastack = 232,
	.exc_value = 0, .exc_previous = 8,
	.fr_code = 0, .fr_previous = 8, .fr_ip = 56, .fr_owner = 70, .fr_is_entry = ABI_NO_OFF,
	.fr_bytes = 72,
	.co_firstlineno = 68, .co_version = 92, .co_filename = 112, .co_name = 120,
	.co_qualname = 128, .co_linetable = 136, .co_code = 192,
	.rt_interp_head = 40, .rt_tss_key = 1544, .rt_gil = ABI_NO_OFF,
	.is_id = 8, .is_next = 0, .is_threads_head = 72, .is_gc_collecting = 312,
	.is_gc_frame = ABI_NO_OFF32, .is_epoch = ABI_NO_OFF32,
	.gil_how = PY_GIL_TS_MASK, .skip_owner = OWNER_SHIM, .end_shim = 1,
};

/* The compact str's state bits: interned:2 (3.12+: 2, too), kind:3, compact:1, ascii:1. */
static const struct py_object_layout objects_311 = {
	.bytes_size = 16, .bytes_data = 32,
	.str_length = 16, .str_state = 32, .str_ascii_data = 48, .str_compact_data = 72,
	.str_kind_mask = 0x1c, .str_kind_shift = 2,
	.str_compact_bit = 0x20, .str_ascii_bit = 0x40,
};

static const struct py_object_layout objects_312 = {
	.bytes_size = 16, .bytes_data = 32,
	.str_length = 16, .str_state = 32, .str_ascii_data = 40, .str_compact_data = 56,
	.str_kind_mask = 0x1c, .str_kind_shift = 2,
	.str_compact_bit = 0x20, .str_ascii_bit = 0x40,
};

/*
 * 3.13: interp->func_state.next_version. Every new code object takes its co_version
 * from it (Objects/codeobject.c, init_code()), so that it moves before a freed address
 * can be another code object. It stops at 0 after 2^32 of them: whoever uses it must
 * take 0 for "no epoch". (3.12 has the field, too, but counts in a static variable, see
 * image.c; there the field stands still.)
 *
 * It lies deep in PyInterpreterState. The sizes are those of v3.13.0 and v3.13.18,
 * whose thread state, embedded behind it, grew by 8: a struct of another size is one
 * we have not seen. (16 more are one size for the other on another machine: so whoever does
 * not know how long a mutex is, knows nothing.)
 */
static uint32_t next_version_313(const struct debug_offsets *d, int mutexes_extra)
{
	uint64_t bytes = d->is_bytes - mutexes_extra;

	if (mutexes_extra < 0 || (bytes != 194968 && bytes != 194984))
		return ABI_NO_OFF32;
	return 17000 + mutexes_extra;	/* behind the interpreter's own GIL */
}

/* The kernel sends line tables whole and tells names apart: what it needs for that. */
static void set_objects(struct cpython_image *img)
{
	img->layout.bytes_size = img->objects.bytes_size;
	img->layout.bytes_data = img->objects.bytes_data;
	img->layout.str_length = img->objects.str_length;
	img->layout.str_data = img->objects.str_ascii_data;
}

/* 3.11: the GIL is in _PyRuntimeState, in front of these two. */
static void move_behind_gil(struct py_layout *l, int mutexes_extra)
{
	if (mutexes_extra < 0) {
		l->gil_how = PY_GIL_NONE;
		l->rt_gil = ABI_NO_OFF;
		return;
	}
	l->rt_tss_key += mutexes_extra;
	l->rt_gil += mutexes_extra;
}

int layout_from_table(struct cpython_image *img)
{
	if (img->minor == 11) {
		img->layout = layout_311;
		move_behind_gil(&img->layout, img->mutexes_extra);
		img->objects = objects_311;
	} else if (img->minor == 12) {
		img->layout = layout_312;
		img->objects = objects_312;
	} else {
		return -ENOTSUP;
	}
	img->objects.minor = img->minor;
	set_objects(img);
	return 0;
}

/*
 * What the debug offsets do not say. The anchors are fields that they do say and that
 * lie around the others: when an anchor has moved, the rest cannot be relied upon.
 */
static const struct undocumented {
	uint16_t anchor_thread_id, anchor_status, anchor_datastack, anchor_firstlineno;
	uint16_t anchor_str_ascii_bytes;
	uint16_t exc_current, exc_info, exc_state;
	uint16_t tss_key_behind_finalizing;	/* ABI_NO_OFF: no key, TLS (3.15) */
	uint16_t gil;
	uint32_t gil_mask;
	uint16_t co_version;
	uint8_t code_tag_mask;
} undocumented[] = {
	[13] = { 152, 32, 232, 68, 40, 112, 120, 256, 1552, 32, STATUS_BIT_HOLDS_GIL, 92, 0 },
	[14] = { 152, 32, 232, 68, 40, 112, 120, 256, 1552, 36, UINT32_MAX, 92,
		 STACKREF_TAG_MASK },
	[15] = { 176, 32, 256, 68, 40, 136, 144, 288, ABI_NO_OFF, 36, UINT32_MAX, 92,
		 STACKREF_TAG_MASK },
};

static const char *moved_anchor(const struct debug_offsets *d, const struct undocumented *u)
{
	if (d->ts_thread_id != u->anchor_thread_id)
		return "ts_thread_id";
	if (d->ts_status != u->anchor_status)
		return "ts_status";
	if (d->ts_datastack != u->anchor_datastack)
		return "ts_datastack";
	if (d->co_firstlineno != u->anchor_firstlineno)
		return "co_firstlineno";
	if (d->str_ascii_bytes != u->anchor_str_ascii_bytes)
		return "str_ascii_bytes";
	/* 3.15 says these itself. */
	if (d->ts_holds_gil && d->ts_holds_gil != u->gil)
		return "ts_holds_gil";
	if (d->ts_exc_current && d->ts_exc_current != u->exc_current)
		return "ts_exc_current";
	if (d->ts_exc_state && d->ts_exc_state != u->exc_state)
		return "ts_exc_state";
	if (d->str_compact_bytes && d->str_compact_bytes != d->str_ascii_bytes + 16)
		return "str_compact_bytes";
	if (d->exc_value)
		return "exc_value";
	return NULL;
}

/* The first 8-aligned byte behind all fields of a frame that are read. */
static uint16_t frame_bytes(const struct debug_offsets *d)
{
	uint64_t end = d->fr_owner + 1;

	if (d->fr_code + 8 > end)
		end = d->fr_code + 8;
	if (d->fr_previous + 8 > end)
		end = d->fr_previous + 8;
	if (d->fr_ip + 8 > end)
		end = d->fr_ip + 8;
	return (end + 7) & ~7u;
}

static void fill_objects(struct py_object_layout *o, const struct debug_offsets *d)
{
	*o = objects_312;
	o->bytes_size = d->bytes_size;
	o->bytes_data = d->bytes_data;
	o->str_length = d->str_length;
	o->str_state = d->str_state;
	o->str_ascii_data = d->str_ascii_bytes;
	o->str_compact_data = d->str_ascii_bytes + 16;
}

int layout_from_debug_offsets(struct cpython_image *img, const struct debug_offsets *d,
			      const char **what)
{
	const struct undocumented *u = &undocumented[img->minor];

	*what = moved_anchor(d, u);
	if (*what)
		return -EBADMSG;
	img->layout = (struct py_layout){
		.ts_next = d->ts_next, .ts_interp = d->ts_interp,
		.ts_frame = d->ts_frame, .cframe_frame = ABI_NO_OFF,
		.ts_thread_id = d->ts_thread_id,
		.ts_gil = u->gil, .ts_gil_mask = u->gil_mask,
		.ts_exc_current = u->exc_current, .ts_exc_info = u->exc_info,
		.ts_exc_state = u->exc_state, .ts_datastack = d->ts_datastack,
		.exc_value = 0, .exc_previous = 8,
		.fr_code = d->fr_code, .fr_previous = d->fr_previous, .fr_ip = d->fr_ip,
		.fr_owner = d->fr_owner, .fr_is_entry = ABI_NO_OFF, .fr_bytes = frame_bytes(d),
		.co_firstlineno = d->co_firstlineno, .co_version = u->co_version,
		.co_filename = d->co_filename, .co_name = d->co_name,
		.co_qualname = d->co_qualname, .co_linetable = d->co_linetable,
		.co_code = d->co_code,
		.rt_interp_head = d->rt_interp_head, .rt_gil = ABI_NO_OFF,
		.rt_tss_key = ABI_NO_OFF,
		.is_id = d->is_id, .is_next = d->is_next,
		.is_threads_head = d->is_threads_head,
		.is_gc_collecting = d->is_gc + d->gc_collecting,
		.is_gc_frame = d->gc_frame ? d->is_gc + d->gc_frame : ABI_NO_OFF32,
		.is_epoch = img->minor == 13 ? next_version_313(d, img->mutexes_extra) : d->is_code_generation,
		.gil_how = PY_GIL_TS_MASK, .skip_owner = OWNER_SHIM, .end_shim = 1,
		.code_tag_mask = u->code_tag_mask,
	};
	if (u->tss_key_behind_finalizing != ABI_NO_OFF)
		img->layout.rt_tss_key = d->rt_finalizing + u->tss_key_behind_finalizing;
	fill_objects(&img->objects, d);
	img->objects.minor = img->minor;
	set_objects(img);
	return 0;
}
