// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * callable.c - see callable.h.
 *
 * Sources, at v3.8.18 ... v3.13.0: Include/funcobject.h and Include/cpython/funcobject.h,
 * Include/methodobject.h and Include/cpython/methodobject.h, Include/classobject.h,
 * Modules/_functoolsmodule.c (partialobject), Include/cellobject.h. Cython's functions (0.29 to
 * 3.1): Cython/Utility/CythonFunction.c begins with a PyCFunctionObject, later a PyCMethodObject,
 * then dict, name, qualified name. tests/e2e/cpython/test_awaiters.py reads living ones.
 */
#include "cpython/callable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cpython/attributes.h"
#include "cpython/layout.h"

/* sizeof(PyObject) assumed by py_code_layout(). */
#define PLAIN_HEAD 16
/* Nested functions of partials and methods that are followed for a name. */
#define NESTED_MAX 3
#define TYPE_NAME 8		/* tp_name, after ob_base and ob_size */
/* Words after the head that are read of an object of any kind. */
#define OBJECT_WORDS 12
#define FIRST_ITEMS 15

/* Words after the head of a PyFunctionObject. */
struct function_words {
	uint8_t code, closure, qualname, cnt;
};

static const struct function_words *function_words(uint8_t minor)
{
	static const struct function_words from_38 = { 0, 4, 11, 12 }, from_310 = { 4, 7, 3, 8 };

	return minor < 10 ? &from_38 : &from_310;
}

/* Words after the head of a Cython function: 5 of PyCFunctionObject, or 6 of PyCMethodObject. */
enum { CY_WORDS = 9, CY_SHORT_NAME = 6, CY_SHORT_QUALNAME = 7, CY_QUALNAME = 8 };

/* ---- names ---- */

/* Copy a C string of the process, at most size - 1 bytes; only printable ASCII of it. */
static void c_text(struct py_walk *w, uint64_t addr, char *out, size_t size)
{
	size_t n = object_first_read(addr, 1, size - 1), i;

	memset(out, 0, size);
	if (!addr || py_peek(w, addr, out, n)) {
		out[0] = '\0';
		return;
	}
	if (n < size - 1 && !memchr(out, 0, n) && py_peek(w, addr + n, out + n, size - 1 - n))
		memset(out + n, 0, size - n);
	for (i = 0; out[i]; i++)
		if (out[i] < ' ' || out[i] > '~')
			out[i] = '?';
}

static void str_text(struct py_walk *w, uint64_t str, char *out, size_t size)
{
	uint32_t len;
	char *s;

	out[0] = '\0';
	if (!str || !w->reads_left)
		return;
	w->reads_left--;
	if (code_read_string(w->used ? &w->used->mem : w->mem, w->o, str, &s, &len))
		return;
	utf8_copy(out, size, s, len);
	free(s);
}

/* ---- types ---- */

static enum py_callable_kind kind_named(const char *name)
{
	static const struct {
		const char *type;
		enum py_callable_kind kind;
	} kinds[] = {
		{ "function", PY_CALL_FUNCTION },
		{ "method", PY_CALL_METHOD },
		{ "builtin_function_or_method", PY_CALL_BUILTIN },
		{ "builtin_method", PY_CALL_BUILTIN },
		{ "functools.partial", PY_CALL_PARTIAL },
		/* Cython 3 has its version before the name: "_cython_3_0_11.cython_...". */
		{ "cython_function_or_method", PY_CALL_CYTHON },
	};
	const char *last = strrchr(name, '.');
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(name, kinds[i].type) ||
		    (kinds[i].kind == PY_CALL_CYTHON && last && !strcmp(last + 1, kinds[i].type)))
			return kinds[i].kind;
	return PY_CALL_OTHER;
}

static void type_name(struct py_walk *w, uint64_t type, char name[PY_CALLABLE_NAME_BYTES])
{
	uint64_t at;

	name[0] = '\0';
	if (!py_peek(w, type + w->head + TYPE_NAME, &at, sizeof(at)))
		c_text(w, at, name, PY_CALLABLE_NAME_BYTES);
}

/* An object's type, and the words after its head, as far as they are known to be mapped. */
struct object_words {
	uint64_t addr, type, words[OBJECT_WORDS];
	uint32_t cnt;
};

static int read_object(struct py_walk *w, uint64_t obj, struct object_words *o)
{
	uint64_t all[1 + OBJECT_WORDS];
	size_t n = object_first_read(obj + w->head - 8, 3 * sizeof(all[0]), sizeof(all));
	int err = obj ? py_peek(w, obj + w->head - 8, all, n) : -ENOENT;

	if (err)
		return err;
	py_use(w, obj + w->head - 8, all, sizeof(all[0]));
	o->addr = obj;
	o->type = all[0];
	o->cnt = (uint32_t)(n / sizeof(all[0])) - 1;
	memcpy(o->words, all + 1, o->cnt * sizeof(all[0]));
	return 0;
}

/* Read its words again if not all of these are there. */
static int need_words(struct py_walk *w, struct object_words *o, uint32_t cnt)
{
	int err = o->cnt >= cnt ? 0 :
		  py_peek(w, o->addr + w->head, o->words, cnt * sizeof(o->words[0]));

	if (!err && o->cnt < cnt)
		o->cnt = cnt;
	return err;
}

/* One of the words that were read. */
static uint64_t word_of(struct py_walk *w, const struct object_words *o, uint32_t i)
{
	py_use(w, o->addr + w->head + 8ull * i, &o->words[i], sizeof(o->words[i]));
	return o->words[i];
}

/* The kind of an object of this type; of OTHER also its name. */
static enum py_callable_kind kind_of(struct py_walk *w, struct py_callable_types *types,
				     uint64_t type, char name[PY_CALLABLE_NAME_BYTES])
{
	enum py_callable_kind kind;
	uint32_t i;

	for (i = 0; i < PY_CALLABLE_TYPES; i++)
		if (types->type[i].addr == type && type)
			return types->type[i].kind;
	type_name(w, type, name);
	kind = kind_named(name);
	if (kind == PY_CALL_OTHER)
		return kind;
	name[0] = '\0';
	i = types->next++ % PY_CALLABLE_TYPES;
	types->type[i].addr = type;
	types->type[i].kind = kind;
	return kind;
}

/* ---- each kind ---- */

static int read_function(struct py_walk *w, struct object_words *o, struct py_callable *out)
{
	const struct function_words *at = function_words(w->o->minor);
	int err = need_words(w, o, at->cnt);

	if (err)
		return err;
	out->code = word_of(w, o, at->code);
	out->closure = word_of(w, o, at->closure);
	str_text(w, word_of(w, o, at->qualname), out->name, sizeof(out->name));
	return 0;
}

/* m_ml, whose first word is its name, and m_self */
static int read_builtin(struct py_walk *w, struct object_words *o, struct py_callable *out)
{
	uint64_t name;

	out->self = word_of(w, o, 1);
	if (!py_peek(w, word_of(w, o, 0), &name, sizeof(name)))
		c_text(w, name, out->name, sizeof(out->name));
	return 0;
}

/*
 * Which word is the qualified name. Before it is the name, which is NULL until it is asked for, and
 * before that the dict, or NULL; behind it the text that documents the function, or NULL.
 */
static uint32_t cython_qualname(struct py_walk *w, const uint64_t *words)
{
	if (w->o->minor < 9 || (words[CY_SHORT_NAME] &&
				!py_expect(w, words[CY_SHORT_NAME], PY_IS_STR)))
		return CY_SHORT_QUALNAME;
	return words[CY_QUALNAME] && !py_expect(w, words[CY_QUALNAME], PY_IS_STR) ?
	       CY_QUALNAME : CY_SHORT_QUALNAME;
}

static int read_cython(struct py_walk *w, struct object_words *o, struct py_callable *out)
{
	int err = need_words(w, o, CY_WORDS);

	if (err)
		return err;
	py_use(w, o->addr + w->head, o->words, CY_WORDS * sizeof(o->words[0]));
	str_text(w, o->words[cython_qualname(w, o->words)], out->name, sizeof(out->name));
	return 0;
}

/* Of every kind but METHOD and PARTIAL. */
static int read_simple(struct py_walk *w, struct object_words *o, struct py_callable *out)
{
	switch (out->kind) {
	case PY_CALL_FUNCTION:
		return read_function(w, o, out);
	case PY_CALL_BUILTIN:
		return read_builtin(w, o, out);
	case PY_CALL_CYTHON:
		return read_cython(w, o, out);
	default:
		return 0;
	}
}

/* The name of the function inside of methods and partials; "": there are too many. */
static int read_inner(struct py_walk *w, struct py_callable_types *types, uint64_t obj,
		      struct py_callable *out)
{
	struct py_callable inner;
	struct object_words o;
	int nested, err;

	for (nested = 0; nested < NESTED_MAX; nested++) {
		inner = (struct py_callable){ 0 };
		err = read_object(w, obj, &o);
		if (err)
			return err;
		inner.kind = kind_of(w, types, o.type, inner.name);
		if (inner.kind == PY_CALL_METHOD || inner.kind == PY_CALL_PARTIAL) {
			obj = word_of(w, &o, 0);
			continue;
		}
		err = read_simple(w, &o, &inner);
		memcpy(out->name, inner.name, sizeof(out->name));
		return err;
	}
	return 0;
}

int py_callable_read(struct py_walk *w, struct py_callable_types *types, uint64_t obj,
		     struct py_callable *out)
{
	struct object_words o;
	int err;

	*out = (struct py_callable){ 0 };
	err = read_object(w, obj, &o);
	if (err)
		return err;
	out->kind = kind_of(w, types, o.type, out->name);
	if (out->kind != PY_CALL_METHOD && out->kind != PY_CALL_PARTIAL)
		return read_simple(w, &o, out);
	/* im_func, im_self; fn, args */
	*(out->kind == PY_CALL_METHOD ? &out->self : &out->args) = word_of(w, &o, 1);
	return read_inner(w, types, word_of(w, &o, 0), out);
}

/* ---- closures ---- */

/*
 * A tuple's items, at most max, which is at most PY_CELL_NAMES_MAX. *len: their number. Most are
 * short: the first read has all of them. -ENOENT: it is empty; -EBADMSG: it has more.
 */
static int tuple_read(struct py_walk *w, uint64_t tuple, uint64_t *items, uint32_t max,
		      uint64_t *len)
{
	uint64_t first[1 + FIRST_ITEMS], from = tuple + w->head;
	size_t n = object_first_read(from, sizeof(first[0]), sizeof(first));
	int err = py_peek(w, from, first, n);

	if (err)
		return err;
	py_use(w, from, first, sizeof(first[0]));
	*len = first[0];
	if (!*len || *len > max)
		return *len ? -EBADMSG : -ENOENT;
	if (py_tuple_items(w, tuple) != from + 8 || *len > n / sizeof(first[0]) - 1)
		return py_get(w, py_tuple_items(w, tuple), items, *len * sizeof(*items));
	py_use(w, from + 8, first + 1, *len * sizeof(*items));
	memcpy(items, first + 1, *len * sizeof(*items));
	return 0;
}

int py_tuple_item(struct py_walk *w, uint64_t tuple, uint32_t index, uint64_t *item)
{
	uint64_t len;
	int err = py_get(w, tuple + w->head, &len, sizeof(len));

	if (err || index >= len)
		return err ? err : -ENOENT;
	return py_pointer(w, py_tuple_items(w, tuple) + 8ull * index, item);
}

/* The names of a closure's variables: the last ones; up to 3.10 in a tuple of their own. */
static int names_of(struct py_walk *w, const struct py_callable *f, uint64_t *names, uint64_t *cnt)
{
	const struct py_code_layout *row = py_code_layout(w->o->minor);
	uint64_t tuple;
	int err;

	if (!row)
		return -EBADMSG;
	err = py_peek(w, f->code + w->head - PLAIN_HEAD +
		      (w->o->minor < 11 ? row->third : row->names), &tuple, sizeof(tuple));
	return err ? err : tuple_read(w, tuple, names, PY_CELL_NAMES_MAX, cnt);
}

int py_callable_cell(struct py_walk *w, const struct py_callable *f, const char *name,
		     uint64_t *value)
{
	uint64_t cells[PY_CELLS_MAX], names[PY_CELL_NAMES_MAX], cnt, named, i;
	int err;

	if (f->kind != PY_CALL_FUNCTION || !f->closure)
		return -ENOENT;
	err = tuple_read(w, f->closure, cells, PY_CELLS_MAX, &cnt);
	if (!err)
		err = names_of(w, f, names, &named);
	if (err || named < cnt)
		return err ? err : -EBADMSG;
	for (i = cnt; i--;)
		if (py_is_text(w, names[named - cnt + i], name))
			return py_get(w, cells[i] + w->head, value, sizeof(*value));
	return -ENOENT;
}
