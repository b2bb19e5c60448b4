// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * debug_offsets.c - decodes and validates struct _Py_DebugOffsets.
 *
 * Positions: Include/internal/pycore_runtime.h at tag v3.13.0 and
 * Include/internal/pycore_debug_offsets.h at v3.14.0 and v3.15.0. They are fixed in the final
 * releases of a minor version; fields are inserted in the middle from one minor version to the next
 * and in pre-releases. The struct does not contain its own size, but that can be checked: it is the
 * first member of _PyRuntimeState, so the offset of `finalizing`, three words after its end,
 * follows from it.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/util.h"
#include "bpf/abi.h"
#include "cpython/debug_offsets.h"
#include "cpython/debug_offsets_315.inc"

/* Limit of a field (in bytes, exclusive) and its alignment. */
enum bound {
	ANY,		/* checked separately */
	RUNTIME,	/* u16 in py_layout */
	INTERP,		/* far above sizeof(PyInterpreterState), which is 226 KiB in 3.15 */
	TSTATE,		/* read as one block of at most ABI_TS_BYTES */
	FRAME, FRAME_INT, FRAME_BYTE,
	CODE, CODE_INT,
	OBJECT, OBJECT_INT, OBJECT_BYTE,
	GC_INT,
};

static const struct {
	uint32_t below, align;
} bounds[] = {
	[ANY] = { UINT32_MAX, 1 },	 [RUNTIME] = { 4096, 8 },
	[INTERP] = { 1u << 20, 8 },	 [TSTATE] = { ABI_TS_BYTES - 8, 4 },
	/* py_layout.fr_bytes, which includes them, must stay below 128. */
	[FRAME] = { 113, 8 },		 [FRAME_INT] = { 117, 4 },
	[FRAME_BYTE] = { 120, 1 },
	[CODE] = { 512, 8 },		 [CODE_INT] = { 512, 4 },
	[OBJECT] = { 128, 8 },		 [OBJECT_INT] = { 128, 4 },
	[OBJECT_BYTE] = { 128, 1 },	 [GC_INT] = { 4096, 4 },
};

#define NO_POS 0
#define FIELD(member, bound, p13, p14, p15) \
	{ #member, offsetof(struct debug_offsets, member), bound, { p13, p14, p15 } }

/* Byte position in 3.13, 3.14, 3.15. */
static const struct field {
	const char *name;
	size_t member;
	enum bound bound;
	uint16_t pos[3];
} fields[] = {
	FIELD(version, ANY, 8, 8, 8),
	FIELD(free_threaded, ANY, 16, 16, 16),
	FIELD(rt_bytes, ANY, 24, 24, 24),
	FIELD(rt_finalizing, RUNTIME, 32, 32, 32),
	FIELD(rt_interp_head, RUNTIME, 40, 40, 40),
	FIELD(is_bytes, INTERP, 48, 48, 48),
	FIELD(interp_id, INTERP, 56, 56, 56),
	FIELD(interp_next, INTERP, 64, 64, 64),
	FIELD(interp_threads_head, INTERP, 72, 72, 72),
	FIELD(interp_threads_main, INTERP, NO_POS, 80, 80),
	FIELD(interp_gc, INTERP, 80, 88, 88),
	FIELD(interp_modules, INTERP, 88, 96, 96),
	FIELD(interp_code_generation, INTERP, NO_POS, 160, 160),
	FIELD(interp_gil, INTERP, 112, 120, 120),
	FIELD(ts_bytes, RUNTIME, 152, NO_POS, NO_POS),
	FIELD(ts_next, TSTATE, 168, 192, 192),
	FIELD(ts_interp, TSTATE, 176, 200, 200),
	FIELD(ts_frame, TSTATE, 184, 208, 208),
	FIELD(ts_thread_id, TSTATE, 192, 216, 240),
	FIELD(ts_native_id, TSTATE, 200, 224, 248),
	FIELD(ts_datastack, TSTATE, 208, 232, 256),
	FIELD(ts_status, TSTATE, 216, 240, 264),
	FIELD(ts_holds_gil, TSTATE, NO_POS, NO_POS, 272),
	FIELD(ts_gil_requested, TSTATE, NO_POS, NO_POS, 280),
	FIELD(ts_exc_current, TSTATE, NO_POS, NO_POS, 288),
	FIELD(ts_exc_state, TSTATE, NO_POS, NO_POS, 296),
	FIELD(exc_value, OBJECT, NO_POS, NO_POS, 304),
	FIELD(fr_previous, FRAME, 232, 256, 320),
	FIELD(fr_code, FRAME, 240, 264, 328),
	FIELD(fr_ip, FRAME, 248, 272, 336),
	FIELD(fr_owner, FRAME_BYTE, 264, 288, 352),
	/* These are 0 in 3.13 and in builds with a GIL. */
	FIELD(fr_tlbc_index, FRAME_INT, NO_POS, 304, 368),
	FIELD(fr_stack, FRAME, NO_POS, 296, 360),
	FIELD(co_filename, CODE, 280, 320, 384),
	FIELD(co_name, CODE, 288, 328, 392),
	FIELD(co_qualname, CODE, 296, 336, 400),
	FIELD(co_linetable, CODE, 304, 344, 408),
	FIELD(co_firstlineno, CODE_INT, 312, 352, 416),
	FIELD(co_code, CODE, 344, 384, 448),
	FIELD(co_tlbc, CODE, NO_POS, 392, 456),
	FIELD(ob_type, OBJECT, NO_POS, 408, 472),
	FIELD(set_used, OBJECT, NO_POS, 504, 600),
	FIELD(set_table, OBJECT, NO_POS, 512, 608),
	FIELD(set_mask, OBJECT, NO_POS, 520, 616),
	FIELD(int_tag, OBJECT, NO_POS, 576, 672),
	FIELD(int_digits, OBJECT_INT, NO_POS, 584, 680),
	FIELD(bytes_size, OBJECT, 520, 600, 696),
	FIELD(bytes_data, OBJECT, 528, 608, 704),
	FIELD(str_state, OBJECT_INT, 544, 624, 720),
	FIELD(str_length, OBJECT, 552, 632, 728),
	FIELD(str_ascii_bytes, OBJECT, 560, 640, 736),
	FIELD(str_compact_bytes, OBJECT, NO_POS, NO_POS, 744),
	FIELD(gen_frame, OBJECT, NO_POS, 680, 808),
	FIELD(gen_state, OBJECT_BYTE, NO_POS, 688, 816),
	FIELD(gc_collecting, GC_INT, 576, 656, 760),
	FIELD(gc_frame, GC_INT, NO_POS, NO_POS, 768),
	FIELD(gc_stats_bytes, GC_INT, NO_POS, NO_POS, 776),
	FIELD(gc_stats, GC_INT, NO_POS, NO_POS, 784),
};

static const uint16_t sizes[3] = { 584, 760, 888 };

size_t debug_offsets_size(unsigned int minor)
{
	return minor >= 13 && minor <= 15 ? sizes[minor - 13] : 0;
}

static uint64_t word_at(const uint8_t *bytes, size_t pos)
{
	uint64_t v;

	memcpy(&v, bytes + pos, sizeof(v));
	return v;
}

int debug_offsets_version(const uint8_t *bytes, size_t len, uint32_t *hex, int *free_threaded)
{
	if (len < 24 || memcmp(bytes, DEBUG_OFFSETS_COOKIE, 8))
		return -EBADMSG;
	if (word_at(bytes, 8) > UINT32_MAX || word_at(bytes, 16) > 1)
		return -EBADMSG;
	*hex = (uint32_t)word_at(bytes, 8);
	*free_threaded = (int)word_at(bytes, 16);
	return 0;
}

int debug_offsets_read(const uint8_t *bytes, size_t len, unsigned int minor,
		       struct debug_offsets *d, const char **what)
{
	size_t size = debug_offsets_size(minor), i;

	memset(d, 0, sizeof(*d));
	*what = "cookie";
	if (!size || len < size || memcmp(bytes, DEBUG_OFFSETS_COOKIE, 8))
		return -EBADMSG;
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		const struct field *f = &fields[i];
		uint16_t pos = f->pos[minor - 13];
		uint64_t v;

		if (pos == NO_POS)
			continue;
		v = word_at(bytes, pos);
		*what = f->name;
		if (v >= bounds[f->bound].below || v % bounds[f->bound].align)
			return -EBADMSG;
		memcpy((char *)d + f->member, &v, sizeof(v));
	}
	*what = "rt_finalizing";
	if (d->rt_finalizing != size + 24 || d->rt_interp_head != d->rt_finalizing + 24)
		return -EBADMSG;
	*what = "free_threaded";
	if (d->free_threaded > 1)
		return -EBADMSG;
	*what = NULL;
	return 0;
}

/* Where the parts of 3.15's struct begin, and whether they are the same in all final releases. */
static const struct part {
	const char *name;
	uint16_t pos;
	bool fixed;
} parts_315[] = {
	{ "runtime_state", 24, false },	    { "interpreter_state", 48, false },
	{ "thread_state", 176, true },	    { "err_stackitem", 304, true },
	{ "interpreter_frame", 312, true }, { "code_object", 376, true },
	{ "pyobject", 464, true },	    { "type_object", 480, true },
	{ "heap_type_object", 528, true },  { "tuple_object", 544, true },
	{ "list_object", 568, true },	    { "set_object", 592, true },
	{ "dict_object", 624, true },	    { "float_object", 648, true },
	{ "long_object", 664, true },	    { "bytes_object", 688, true },
	{ "unicode_object", 712, true },    { "gc", 752, false },
	{ "gen_object", 792, true },	    { "llist_node", 824, true },
	{ "eval_breaker", 840, true },	    { "remote_debugging_enabled", 856, false },
	{ "debugger_support", 864, true },
};

int debug_offsets_are_final(const uint8_t *bytes, size_t len, const char **what)
{
	const struct part *part = parts_315;
	size_t pos;
	uint64_t ft;

	*what = "size";
	if (len < sizes[2])
		return -EBADMSG;
	*what = "free_threaded";
	ft = word_at(bytes, 16);
	if (ft > 1)
		return -EBADMSG;
	for (pos = part->pos; pos < sizes[2]; pos += 8) {
		while (part + 1 < parts_315 + ARRAY_SIZE(parts_315) && part[1].pos <= pos)
			part++;
		*what = part->name;
		if (part->fixed && word_at(bytes, pos) != final_315[ft][pos / 8])
			return -EBADMSG;
	}
	*what = NULL;
	return 0;
}
