// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * slots.c - see slots.h.
 *
 * Sources, at v3.8.0 ... v3.15.0: Include/descrobject.h (PyMemberDescrObject), structmember.h
 * (PyMemberDef, T_OBJECT_EX), Include/cpython/object.h (PyTypeObject), Objects/weakrefobject.h.
 * tests/e2e/capture/test_dump_trio.py reads those of living classes.
 */
#include "cpython/slots.h"

#include <errno.h>
#include <string.h>

#include "cpython/attributes.h"

/* Offsets with a head of 0 bytes, but for ob_size of PyVarObject. */
#define TYPE_DICT 248
#define TYPE_SUBCLASSES 344
#define DESCRIPTOR_MEMBER 24	/* d_type, d_name, d_qualname, d_member */
#define WEAK_OBJECT 0		/* wr_object */
#define IS_OBJECT 16		/* T_OBJECT_EX */

/* PyMemberDef up to offset. */
struct member {
	uint64_t name;
	int32_t type, pad;
	uint64_t offset;
};

static int read_member(struct py_walk *w, uint64_t descriptor, uint16_t *off)
{
	struct member m;
	uint64_t at;
	int err;

	if (!py_type_named(w, descriptor, "member_descriptor"))
		return -ENOENT;
	err = py_pointer(w, descriptor + w->head + DESCRIPTOR_MEMBER, &at);
	if (!err)
		err = py_get(w, at, &m, sizeof(m));
	if (err)
		return err;
	if (m.type != IS_OBJECT || m.offset < w->head || m.offset > PY_SLOT_MAX || m.offset & 7)
		return -EBADMSG;
	*off = (uint16_t)m.offset;
	return 0;
}

int py_slot_offset(struct py_walk *w, uint64_t type, const char *name, uint16_t *off)
{
	uint64_t mro, cnt, bases[PY_SLOT_BASES_MAX], dict, value;
	uint32_t i;
	int err = py_expect(w, type, PY_IS_TYPE);

	if (!err)
		err = py_pointer(w, type + w->head + PY_TYPE_MRO, &mro);
	if (!err)
		err = py_expect(w, mro, PY_IS_TUPLE);
	if (!err)
		err = py_get(w, mro + w->head, &cnt, sizeof(cnt));
	if (!err && cnt > PY_SLOT_BASES_MAX)
		err = -EBADMSG;
	if (!err)
		err = py_get(w, py_tuple_items(w, mro), bases, cnt * sizeof(*bases));
	for (i = 0; !err && i < cnt; i++) {
		if (py_pointer(w, bases[i] + w->head + TYPE_DICT, &dict))
			continue;	/* a class of the interpreter's own (3.12+) */
		err = py_dict_value(w, dict, name, PY_CLASS_ATTRIBUTES_MAX, &value);
		if (!err)
			return read_member(w, value, off);
		if (err == -ENOENT)
			err = 0;
	}
	return err ? err : -ENOENT;
}

int py_slot(struct py_walk *w, uint64_t obj, const char *name, uint64_t *value)
{
	uint64_t type, flags;
	uint16_t off;
	int err = py_type_of(w, obj, &type, &flags);

	if (!err)
		err = py_slot_offset(w, type, name, &off);
	return err ? err : py_pointer(w, obj + off, value);
}

/* ---- classes below a class ---- */

/* Add it unless it is there. Returns false if there is no room. */
static bool add_class(uint64_t out[], uint32_t max, uint32_t *cnt, uint64_t type)
{
	uint32_t i;

	for (i = 0; i < *cnt; i++)
		if (out[i] == type)
			return true;
	if (*cnt == max)
		return false;
	out[(*cnt)++] = type;
	return true;
}

/* tp_subclasses: a dict with weak references as values. */
static void add_below(struct py_walk *w, uint64_t type, uint64_t out[], uint32_t max,
		      uint32_t *cnt)
{
	struct py_entry e[WALK_ENTRIES];
	uint64_t dict, below;
	struct py_dict d;
	uint32_t from, n, i;

	if (py_pointer(w, type + w->head + TYPE_SUBCLASSES, &dict) ||
	    py_expect(w, dict, PY_IS_DICT) || py_open_dict(w, dict, &d) || d.values)
		return;
	for (from = 0; from < d.cnt && from < PY_CLASS_ATTRIBUTES_MAX; from += WALK_ENTRIES) {
		if (py_read_entries(w, &d, from, e, &n))
			return;
		for (i = 0; i < n; i++) {
			if (!e[i].key || !e[i].value ||
			    py_pointer(w, e[i].value + w->head + WEAK_OBJECT, &below) ||
			    py_expect(w, below, PY_IS_TYPE))
				continue;
			if (!add_class(out, max, cnt, below))
				return;
		}
	}
}

int py_subclasses(struct py_walk *w, uint64_t type, uint64_t out[], uint32_t max, uint32_t *cnt)
{
	uint32_t i;
	int err = py_expect(w, type, PY_IS_TYPE);

	*cnt = 0;
	if (err || !max)
		return err;
	out[(*cnt)++] = type;
	for (i = 0; i < *cnt; i++)
		add_below(w, out[i], out, max, cnt);
	return 0;
}
