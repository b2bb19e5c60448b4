// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * locals.c - see locals.h.
 *
 * Sources: Objects/codeobject.c and Include/internal/pycore_code.h at v3.11.0 ... v3.15.0
 * (CO_FAST_CELL, CO_FAST_FREE), Include/cpython/cellobject.h (ob_ref).
 */
#include "cpython/locals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#define CO_FAST_CELL 0x40
#define CO_FAST_FREE 0x80

/* What is read of one frame at a time. Slots beyond LOCALS_MAX are not read. */
struct locals {
	struct py_variables v;
	uint32_t cnt;
	uint64_t slots[LOCALS_MAX];
	uint64_t names[LOCALS_MAX];	/* of str objects */
	uint8_t kinds[LOCALS_MAX];
};

/* Append the items of a tuple of names, within the limit. */
static void add_names(struct py_walk *w, uint64_t tuple, uint64_t *names, uint32_t *cnt)
{
	uint64_t len;
	uint32_t n;

	if (!tuple || py_expect(w, tuple, PY_IS_TUPLE) ||
	    py_get(w, tuple + w->head, &len, sizeof(len)))
		return;
	n = len < LOCALS_MAX - *cnt ? (uint32_t)len : LOCALS_MAX - *cnt;
	if (!py_get(w, py_tuple_items(w, tuple), names + *cnt, n * sizeof(*names)))
		*cnt += n;
}

static int read_kinds(struct py_walk *w, struct locals *l)
{
	uint64_t len;
	int err;

	memset(l->kinds, 0, sizeof(l->kinds));
	if (!l->v.kinds)
		return 0;
	err = py_expect(w, l->v.kinds, PY_IS_BYTES);
	if (!err)
		err = py_get(w, l->v.kinds + w->o->bytes_size, &len, sizeof(len));
	if (!err && len < l->cnt)
		err = -EBADMSG;
	return err ? err : py_get(w, l->v.kinds + w->o->bytes_data, l->kinds, l->cnt);
}

static int read_all(struct py_walk *w, const struct py_frames_at *at,
		    const struct py_frame *frame, struct locals *l)
{
	uint32_t names = 0, i;
	int err = py_frame_variables(w, at, frame, &l->v);

	if (err)
		return err;
	for (i = 0; i < 3; i++)
		add_names(w, l->v.names[i], l->names, &names);
	l->cnt = l->v.cnt < names ? l->v.cnt : names;
	err = py_get(w, l->v.slots, l->slots, l->cnt * sizeof(*l->slots));
	return err ? err : read_kinds(w, l);
}

static bool is_cell(const struct py_frames_at *at, const struct locals *l, uint32_t i)
{
	return at->layout.lasti_unit ? i >= l->v.plain :
		(l->kinds[i] & (CO_FAST_CELL | CO_FAST_FREE)) != 0;
}

/* The current object of a variable; 0: none. Until a function has begun, a cell is no cell yet. */
static uint64_t object_of(struct py_walk *w, const struct py_frames_at *at,
			  const struct locals *l, uint32_t i)
{
	uint64_t obj = py_slot_object(at, l->slots[i]), inner;

	if (!obj || !is_cell(at, l, i) || !py_value_is(w, obj, "cell"))
		return obj;
	return py_get(w, obj + w->head, &inner, sizeof(inner)) ? 0 : inner;
}

/* Up to 3.10, an argument that is in a cell has its name, the same str, among the cells again. */
static bool is_argument(const struct locals *l, uint32_t i)
{
	uint32_t j;

	for (j = 0; j < l->v.arguments && j < i; j++)
		if (l->names[j] == l->names[i])
			return true;
	return i < l->v.arguments;
}

int py_locals_read(struct py_walk *w, const struct py_frames_at *at, const struct py_frame *frame,
		   py_local_fn fn, void *ctx)
{
	struct py_value value;
	struct locals l;
	uint64_t obj;
	uint32_t i, len;
	char *name;
	bool more = true;
	int err = read_all(w, at, frame, &l);

	for (i = 0; !err && more && i < l.cnt && w->reads_left; i++) {
		obj = object_of(w, at, &l, i);
		if (!obj || py_expect(w, l.names[i], PY_IS_STR) ||
		    code_read_string(w->mem, w->o, l.names[i], &name, &len))
			continue;
		py_value_read(w, obj, &value);
		len = (uint32_t)utf8_cut(name, len, LOCALS_NAME_BYTES);
		more = fn(ctx, name, len, is_argument(&l, i), &value);
		free(name);
	}
	return err;
}
