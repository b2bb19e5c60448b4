// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * with.c - see with.h.
 *
 * Sources, at v3.6.15 ... v3.15.0: Include/frameobject.h and Include/cpython/frameobject.h
 * (PyTryBlock, f_iblock, f_blockstack, which end where the slots begin), Python/ceval.c
 * (SETUP_WITH, BEFORE_WITH), Python/bytecodes.c (LOAD_SPECIAL),
 * Objects/exception_handling_notes.txt, from 3.13 on InternalDocs/exception_handling.md.
 * tests/e2e/cpython/test_layouts.py compares the offsets with the headers.
 */
#include "cpython/with.h"

#include <errno.h>

/* Limits: bytes of an exception table; bytes of bytecode searched at a time, and in total. */
#define TABLE_MAX 16384
#define WINDOW 1024u
#define BYTECODE_MAX 65536u
/* Limit on handlers of handlers: each statement has two. */
#define CHAIN_MAX (2 * PY_WITHS_MAX + 1)

/* PyTryBlock, up to 3.10. */
struct block {
	int32_t type, handler, level;
};
#define BLOCKS_MAX (PY_BLOCKS_BYTES / sizeof(struct block))
#define BLOCK_FINALLY 122	/* SETUP_FINALLY, in all these versions */

#define OP_SETUP_WITH 143	/* the same */
#define OP_EXTENDED_ARG 144
#define OP_SETUP_ASYNC_WITH 154

/* Shared by both methods. */
struct frame_stack {
	struct py_walk *w;
	const struct py_frames_at *at;
	const struct py_frame *frame;
	struct py_variables v;
	struct py_with *out;
	uint32_t cnt;
};

/* The object at a place of the value stack; 0: none. */
static uint64_t stack_object(struct frame_stack *f, uint32_t place)
{
	uint64_t bits;

	if (place >= f->v.stack ||
	    py_get(f->w, f->v.slots + 8ull * (f->v.cnt + place), &bits, sizeof(bits)))
		return 0;
	return py_slot_object(f->at, bits);
}

/* The object that a method, a builtin's or a function's, is bound to, at the same offset. */
static uint64_t bound_to(struct py_walk *w, uint64_t obj)
{
	uint64_t self;

	if (!obj || (!py_type_named(w, obj, "builtin_function_or_method") &&
		     !py_type_named(w, obj, "method")))
		return 0;
	return py_pointer(w, obj + w->head + 8, &self) ? 0 : self;
}

/* The object of the statement with this many values on the stack; 0: it is no `with`. */
static uint64_t self_at(struct frame_stack *f, uint32_t depth)
{
	uint64_t top = depth ? stack_object(f, depth - 1) : 0, below;

	if (f->at->objects.minor < 14)
		return bound_to(f->w, top);
	/* From 3.14 on the function, and the object to call it with; NULL: it is bound. */
	below = depth > 1 ? stack_object(f, depth - 2) : 0;
	if (!top)
		return bound_to(f->w, below);
	return below && (py_type_named(f->w, below, "method_descriptor") ||
			 py_type_named(f->w, below, "function")) ? top : 0;
}

static void add_with(struct frame_stack *f, uint64_t self, uint32_t lasti)
{
	if (self && f->cnt < PY_WITHS_MAX)
		f->out[f->cnt++] = (struct py_with){ self, lasti };
}

/* ---- up to 3.10 ---- */

/* Find the SETUP_WITH that has this handler. 3.10 counts units of two bytes. */
static bool find_setup(struct frame_stack *f, uint32_t handler, uint32_t *lasti)
{
	uint32_t unit = f->at->layout.lasti_unit, off, i, arg = 0, len;
	uint64_t bytes, size;
	uint8_t b[WINDOW];

	if (py_pointer(f->w, f->frame->code + f->at->layout.co_code, &bytes) ||
	    py_get(f->w, bytes + f->w->o->bytes_size, &size, sizeof(size)))
		return false;
	for (off = 0; off < size && off < BYTECODE_MAX; off += WINDOW) {
		len = size - off < WINDOW ? (uint32_t)(size - off) : WINDOW;
		if (py_get(f->w, bytes + f->w->o->bytes_data + off, b, len))
			return false;
		for (i = 0; i + 1 < len; i += 2) {
			arg = arg << 8 | b[i + 1];
			if ((b[i] == OP_SETUP_WITH || b[i] == OP_SETUP_ASYNC_WITH) &&
			    off + i + 2 + arg * unit == handler * unit) {
				*lasti = off + i;
				return true;
			}
			if (b[i] != OP_EXTENDED_ARG)
				arg = 0;
		}
	}
	return false;
}

static int by_blocks(struct frame_stack *f)
{
	struct block blocks[BLOCKS_MAX];
	uint64_t at = f->v.slots - PY_BLOCKS_BYTES, self;
	uint32_t cnt, lasti;
	int err = py_get(f->w, at - PY_IBLOCK_BEFORE, &cnt, sizeof(cnt));

	if (!err && cnt > BLOCKS_MAX)
		err = -EBADMSG;
	if (!err && cnt)
		err = py_get(f->w, at, blocks, cnt * sizeof(*blocks));
	while (!err && cnt--) {
		if (blocks[cnt].type != BLOCK_FINALLY)
			continue;
		self = self_at(f, (uint32_t)blocks[cnt].level);
		if (self && find_setup(f, (uint32_t)blocks[cnt].handler, &lasti))
			add_with(f, self, lasti);
	}
	return err;
}

/* ---- from 3.11 on ---- */

struct cursor {
	const uint8_t *p, *end;
};

/* 6 bits per byte, the highest first; bit 6: more follow. */
static uint32_t take_varint(struct cursor *c)
{
	uint32_t v = 0;
	uint8_t b;

	do {
		b = c->p < c->end ? *c->p++ : 0;
		v = v << 6 | (b & 63);
	} while (b & 64);
	return v;
}

/* Read the next entry. Bit 7 marks the first byte of one. Offsets are in units of two bytes. */
static bool take_handler(struct cursor *c, struct py_handler *out)
{
	uint32_t depth;

	if (c->p >= c->end || !(*c->p & 0x80))
		return false;
	out->start = 2 * take_varint(c);
	out->end = out->start + 2 * take_varint(c);
	out->target = 2 * take_varint(c);
	depth = take_varint(c);
	out->depth = depth >> 1;
	out->of_with = depth & 1;
	return true;
}

/* The entry that covers lasti. False: there is none, or the table is damaged before it. */
static bool py_handler_of(const uint8_t *table, size_t len, uint32_t lasti, struct py_handler *out)
{
	struct cursor c = { table, table + len };

	while (take_handler(&c, out))
		if (lasti >= out->start && lasti < out->end)
			return true;
	return false;
}

/* The beginning of the first of the ranges with this handler: the statement's body. */
static uint32_t body_of(const uint8_t *table, size_t len, uint32_t target)
{
	struct cursor c = { table, table + len };
	struct py_handler h;
	uint32_t first = UINT32_MAX;

	while (take_handler(&c, &h))
		if (h.target == target && h.start < first)
			first = h.start;
	return first;
}

static int read_table(struct frame_stack *f, uint8_t table[TABLE_MAX], size_t *len)
{
	const struct py_code_layout *row = py_code_layout(f->at->objects.minor);
	uint64_t bytes, size;
	int err = py_pointer(f->w, f->frame->code + row->exceptions + f->w->head - 16, &bytes);

	*len = 0;
	if (!err)
		err = py_get(f->w, bytes + f->w->o->bytes_size, &size, sizeof(size));
	if (!err && size > TABLE_MAX)
		err = -EBADMSG;
	if (!err && size)
		err = py_get(f->w, bytes + f->w->o->bytes_data, table, size);
	*len = err ? 0 : size;
	return err;
}

/*
 * An exception that the handler of a statement raises again reaches the handler of the enclosing
 * statement. Handlers that clean up after the first have more values below them.
 */
static int by_handlers(struct frame_stack *f)
{
	uint8_t table[TABLE_MAX];
	struct py_handler h;
	uint32_t at, steps, depth = f->v.stack;
	size_t len;
	int err = read_table(f, table, &len);

	if (!err && len)
		err = py_frame_lasti(f->w, f->at, f->frame, &at);
	for (steps = 0; !err && steps < CHAIN_MAX; steps++) {
		if (!py_handler_of(table, len, at, &h))
			break;
		if (h.of_with && h.depth <= depth)
			add_with(f, self_at(f, h.depth), body_of(table, len, h.target) - 2);
		if (h.depth < depth)
			depth = h.depth;
		at = h.target;
	}
	return err;
}

int py_frame_withs(struct py_walk *w, const struct py_frames_at *at, const struct py_frame *frame,
		   struct py_with out[PY_WITHS_MAX], uint32_t *cnt)
{
	struct frame_stack f = { .w = w, .at = at, .frame = frame, .out = out };
	int err = py_frame_variables(w, at, frame, &f.v);

	if (!err && f.v.stack)
		err = at->layout.lasti_unit ? by_blocks(&f) : by_handlers(&f);
	*cnt = f.cnt;
	return err;
}
