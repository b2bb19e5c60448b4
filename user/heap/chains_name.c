// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * chains_name.c - what the fields of objects are called: attributes, members of types written in C,
 * variables of frames. Never values: only names that a program's code has.
 *
 * Sources, at v3.6.15 ... v3.15.0: Include/cpython/object.h (PyTypeObject), Include/structmember.h
 * and Include/descrobject.h (PyMemberDef, Py_T_OBJECT_EX), Objects/typeobject.c (members of a class
 * with __slots__), Objects/weakrefobject.c, Include/cpython/traceback.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cpython/attributes.h"
#include "heap/chains_work.h"

/* Offsets in PyTypeObject after sizeof(PyObject). */
enum { TP_MEMBERS = 224, TP_DICT = 248 };
/* f_blockstack, which is not initialised, before a frame's variables (up to 3.10). */
#define BLOCK_BYTES 240
/* PyFrameObject._f_frame_data, at least (3.11+). */
#define FRAME_DATA 72
/* Limits on a type's members, and on bases. */
#define MEMBERS_MAX 256u
#define BASES_MAX 32u

struct member {			/* PyMemberDef */
	uint64_t name;
	uint32_t type, pad;
	int64_t offset;
	uint64_t flags, doc;
};
/* T_OBJECT, T_OBJECT_EX */
enum { MEMBER_OBJECT = 6, MEMBER_OBJECT_EX = 16 };

/* Returns true if the type, or a base, has one of these names. */
static bool type_is(struct chains *c, const struct heap_type *type, const char *const names[])
{
	unsigned int depth, i;

	for (depth = 0; type && depth < BASES_MAX; depth++) {
		for (i = 0; names[i]; i++)
			if (!strcmp(type->name, names[i]))
				return true;
		type = type->base ? heap_types_at(c->types, type->base) : NULL;
	}
	return false;
}

/* ---- text ---- */

static bool is_identifier(const char *s, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		if (!(s[i] == '_' || (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') ||
		      (i && s[i] >= '0' && s[i] <= '9')))
			return false;
	return len != 0;
}

/* The bits below the kind say that the program's code, not its data, has this str. */
static bool is_interned(struct chains *c, uint64_t str)
{
	const struct py_object_layout *o = &c->target->objects;
	uint32_t state;

	return !py_get(&c->walk, str + o->str_state, &state, sizeof(state)) &&
	       state & ((1u << o->str_kind_shift) - 1);
}

bool chains_text(struct chains *c, uint64_t str, bool any, char *out, size_t size)
{
	uint32_t len;
	char *s;
	bool ok;

	*out = '\0';
	if (!str || py_expect(&c->walk, str, PY_IS_STR) || (!any && !is_interned(c, str)) ||
	    code_read_string(&c->cached, &c->target->objects, str, &s, &len))
		return false;
	ok = any || is_identifier(s, len);
	if (ok)
		escape_text(s, len, out, size);
	free(s);
	return ok;
}

/* A C string, which may end right before unmapped memory. */
static void c_text(struct chains *c, uint64_t addr, char *out, size_t size)
{
	char text[HEAP_NAME_BYTES] = "";
	size_t n = object_first_read(addr, 1, sizeof(text) - 1);

	if (py_get(&c->walk, addr, text, n))
		text[0] = '\0';
	if (strlen(text) == n && n < sizeof(text) - 1 &&
	    py_get(&c->walk, addr + n, text + n, sizeof(text) - 1 - n))
		text[n] = '\0';
	if (is_identifier(text, (uint32_t)strlen(text)))
		escape_text(text, strlen(text), out, size);
}

/* ---- members and attributes ---- */

static bool member_in(struct chains *c, uint64_t members, uint32_t max, int64_t off, char *out,
		      size_t size)
{
	struct member m;
	uint32_t i;

	for (i = 0; i < max; i++) {
		if (py_get(&c->walk, members + i * sizeof(m), &m, sizeof(m)) || !m.name)
			return false;
		if (m.offset != off || (m.type != MEMBER_OBJECT && m.type != MEMBER_OBJECT_EX))
			continue;
		c_text(c, m.name, out, size);
		return *out;
	}
	return false;
}

/* Members are described by the type itself or, after __slots__, behind it. */
static bool member_name(struct chains *c, const struct heap_type *type, int64_t off, char *out,
			size_t size)
{
	uint64_t members;
	unsigned int depth;

	for (depth = 0; type && depth < BASES_MAX; depth++) {
		if (!py_pointer(&c->walk, type->addr + c->head + TP_MEMBERS, &members) &&
		    member_in(c, members, MEMBERS_MAX, off, out, size))
			return true;
		type = type->base ? heap_types_at(c->types, type->base) : NULL;
	}
	return false;
}

/* An attribute in the object itself (3.13+): see struct _dictvalues. */
static bool inline_name(struct chains *c, const struct heap_type *type, int64_t off, char *out,
			size_t size)
{
	struct py_entry entries[WALK_ENTRIES];
	uint32_t cnt, index;
	struct py_dict d;

	if (c->target->minor < 13 || !(type->flags & PY_INLINE_VALUES) ||
	    off < (int64_t)type->basic + 8)
		return false;
	index = (uint32_t)(off - type->basic - 8) / 8;
	if (py_shared_keys(&c->walk, type->addr, 1, &d) || index >= d.cnt ||
	    py_read_entries(&c->walk, &d, index, entries, &cnt) || !cnt)
		return false;
	return chains_text(c, entries[0].key, true, out, size);
}

/* ---- frames ---- */

/* Item i of a tuple of names. Returns its length, or 0. */
static uint64_t name_item(struct chains *c, uint64_t tuple, uint64_t i, char *out, size_t size)
{
	uint64_t len, str;

	if (!tuple || py_expect(&c->walk, tuple, PY_IS_TUPLE) ||
	    py_get(&c->walk, tuple + c->head, &len, sizeof(len)) || len > PY_SLOTS_MAX)
		return 0;
	if (i < len && !py_get(&c->walk, py_tuple_items(&c->walk, tuple) + 8 * i, &str,
			       sizeof(str)))
		chains_text(c, str, true, out, size);
	return len;
}

void chains_slot_name(struct chains *c, const struct py_variables *v, uint64_t i, char *out,
		      size_t size)
{
	uint64_t len;
	unsigned int k;

	*out = '\0';
	for (k = 0; k < 3 && !*out; k++) {
		len = name_item(c, v->names[k], i, out, size);
		if (i < len)
			return;
		i -= len;
	}
}

bool chains_frame_name(struct chains *c, const struct py_frame *frame, uint64_t at, char *out,
		       size_t size)
{
	const struct py_layout *l = &c->target->layout;
	char func[HEAP_NAME_BYTES] = "", path[HEAP_ROOT_NAME_BYTES] = "";
	char name[HEAP_NAME_BYTES] = "";
	bool variable = false;
	struct py_variables v;
	uint64_t str;
	const char *file;

	if (!py_pointer(&c->walk, frame->code + l->co_qualname, &str))
		chains_text(c, str, true, func, sizeof(func));
	if (!py_pointer(&c->walk, frame->code + l->co_filename, &str))
		chains_text(c, str, true, path, sizeof(path));
	file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	if (!py_frame_variables(&c->walk, &c->at, frame, &v) && at >= v.slots) {
		variable = (at - v.slots) / 8 < v.cnt;
		if (variable)
			chains_slot_name(c, &v, (at - v.slots) / 8, name, sizeof(name));
		else
			strcpy(name, "a temporary value");
	}
	snprintf(out, size, "%s%s%s%.64s%s%s", *func ? func : "a function",
		 *func && *func != '<' ? "()" : "", *file ? " in " : "", file, *name ? ": " : "",
		 name);
	return variable;
}

/* ---- all fields ---- */

static bool is_weak(struct chains *c, const struct heap_type *type)
{
	static const char *const names[] = {
		"weakref", "weakref.ReferenceType", "weakproxy", "weakref.ProxyType",
		"weakcallableproxy", "weakref.CallableProxyType", "_weakref.ref", NULL
	};

	return type_is(c, type, names);
}

static bool is_namespace(struct chains *c, const struct heap_type *type, int64_t off)
{
	return off < 0 || (off && off == type->dict_off) ||
	       (type->kind == HEAP_TYPE && off == c->head + TP_DICT) ||
	       (type->kind == HEAP_MODULE && off == c->head);
}

/* Names that a type has no member for: getters. */
static void name_by_child(struct chains *c, uint64_t obj, const struct heap_type *type,
			  int64_t off, char *out, size_t size)
{
	static const char *const tracebacks[] = { "traceback", NULL };
	static const char *const exceptions[] = { "BaseException", NULL };
	static const char *const caches[] = { "functools._lru_cache_wrapper", NULL };
	const struct heap_type *child;
	uint64_t word;

	if (py_pointer(&c->walk, obj + (uint64_t)off, &word))
		return;
	child = chains_object(c, word);
	if (!child)
		return;
	if (type_is(c, child, tracebacks))
		snprintf(out, size, "%s", type_is(c, type, tracebacks) ? "tb_next" :
			 "__traceback__");
	else if (child->kind == HEAP_FRAME && type_is(c, type, tracebacks))
		snprintf(out, size, "tb_frame");
	else if (type_is(c, child, exceptions) && type_is(c, type, exceptions))
		snprintf(out, size, "__context__");
	else if (type_is(c, type, caches))
		snprintf(out, size, "cache");
}

/* Entries of a small set are in the object; those of a large one are elsewhere. */
static bool is_small_set(struct chains *c, uint64_t obj, const struct heap_type *type)
{
	uint64_t table;

	return !py_pointer(&c->walk, obj + c->head + 24, &table) && table > obj &&
	       table - obj < type->basic;
}

/* A slot of a frame that is part of an object, or is one. */
static bool slot_name(struct chains *c, uint64_t obj, const struct heap_type *type, int64_t off,
		      unsigned int *how, char *out, size_t size)
{
	const struct py_layout *l = &c->target->layout;
	struct py_frame frame = { .addr = obj };
	struct py_variables v;

	if (!chains_inner_frame(c, obj, type, &frame) &&
	    (type->kind != HEAP_FRAME || !l->lasti_unit ||
	     py_pointer(&c->walk, obj + l->fr_base + l->fr_code, &frame.code)))
		return false;
	if (py_frame_variables(&c->walk, &c->at, &frame, &v) || obj + (uint64_t)off < v.slots)
		return false;
	if (!chains_frame_name(c, &frame, obj + (uint64_t)off, out, size))
		*how |= CHAINS_WEAK;
	return true;
}

bool chains_field_name(struct chains *c, uint64_t obj, const struct heap_type *type, int64_t off,
		       unsigned int *how, char *out, size_t size)
{
	struct py_frame frame;

	*how = CHAINS_FIELD;
	*out = '\0';
	if (off == c->head - 8 || (off == c->head && is_weak(c, type)))
		return false;
	if (type->kind == HEAP_FRAME && c->target->layout.lasti_unit &&
	    off < c->target->layout.fr_locals && off >= c->target->layout.fr_locals - BLOCK_BYTES)
		return false;
	/* The space for its own frame is not initialised while the function runs (3.11+). */
	if (type->kind == HEAP_FRAME && !c->target->layout.lasti_unit && off >= FRAME_DATA &&
	    !chains_inner_frame(c, obj, type, &frame))
		return false;
	/* Its objects come first; then, from 3.11 on, other data and the bytecode. */
	if (type->kind == HEAP_CODE && c->target->minor >= 11 &&
	    off > c->target->layout.co_linetable)
		return false;
	if (type->kind == HEAP_SET && !is_small_set(c, obj, type))
		return false;
	if (is_namespace(c, type, off)) {
		*how = CHAINS_NAMESPACE;
	} else if (type->kind == HEAP_TUPLE || type->kind == HEAP_SET) {
		*how = CHAINS_ITEM;
		snprintf(out, size, "[]");
	} else if (slot_name(c, obj, type, off, how, out, size)) {
		return true;
	}
	if (!*out && *how == CHAINS_FIELD && !inline_name(c, type, off, out, size) &&
	    !member_name(c, type, off, out, size))
		name_by_child(c, obj, type, off, out, size);
	return true;
}
