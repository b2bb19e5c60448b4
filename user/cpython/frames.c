// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* frames.c - see frames.h. layout.h has the offsets. */
#include "cpython/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* sizeof(PyObject) assumed by py_code_layout(); some builds have 16 bytes more. */
#define PLAIN_HEAD 16
#define INTERPS_MAX 1024
/* Limit on skipped frames, which ends a circle of them. */
#define SHIMS_MAX 4096

/* co_flags (Include/cpython/code.h) */
#define CO_VARARGS 4
#define CO_VARKEYWORDS 8

/* ---- thread states ---- */

int py_thread_tid(struct py_walk *w, bool musl, uint64_t ident, uint32_t *tid)
{
	return py_get(w, ident + (musl ? PTHREAD_MUSL_TID : PTHREAD_GLIBC_TID), tid, sizeof(*tid));
}

static int read_thread(struct py_walk *w, const struct py_frames_at *at, uint64_t state,
		       uint32_t order, struct py_thread *out)
{
	int err = py_pointer(w, state + at->layout.ts_thread_id, &out->ident);

	out->state = state;
	out->order = order;
	return err ? err : py_thread_tid(w, at->musl, out->ident, &out->tid);
}

/* A state whose thread has not begun, or is gone, is skipped. */
static int list_interpreter(struct py_walk *w, const struct py_frames_at *at, uint64_t interp,
			    struct py_thread *out, uint32_t max, uint32_t *cnt)
{
	uint64_t state = 0;
	uint32_t seen;
	int err = py_get(w, interp + at->layout.interp_threads_head, &state, sizeof(state));

	for (seen = 0; !err && state && seen < PY_THREADS_MAX && *cnt < max; seen++) {
		if (!read_thread(w, at, state, *cnt, &out[*cnt]))
			(*cnt)++;
		err = py_get(w, state + at->layout.ts_next, &state, sizeof(state));
	}
	return err;
}

int py_threads_list(struct py_walk *w, const struct py_frames_at *at, struct py_thread *out,
		    uint32_t max, uint32_t *cnt)
{
	uint64_t interp = 0;
	uint32_t seen;
	int err = py_get(w, at->interps, &interp, sizeof(interp));

	*cnt = 0;
	for (seen = 0; !err && interp && seen < INTERPS_MAX; seen++) {
		err = list_interpreter(w, at, interp, out, max, cnt);
		if (!err)
			err = py_get(w, interp + at->layout.interp_next, &interp, sizeof(interp));
	}
	return err;
}

static int by_tid(const void *a, const void *b)
{
	const struct py_thread *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

void py_threads_sort(struct py_thread *list, uint32_t cnt)
{
	if (cnt)
		qsort(list, cnt, sizeof(*list), by_tid);
}

const struct py_thread *py_threads_find(const struct py_thread *list, uint32_t cnt, uint32_t tid)
{
	uint32_t from = 0, to = cnt, middle;

	while (from < to) {
		middle = from + (to - from) / 2;
		if (list[middle].tid < tid)
			from = middle + 1;
		else
			to = middle;
	}
	return from < cnt && list[from].tid == tid ? &list[from] : NULL;
}

/* ---- frames ---- */

/* The innermost frame of a thread state; 0: none. */
static int first_frame(struct py_walk *w, const struct py_layout *l, uint64_t state,
		       uint64_t *frame)
{
	int err = py_get(w, state + l->ts_frame, frame, sizeof(*frame));

	if (!err && *frame && l->cframe_frame != ABI_NO_OFF)
		err = py_get(w, *frame + l->cframe_frame, frame, sizeof(*frame));
	return err;
}

static uint64_t word_at(const uint8_t *bytes, uint16_t off)
{
	uint64_t v;

	memcpy(&v, bytes + off, sizeof(v));
	return v;
}

/* Read one frame: *out, and the next one. A frame that is not a function has code 0. */
static int read_frame(struct py_walk *w, const struct py_layout *l, uint64_t addr,
		      struct py_frame *out, uint64_t *next)
{
	uint8_t bytes[128];
	int err;

	if (l->fr_bytes > sizeof(bytes) || l->fr_code + 8u > l->fr_bytes ||
	    l->fr_previous + 8u > l->fr_bytes ||
	    (l->fr_owner != ABI_NO_OFF && l->fr_owner >= l->fr_bytes))
		return -EBADMSG;
	err = py_get(w, addr + l->fr_base, bytes, l->fr_bytes);
	if (err)
		return err;
	out->addr = addr;
	out->code = word_at(bytes, l->fr_code) & ~(uint64_t)l->code_tag_mask;
	*next = word_at(bytes, l->fr_previous);
	if (l->fr_owner != ABI_NO_OFF && bytes[l->fr_owner] >= l->skip_owner)
		out->code = 0;
	return 0;
}

int py_frames_from(struct py_walk *w, const struct py_layout *l, uint64_t addr,
		   struct py_frame *out, uint32_t max, uint32_t *cnt, bool *whole)
{
	struct py_frame frame;
	uint32_t seen;
	int err = 0;

	*cnt = 0;
	for (seen = 0; !err && addr && seen < SHIMS_MAX && *cnt < max; seen++) {
		err = read_frame(w, l, addr, &frame, &addr);
		if (!err && frame.code)
			out[(*cnt)++] = frame;
	}
	*whole = !err && !addr;
	return err;
}

int py_frames_list(struct py_walk *w, const struct py_frames_at *at, uint64_t state,
		   struct py_frame *out, uint32_t max, uint32_t *cnt, bool *whole)
{
	uint64_t addr = 0;
	int err = first_frame(w, &at->layout, state, &addr);

	*cnt = 0;
	*whole = false;
	return err ? err : py_frames_from(w, &at->layout, addr, out, max, cnt, whole);
}

/* See own_bytecode() in bpf/pycode.bpf.h. */
uint64_t py_own_bytecode(struct py_walk *w, const struct py_layout *l, uint64_t code,
			 uint32_t index)
{
	uint64_t array, size, entry, again;

	if (py_pointer(w, code + l->co_tlbc, &array) || py_get(w, array, &size, sizeof(size)) ||
	    index >= size || py_get(w, array + 8 + 8ull * index, &entry, sizeof(entry)) ||
	    py_pointer(w, code + l->co_tlbc, &again) || again != array)
		return 0;
	return entry;
}

int py_frame_lasti(struct py_walk *w, const struct py_frames_at *at, const struct py_frame *frame,
		   uint32_t *lasti)
{
	const struct py_layout *l = &at->layout;
	uint64_t base = frame->addr + l->fr_base, start = frame->code + l->co_code, ip = 0, off;
	uint32_t index = 0;
	int err = py_get(w, base + l->fr_ip, &ip, l->lasti_unit ? 4 : 8);

	if (!err && !l->lasti_unit && l->fr_tlbc_index != ABI_NO_OFF)
		err = py_get(w, base + l->fr_tlbc_index, &index, sizeof(index));
	if (err)
		return err;
	if (index)
		start = py_own_bytecode(w, l, frame->code, index);
	off = l->lasti_unit ? ip * l->lasti_unit : ip - start;
	if (!start || off >= CODE_TABLE_MAX)
		return -ENOENT;
	*lasti = (uint32_t)off;
	return 0;
}

/* ---- variables ---- */

static uint32_t int_at(const uint8_t *code, uint8_t off)
{
	uint32_t v;

	memcpy(&v, code + off - PLAIN_HEAD, sizeof(v));
	return v;
}

/* The number of items of a tuple; 0: not a tuple, or unreadable. */
static uint32_t tuple_len(struct py_walk *w, uint64_t tuple)
{
	uint64_t len;

	if (!tuple || py_expect(w, tuple, PY_IS_TUPLE) ||
	    py_get(w, tuple + w->head, &len, sizeof(len)) || len > PY_SLOTS_MAX)
		return 0;
	return (uint32_t)len;
}

static uint32_t argument_cnt(const uint8_t *code, const struct py_code_layout *row)
{
	uint32_t flags = int_at(code, row->flags);

	return int_at(code, row->argcount) + int_at(code, row->kwonly) +
	       !!(flags & CO_VARARGS) + !!(flags & CO_VARKEYWORDS);
}

/* Up to 3.10, cells have their own names, and follow. */
static void add_cells(struct py_walk *w, const uint8_t *code, const struct py_code_layout *row,
		      struct py_variables *v)
{
	v->names[1] = word_at(code, row->second - PLAIN_HEAD);
	v->names[2] = word_at(code, row->third - PLAIN_HEAD);
	v->plain = v->cnt;
	v->cnt += tuple_len(w, v->names[1]) + tuple_len(w, v->names[2]);
}

int py_frame_variables(struct py_walk *w, const struct py_frames_at *at,
		       const struct py_frame *frame, struct py_variables *out)
{
	const struct py_code_layout *row = py_code_layout(at->objects.minor);
	bool objects = at->layout.lasti_unit;	/* frames are objects */
	uint8_t code[96];	/* after the head */
	int err = row ? py_get(w, frame->code + w->head, code, sizeof(code)) : -EBADMSG;

	if (err)
		return err;
	*out = (struct py_variables){
		.slots = frame->addr + row->slots + (objects ? w->head - PLAIN_HEAD : 0),
		.cnt = int_at(code, row->cnt), .stack = int_at(code, row->stacksize),
		.arguments = argument_cnt(code, row),
		.names = { word_at(code, row->names - PLAIN_HEAD) },
	};
	if (out->cnt > PY_SLOTS_MAX || out->stack > PY_SLOTS_MAX)
		return -EBADMSG;
	if (objects)
		add_cells(w, code, row, out);
	else
		out->kinds = word_at(code, row->second - PLAIN_HEAD);
	if (out->arguments > out->cnt)
		out->arguments = out->cnt;
	return 0;
}

uint64_t py_slot_object(const struct py_frames_at *at, uint64_t bits)
{
	uint8_t mask = at->layout.code_tag_mask;

	/* From 3.15 on, a tag with all bits set is an int, not an object (pycore_stackref.h). */
	return mask && (bits & mask) == mask ? 0 : bits & ~(uint64_t)mask;
}
