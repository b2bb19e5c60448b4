// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * layout.c - the offsets of each supported CPython (x86-64 and arm64 Linux).
 *
 * Owns what comes from CPython's headers: up to 3.12 complete rows, which tools/gen_layouts.py
 * generates; from 3.13 on what the debug offsets do not contain. For each interpreter that it
 * finds, tests/e2e/cpython/test_layouts.py derives all of it again from the headers, and compares.
 *
 * Sources from 3.13 on, at the tags v3.13.0 ... v3.15.0: Include/cpython/pystate.h (thread state,
 * _PyErr_StackItem), Include/internal/pycore_frame.h and from 3.14 pycore_interpframe_structs.h
 * (_PyInterpreterFrame), Include/cpython/code.h, Include/internal/pycore_runtime.h, pycore_interp.h
 * (3.14+: pycore_interp_structs.h), Include/cpython/unicodeobject.h, bytesobject.h.
 */
#include "cpython/layout.h"

#include <errno.h>

#include "base/util.h"
#include "bpf/abi_async.h"
#include "cpython/debug_offsets.h"

/*
 * ---- suspended coroutines, and what they wait for ----
 *
 * States: Include/internal/pycore_frame.h at v3.14.0 (enum _framestate), and at v3.15.0 where they
 * have other numbers. While a coroutine is suspended in SEND, what it awaits is on the stack of
 * its frame: on top in 3.14, and in 3.15 below one more entry (Python/bytecodes.c, GET_AWAITABLE
 * pushes it together with an index). References have tags (pycore_stackref.h).
 */

static const struct {
	int8_t yield_from, yield_from_locked, executing;
	uint8_t awaited_below;
} versions[] = {
	[14] = { .yield_from = -1, .yield_from_locked = -1, .executing = 0, .awaited_below = 8 },
	[15] = { .yield_from = 2, .yield_from_locked = 3, .executing = 4, .awaited_below = 16 },
};

#define STACKREF_TAG_MASK 3

/*
 * From validated debug offsets of 3.14+, and what they do not contain. Below 3.14 asyncio's tasks
 * cannot be found from outside, and *out is zero.
 */
static void coroutine_layout(const struct debug_offsets *d, unsigned int minor,
			     struct async_coroutine_layout *out)
{
	*out = (struct async_coroutine_layout){ 0 };
	if (minor < 14 || minor >= sizeof(versions) / sizeof(*versions))
		return;
	*out = (struct async_coroutine_layout){
		.ob_type = (uint16_t)d->ob_type,
		.gen_frame = (uint16_t)d->gen_frame, .gen_state = (uint16_t)d->gen_state,
		.fr_stack = (uint16_t)d->fr_stack,
		.awaited_below = versions[minor].awaited_below,
		.set_used = (uint16_t)d->set_used, .set_mask = (uint16_t)d->set_mask,
		.set_table = (uint16_t)d->set_table,
		.int_tag = (uint16_t)d->int_tag, .int_digits = (uint16_t)d->int_digits,
		.state_yield_from = versions[minor].yield_from,
		.state_yield_from_locked = versions[minor].yield_from_locked,
		.state_executing = versions[minor].executing,
		.stack_tag_mask = STACKREF_TAG_MASK,
	};
}

/* FRAME_OWNED_BY_CSTACK (3.12, 3.13), FRAME_OWNED_BY_INTERPRETER (3.14+) and above. */
#define OWNER_SHIM 3

/* PyThreadState._status: initialized, bound, unbound, bound_gilstate, active, holds_gil */
#define STATUS_BIT_ACTIVE    (1u << 4)	/* attached */
#define STATUS_BIT_HOLDS_GIL (1u << 5)	/* 3.13 only: 3.14 made it an int */

/* v3.13.0 and v3.14.0, v3.15.0, Include/cpython/object.h: PyHeapTypeObject.ht_cached_keys */
#define CACHED_KEYS_313 880
#define CACHED_KEYS_315 888

/* _PyStackRef: 3.14+ tags references in the low bits, GIL builds too (pycore_stackref.h). */
#define STACKREF_TAG_MASK 3

/*
 * A row: the offsets of a version from a given release on. FrameObjects (up to 3.10) are read from
 * f_back on (fr_base); these versions have no qualified name, so co_name is used.
 */
struct row {
	uint8_t minor, micro_from;
	struct py_layout layout;
	struct py_object_layout objects;
	struct py_runtime_layout rt;
};

#include "cpython/layouts.inc"

/* The state bits of a compact str from 3.12 on: interned:2, kind:3, compact:1, ascii:1. */
static const struct py_object_layout str_bits = {
	.str_kind_mask = 0x1c, .str_kind_shift = 2, .str_compact_bit = 0x20, .str_ascii_bit = 0x40,
};

/*
 * 3.13: interp->func_state.next_version. Every new code object takes its co_version from this
 * counter (Objects/codeobject.c, init_code()), so it changes before another code object can have a
 * freed address. It stops at 0 after 2^32 of them, so 0 means that it is not reliable. (3.12 has
 * the field, too, but does not count in it: see find_epoch() in image.c.)
 *
 * The field is deep in PyInterpreterState, and 16 bytes deeper with Py_DEBUG. The sizes are those
 * of v3.13.0, v3.13.5 and v3.13.18, whose embedded thread state, which follows, grew by 8 bytes
 * each time. Structs of other sizes are unknown. The size of PyInterpreterState alone would not
 * suffice: v3.13.0's with Py_DEBUG equals v3.13.18's without. (The sizes are those on x86-64.
 * Longer mutexes in the interpreter's own GIL move the fields after it, and the first interpreter
 * is a part of _PyRuntimeState.)
 */
static const struct {
	uint32_t is_bytes, rt_bytes, next_version;
} epochs_313[] = {
	{ 194968, 283320, 17000 }, { 194976, 283376, 17000 }, { 194984, 283408, 17000 },
	{ 194984, 299336, 17016 }, { 194992, 299392, 17016 }, { 195000, 299424, 17016 },
	/* free-threaded: v3.13.5, v3.13.18; both with Py_DEBUG */
	{ 215616, 328320, 20092 }, { 215616, 328384, 20092 },
	{ 218112, 346816, 20172 }, { 218112, 346880, 20172 },
};

static uint32_t next_version_313(const struct debug_offsets *d, int mutexes_extra)
{
	size_t i;

	/*
	 * On another machine a size may mean another release, and in free-threaded builds more than
	 * the GIL moves.
	 */
	if (mutexes_extra < 0 || (mutexes_extra && d->free_threaded))
		return ABI_NO_OFF32;
	for (i = 0; i < ARRAY_SIZE(epochs_313); i++)
		if (epochs_313[i].is_bytes + mutexes_extra == d->is_bytes &&
		    epochs_313[i].rt_bytes + mutexes_extra == d->rt_bytes)
			return epochs_313[i].next_version + mutexes_extra;
	return ABI_NO_OFF32;
}

/*
 * Number of bytes of a PyThreadState that the BPF side reads. No more than needed: a heap page that
 * was never touched may follow, and a read that reaches it fails as a whole.
 */
static uint16_t tstate_bytes(const struct py_layout *l)
{
	uint16_t end = 0;
	size_t i;

	for (i = 0; i < TS_WORDS; i++)
		if (l->ts_words[i] != ABI_NO_OFF && l->ts_words[i] > end)
			end = l->ts_words[i];
	return end + 8;
}

unsigned int layout_cond_bytes(void)
{
	return 48;
}

/*
 * struct _gil_runtime_state (Include/internal/pycore_gil.h, 3.7 to 3.15) ends with a
 * pthread_cond_t, a pthread_mutex_t, and another pair of them. A thread that waits on a futex
 * inside them waits for the GIL. glibc's mutexes have 40 bytes, on arm64 48; musl's have 40.
 */
static uint16_t gil_locks_bytes(const struct cpython_image *img)
{
	int mutex = 40 + (img->mutexes_extra > 0 ? img->mutexes_extra / 2 : 0);

	return 2 * (layout_cond_bytes() + mutex);
}

/*
 * v3.6.15 ... v3.15.0: Include/code.h, Include/frameobject.h, later Include/cpython/code.h and
 * Include/cpython/frameobject.h; from 3.11 on the frame's structure of the sources above.
 */
static const struct py_code_layout code_rows[] = {
	{ 6, 16, 20, 28, 32, 24, 64, 80, 72, 56, 0, 48, 376, 112, 0, 0, 0 },
	{ 7, 16, 20, 28, 32, 24, 64, 80, 72, 56, 0, 48, 360, 96, 0, 0, 0 },
	{ 8, 16, 24, 32, 36, 28, 72, 88, 80, 64, 0, 48, 360, 96, 72, 0, 24 },
	{ 10, 16, 24, 32, 36, 28, 72, 88, 80, 64, 0, 48, 352, 88, 64, 80, 108 },
	{ 11, 56, 64, 68, 48, 76, 96, 104, 0, 32, 40, 8, 72, 80, 64, 0, 75 },
	{ 12, 52, 60, 64, 48, 72, 96, 104, 0, 32, 40, 24, 72, 72, 64, 0, 67 },
	{ 14, 52, 60, 64, 48, 72, 96, 104, 0, 32, 40, 24, 80, 72, 0, 0, 0 },
};

const struct py_code_layout *py_code_layout(uint8_t minor)
{
	const struct py_code_layout *row = NULL;
	size_t i;

	for (i = 0; minor <= LAYOUT_MINOR_MAX && i < ARRAY_SIZE(code_rows); i++)
		if (code_rows[i].minor <= minor)
			row = &code_rows[i];
	return row;
}

/* v3.8.0 ... v3.13.0, Include/cpython/pystate.h; tests/e2e/cpython/test_layouts.py compares. */
uint16_t py_thread_dict(uint8_t minor)
{
	static const uint16_t at[] = { 152, 152, 152, 128, 112, 128 };

	return minor >= 8 && minor - 8u < ARRAY_SIZE(at) ? at[minor - 8] : 0;
}

/*
 * PyGC_Head is right before its object. Up to 3.7 a double in it makes it longer; free-threaded
 * builds have none (Include/objimpl.h at v3.6.15 and v3.7.16, then internal/pycore_gc.h).
 */
static uint8_t gc_head_bytes(const struct cpython_image *img)
{
	return img->layout.gc_by_frame ? 0 : img->objects.minor < 8 ? 32 : 16;
}

/* What the BPF side needs to find the collector's calls. */
static void set_for_collections(struct cpython_image *img)
{
	const struct py_code_layout *code = py_code_layout(img->objects.minor);
	struct py_layout *l = &img->layout;
	/* An object's head without its size, beyond the 16 bytes that most builds have. */
	uint16_t head = img->objects.str_length - 16;

	l->gc_head = gc_head_bytes(img);
	l->fr_locals = code->slots + (l->lasti_unit ? head : 0);
	l->fr_generator = code->generator + head;
}

/* What the BPF side needs to send whole line tables, to hash names, and for collections. */
static void set_for_kernel(struct cpython_image *img)
{
	set_for_collections(img);
	img->layout.ts_bytes = tstate_bytes(&img->layout);
	if (img->layout.gil_cond)
		img->layout.gil_locks = gil_locks_bytes(img);
	img->layout.bytes_size = img->objects.bytes_size;
	img->layout.bytes_data = img->objects.bytes_data;
	img->layout.str_length = img->objects.str_length;
	img->layout.str_data = img->objects.str_ascii_data;
}

/* Py_TRACE_REFS up to 3.12: objects begin with two more pointers; other structs do not change. */
#define TRACE_REFS_BYTES 16

static void shift_objects(struct cpython_image *img)
{
	struct py_layout *l = &img->layout;
	struct py_object_layout *o = &img->objects;
	uint16_t *const code[] = {
		&l->co_firstlineno, &l->co_version, &l->co_filename, &l->co_name, &l->co_qualname,
		&l->co_linetable, &l->co_code, &l->fo_data,
		&o->bytes_size, &o->bytes_data, &o->str_length, &o->str_state,
		&o->str_ascii_data, &o->str_compact_data,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(code); i++)
		if (*code[i] != ABI_NO_OFF)
			*code[i] += TRACE_REFS_BYTES;
	if (l->lasti_unit)	/* frames are objects here */
		l->fr_base += TRACE_REFS_BYTES;
}

/* From 3.7 to 3.11 the GIL is in _PyRuntimeState before these two fields. */
static int move_behind_gil(struct cpython_image *img)
{
	if (img->rt.gil == ABI_NO_OFF)
		return 0;
	if (img->mutexes_extra < 0)
		return -ENOTSUP;
	img->rt.tss_key += img->mutexes_extra;
	img->rt.gil += img->mutexes_extra;
	return 0;
}

int layout_from_table(struct cpython_image *img)
{
	const struct row *row = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].minor == img->minor && rows[i].micro_from <= img->micro)
			row = &rows[i];
	if (!row)
		return -ENOTSUP;
	img->layout = row->layout;
	img->objects = row->objects;
	img->rt = row->rt;
	img->objects.minor = img->minor;
	if (img->trace_refs)
		shift_objects(img);
	set_for_kernel(img);
	return move_behind_gil(img);
}

/*
 * What the debug offsets do not contain. The anchors are fields that they contain and that surround
 * the others: if an anchor has moved, the offsets of the others are not reliable. Free-threaded
 * builds have object headers that are 16 bytes longer.
 */
static const struct undocumented {
	uint16_t anchor_thread_id, anchor_status, anchor_datastack, anchor_firstlineno;
	uint16_t anchor_str_ascii_bytes, anchor_holds_gil;
	uint16_t exc_current, exc_info, exc_state;
	uint16_t tss_key_behind_finalizing;	/* ABI_NO_OFF: no key, TLS (3.15) */
	uint16_t gil;
	uint32_t gil_mask;
	uint16_t co_version;
	uint16_t fr_object, fo_data;
	uint8_t code_tag_mask;
	uint8_t str_shift;	/* by how much the bits kind, compact and ascii are shifted from
				 * their positions in 3.12 */
} undocumented[2][16] = {
	{
		[13] = { 152, 32, 232, 68, 40, 0, 112, 120, 256, 1552,
			 32, STATUS_BIT_HOLDS_GIL, 92, 48, 64, 0, 0 },
		[14] = { 152, 32, 232, 68, 40, 0, 112, 120, 256, 1552,
			 36, UINT32_MAX, 92, 48, 72, STACKREF_TAG_MASK, 0 },
		[15] = { 176, 32, 256, 68, 40, 36, 136, 144, 288, ABI_NO_OFF,
			 36, UINT32_MAX, 92, 48, 72, STACKREF_TAG_MASK, 0 },
	}, {	/*
		 * Free-threaded builds. For CPython's own profiler, the thread that "holds
		 * the GIL" there is one that is attached (v3.15.0,
		 * Modules/_remote_debugging/threads.c). If the GIL was switched on at run
		 * time, it is the same thread.
		 */
		[13] = { 152, 32, 232, 84, 56, 0, 112, 120, 256, 1552,
			 32, STATUS_BIT_ACTIVE, 108, 48, 80, 0, 0 },
		[14] = { 152, 32, 232, 84, 56, 0, 112, 120, 256, 1552,
			 32, STATUS_BIT_ACTIVE, 108, 48, 88, STACKREF_TAG_MASK, 6 },
		[15] = { 176, 32, 256, 84, 56, 36, 136, 144, 288, ABI_NO_OFF,
			 32, STATUS_BIT_ACTIVE, 108, 48, 88, STACKREF_TAG_MASK, 6 },
	},
};

/*
 * Location of the counters of collections. Up to 3.14 they are a struct gc_generation_stats[3]
 * right before `collecting`, also in free-threaded builds (v3.13.0, Include/internal/pycore_gc.h;
 * v3.14.0, pycore_interp_structs.h). 3.15 has a pointer to a struct gc_stats, with rings of the
 * last collections, whose lengths follow from its size (v3.15.0, pycore_interp_structs.h).
 */
#define GC_STATS_BYTES (3 * 24)

static void find_gc_stats(struct py_layout *l, const struct debug_offsets *d, unsigned int minor)
{
	uint8_t young = d->free_threaded ? 1 : 11, old = d->free_threaded ? 1 : 3;

	l->interp_gc_stats = ABI_NO_OFF32;
	if (minor < 15 && d->gc_collecting >= GC_STATS_BYTES) {
		l->gc_stats_how = PY_GC_STATS_ARRAY;
		l->interp_gc_stats = d->interp_gc + d->gc_collecting - GC_STATS_BYTES;
		return;
	}
	if (minor < 15 || d->gc_stats_bytes != gc_rings_bytes(young, old))
		return;
	l->gc_stats_how = PY_GC_STATS_RINGS;
	l->gc_young_items = young;
	l->gc_old_items = old;
	l->interp_gc_stats = d->interp_gc + d->gc_stats;
}

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
	/* 3.15's debug offsets contain these fields. */
	if (d->ts_holds_gil && d->ts_holds_gil != u->anchor_holds_gil)
		return "ts_holds_gil";
	if (d->ts_exc_current && d->ts_exc_current != u->exc_current)
		return "ts_exc_current";
	if (d->ts_exc_state && d->ts_exc_state != u->exc_state)
		return "ts_exc_state";
	if (d->str_compact_bytes && d->str_compact_bytes != d->str_ascii_bytes + 16)
		return "str_compact_bytes";
	if (d->exc_value)
		return "exc_value";
	/* Free-threaded builds from 3.14 on have a copy of the bytecode for each thread. */
	if (!d->fr_tlbc_index != !d->co_tlbc ||
	    !d->co_tlbc != !(d->free_threaded && u->code_tag_mask))
		return "co_tlbc";
	return NULL;
}

/* Size of the part of a frame that contains all fields that are read, rounded up to 8 bytes. */
static uint16_t frame_bytes(const struct debug_offsets *d, uint16_t fr_object)
{
	uint64_t end = d->fr_owner + 1;

	if (fr_object + 8u > end)
		end = fr_object + 8u;
	if (d->fr_code + 8 > end)
		end = d->fr_code + 8;
	if (d->fr_previous + 8 > end)
		end = d->fr_previous + 8;
	if (d->fr_ip + 8 > end)
		end = d->fr_ip + 8;
	if (d->fr_tlbc_index + 4 > end)
		end = d->fr_tlbc_index + 4;
	return (end + 7) & ~7u;
}

static void fill_objects(struct py_object_layout *o, const struct debug_offsets *d,
			 uint8_t str_shift)
{
	*o = str_bits;
	o->str_kind_mask <<= str_shift;
	o->str_kind_shift += str_shift;
	o->str_compact_bit <<= str_shift;
	o->str_ascii_bit <<= str_shift;
	o->bytes_size = d->bytes_size;
	o->bytes_data = d->bytes_data;
	o->str_length = d->str_length;
	o->str_state = d->str_state;
	o->str_ascii_data = d->str_ascii_bytes;
	o->str_compact_data = d->str_ascii_bytes + 16;
}

int layout_from_debug_offsets(struct cpython_image *img, unsigned int minor,
			      const struct debug_offsets *d, const char **what)
{
	const struct undocumented *u = &undocumented[d->free_threaded][minor];

	*what = moved_anchor(d, u);
	if (*what)
		return -EBADMSG;
	img->layout = (struct py_layout){
		.ts_next = d->ts_next, .ts_interp = d->ts_interp,
		.ts_frame = d->ts_frame, .cframe_frame = ABI_NO_OFF,
		.ts_thread_id = d->ts_thread_id,
		.ts_status = d->ts_status, .ts_cframe = ABI_NO_OFF,
		.ts_gil = u->gil, .ts_gil_mask = u->gil_mask,
		.ts_exc_current = u->exc_current, .ts_exc_info = u->exc_info,
		.ts_exc_state = u->exc_state, .ts_datastack = d->ts_datastack,
		.exc_previous = 8,
		.fr_code = d->fr_code, .fr_previous = d->fr_previous, .fr_ip = d->fr_ip,
		.fr_owner = d->fr_owner, .fr_is_entry = ABI_NO_OFF,
		.fr_bytes = frame_bytes(d, u->fr_object),
		.fr_object = u->fr_object, .fo_data = u->fo_data,
		.co_firstlineno = d->co_firstlineno, .co_version = u->co_version,
		.co_filename = d->co_filename, .co_name = d->co_name,
		.co_qualname = d->co_qualname, .co_linetable = d->co_linetable,
		.co_code = d->co_code,
		.interp_id = d->interp_id, .interp_next = d->interp_next,
		.interp_threads_head = d->interp_threads_head,
		.interp_threads_main = d->interp_threads_main ? d->interp_threads_main :
								ABI_NO_OFF32,
		.interp_gc_collecting = d->interp_gc + d->gc_collecting,
		.interp_gc_frame = d->gc_frame ? d->interp_gc + d->gc_frame : ABI_NO_OFF32,
		.interp_epoch = minor == 13 ? next_version_313(d, img->mutexes_extra) :
					   d->interp_code_generation,
		.gil_how = PY_GIL_TS_MASK, .tss_flag = 1, .skip_owner = OWNER_SHIM,
		.end_shim = 1, .code_tag_mask = u->code_tag_mask, .gc_by_frame = d->free_threaded,
		.fr_tlbc_index = d->fr_tlbc_index ? d->fr_tlbc_index : ABI_NO_OFF,
		.co_tlbc = d->co_tlbc ? d->co_tlbc : ABI_NO_OFF,
	};
	find_gc_stats(&img->layout, d, minor);
	img->layout.interp_gil = d->interp_gil;
	img->layout.gil_cond = d->free_threaded ? 40 : 32;
	img->layout.ts_gil_requested = d->ts_gil_requested;
	/* Free-threaded builds before 3.15 do not record which of the running threads collects. */
	if (d->free_threaded && !d->gc_frame)
		img->layout.interp_gc_collecting = ABI_NO_OFF32;
	img->rt = (struct py_runtime_layout){
		.interp_head = d->rt_interp_head, .tss_key = ABI_NO_OFF,
		.gil = ABI_NO_OFF, .collecting = ABI_NO_OFF,
		.main_thread = d->rt_finalizing + 48, .ceval_gil = ABI_NO_OFF,
		.gc_stats = ABI_NO_OFF,
	};
	if (u->tss_key_behind_finalizing != ABI_NO_OFF)
		img->rt.tss_key = d->rt_finalizing + u->tss_key_behind_finalizing;
	fill_objects(&img->objects, d, u->str_shift);
	img->objects.minor = minor;
	img->objects.interp_modules = (uint32_t)d->interp_modules;
	img->objects.type_cached_keys = minor < 15 ? CACHED_KEYS_313 : CACHED_KEYS_315;
	/* After co_linetable and co_weakreflist: v3.14.0, v3.15.0, Include/cpython/code.h */
	img->objects.co_executors = minor >= 14 ? d->co_linetable + 16 : 0;
	img->objects.ts_native_id = d->ts_native_id;
	/* Behind PyThreadState: v3.13.0, Include/internal/pycore_tstate.h */
	img->objects.ts_running_loop = d->ts_bytes;
	coroutine_layout(d, minor, &img->coro);
	set_for_kernel(img);
	return 0;
}
