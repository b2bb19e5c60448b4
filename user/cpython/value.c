// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * value.c - see value.h: types of objects, and containers.
 *
 * Sources, at v3.6.15 ... v3.15.0: Include/listobject.h and Include/cpython/listobject.h,
 * tupleobject.h (a hash before the items from 3.14 on), setobject.h.
 */
#include "cpython/value.h"

#include <string.h>

#include "base/util.h"
#include "cpython/object.h"
#include "cpython/value_parts.h"

/* Limit on slots of a set's table that are examined, including free ones. */
#define SET_SLOTS 256
#define NAME_BYTES 64

static void show_value(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out);

/* ---- containers ---- */

/* Show an array of pointers as items separated by commas; len may be more than are shown. */
static void show_items(struct py_walk *w, uint64_t items, uint64_t len, unsigned int depth,
		       struct py_value *out)
{
	uint64_t objs[VALUE_ITEMS];
	uint32_t cnt = len < VALUE_ITEMS ? (uint32_t)len : VALUE_ITEMS, i;

	if (cnt && py_get(w, items, objs, cnt * sizeof(*objs))) {
		value_put(out, "<unreadable>");
		return;
	}
	for (i = 0; i < cnt && !out->cut; i++) {
		value_put(out, i ? ", " : "");
		show_value(w, objs[i], depth + 1, out);
	}
	value_put(out, len > cnt ? ", ..." : "");
}

static void show_list(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out)
{
	uint64_t words[2];	/* ob_size, ob_item */

	value_put(out, "[");
	if (py_get(w, obj + w->head, words, sizeof(words)))
		value_put(out, "<unreadable>");
	else
		show_items(w, words[1], words[0], depth, out);
	value_put(out, "]");
}

static void show_tuple(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out)
{
	uint64_t len;

	value_put(out, "(");
	if (py_get(w, obj + w->head, &len, sizeof(len)))
		value_put(out, "<unreadable>");
	else
		show_items(w, py_tuple_items(w, obj), len, depth, out);
	value_put(out, len == 1 ? ",)" : ")");
}

static void show_entry(struct py_walk *w, const struct py_dict *d, const struct py_entry *e,
		       uint32_t index, unsigned int depth, struct py_value *out)
{
	uint64_t value = e->value;

	show_value(w, e->key, depth + 1, out);
	value_put(out, ": ");
	if (d->values && py_get(w, d->values + 8ull * index, &value, sizeof(value)))
		value = 0;
	show_value(w, value, depth + 1, out);
}

static void show_entries(struct py_walk *w, const struct py_dict *d, unsigned int depth,
			 struct py_value *out)
{
	struct py_entry entries[WALK_ENTRIES];
	uint32_t cnt = 0, i, shown = 0;

	if (d->cnt && py_read_entries(w, d, 0, entries, &cnt)) {
		value_put(out, "<unreadable>");
		return;
	}
	for (i = 0; i < cnt && shown < VALUE_ITEMS && !out->cut; i++) {
		if (!entries[i].key || (!d->values && !entries[i].value))
			continue;
		value_put(out, shown++ ? ", " : "");
		show_entry(w, d, &entries[i], i, depth, out);
	}
	if (d->used > shown)
		value_put(out, shown ? ", ..." : "...");
}

static void show_dict(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out)
{
	struct py_dict d;

	value_put(out, "{");
	if (py_open_dict(w, obj, &d))
		value_put(out, "<unreadable>");
	else
		show_entries(w, &d, depth, out);
	value_put(out, "}");
}

/* An entry of a set: a removed one has the hash -1, which no object has. */
struct set_entry {
	uint64_t key;
	int64_t hash;
};

/* Returns true if any is shown. */
static bool show_members(struct py_walk *w, const uint64_t words[4], unsigned int depth,
			 struct py_value *out)
{
	struct set_entry slots[SET_SLOTS];
	uint32_t cnt = words[2] < SET_SLOTS ? (uint32_t)words[2] + 1 : SET_SLOTS, i, shown = 0;

	if (py_get(w, words[3], slots, cnt * sizeof(*slots))) {
		value_put(out, "<unreadable>");
		return true;
	}
	for (i = 0; i < cnt && shown < VALUE_ITEMS && !out->cut; i++) {
		if (!slots[i].key || slots[i].hash == -1)
			continue;
		value_put(out, shown++ ? ", " : "{");
		show_value(w, slots[i].key, depth + 1, out);
	}
	if (words[1] > shown)
		value_put(out, shown ? ", ..." : "{...");
	value_put(out, shown || words[1] ? "}" : "");
	return shown || words[1];
}

static void show_set_of(struct py_walk *w, uint64_t obj, unsigned int depth, bool frozen,
			struct py_value *out)
{
	uint64_t words[4];	/* fill, used, mask, table */

	if (py_get(w, obj + w->head, words, sizeof(words))) {
		value_put(out, "<unreadable>");
		return;
	}
	value_put(out, frozen ? "frozenset(" : "");
	if (!show_members(w, words, depth, out))
		value_put(out, frozen ? "" : "set()");
	value_put(out, frozen ? ")" : "");
}

static void show_set(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out)
{
	show_set_of(w, obj, depth, false, out);
}

static void show_frozenset(struct py_walk *w, uint64_t obj, unsigned int depth,
			   struct py_value *out)
{
	show_set_of(w, obj, depth, true, out);
}

/* ---- types ---- */

/* too_deep: for containers, what is shown instead below the maximum depth. */
static const struct kind {
	const char *type, *too_deep;
	uint64_t flag;		/* required of the type; 0: none */
	value_fn show;
} kinds[] = {
	{ "NoneType", NULL, 0, value_none },
	{ "ellipsis", NULL, 0, value_ellipsis },
	{ "bool", NULL, PY_IS_LONG, value_bool },
	{ "int", NULL, PY_IS_LONG, value_int },
	{ "float", NULL, 0, value_float },
	{ "str", NULL, PY_IS_STR, value_str },
	{ "bytes", NULL, PY_IS_BYTES, value_bytes },
	{ "list", "[...]", PY_IS_LIST, show_list },
	{ "tuple", "(...)", PY_IS_TUPLE, show_tuple },
	{ "dict", "{...}", PY_IS_DICT, show_dict },
	{ "set", "{...}", 0, show_set },
	{ "frozenset", "frozenset({...})", 0, show_frozenset },
};

/* tp_name. Reads into the next page only if the name continues there. */
static int name_of(struct py_walk *w, uint64_t type, char name[NAME_BYTES])
{
	uint64_t addr;
	size_t n;
	int err = py_pointer(w, type + w->head + 8, &addr);

	if (err)
		return err;
	n = object_first_read(addr, 1, NAME_BYTES - 1);
	memset(name, 0, NAME_BYTES);
	err = py_get(w, addr, name, n);
	if (!err && strlen(name) == n && n < NAME_BYTES - 1)
		err = py_get(w, addr + n, name + n, NAME_BYTES - 1 - n);
	return err;
}

/* The kind of a type that is exactly one of the interpreter's own; NULL: it is another type. */
static const struct kind *kind_of(const char *name, uint64_t flags)
{
	size_t i;

	for (i = 0; !(flags & PY_HEAP_TYPE) && i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i].type, name) && (flags & kinds[i].flag) == kinds[i].flag)
			return &kinds[i];
	return NULL;
}

/* The bytes of a name, which are arbitrary. */
static void put_name(struct py_value *out, const char *name)
{
	for (; *name; name++)
		value_escaped(out, *name, 0);
}

static void show_other(struct py_walk *w, uint64_t obj, const char *name, uint64_t flags,
		       struct py_value *out)
{
	char own[NAME_BYTES];

	if (flags & PY_IS_TYPE && !name_of(w, obj, own)) {
		value_put(out, "<class '");
		put_name(out, own);
		value_put(out, "'>");
		return;
	}
	value_put(out, "<");
	put_name(out, name);
	value_hex(out, " at 0x", obj, 0);
	value_put(out, ">");
}

static void show_value(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out)
{
	uint64_t type, flags;
	char name[NAME_BYTES];
	const struct kind *k;

	if (!obj || py_type_of(w, obj, &type, &flags) || name_of(w, type, name)) {
		value_put(out, "<unreadable>");
		return;
	}
	k = kind_of(name, flags);
	if (!k)
		show_other(w, obj, name, flags, out);
	else if (k->too_deep && depth >= VALUE_DEPTH)
		value_put(out, k->too_deep);
	else
		k->show(w, obj, depth, out);
}

void py_value_read(struct py_walk *w, uint64_t obj, struct py_value *out)
{
	out->len = out->chars = 0;
	out->cut = false;
	show_value(w, obj, 0, out);
}

bool py_value_is(struct py_walk *w, uint64_t obj, const char *type_name)
{
	uint64_t type, flags;
	char name[NAME_BYTES];

	return !py_type_of(w, obj, &type, &flags) && !(flags & PY_HEAP_TYPE) &&
	       !name_of(w, type, name) && !strcmp(name, type_name);
}
