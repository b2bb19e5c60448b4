// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * value.c - see value.h: numbers, text, bytes; containers; types of objects.
 *
 * Sources, at v3.6.15 ... v3.15.0: Include/longintrepr.h and Include/cpython/longintrepr.h,
 * Include/floatobject.h and Include/cpython/floatobject.h, bytesobject.h; Include/listobject.h and
 * Include/cpython/listobject.h, tupleobject.h (a hash before the items from 3.14 on), setobject.h.
 */
#include "cpython/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cpython/code.h"

/* Append the text of an object of this type. depth: the number of containers around it. */
typedef void (*value_fn)(struct py_walk *w, uint64_t obj, unsigned int depth,
			 struct py_value *out);

/* An int with more digits, of 30 bits each, has no text that fits. */
#define INT_DIGITS 22
#define DIGIT_BITS 30

/* ---- text ---- */

/* Append one character of len bytes. */
static void value_char(struct py_value *out, const char *c, uint32_t len)
{
	if (out->cut)
		return;
	if (out->chars == VALUE_CHARS) {
		memcpy(out->text + out->len, "...", 3);
		out->len += 3;
		out->cut = true;
		return;
	}
	memcpy(out->text + out->len, c, len);
	out->len += len;
	out->chars++;
}

/* Append ASCII text. */
static void value_put(struct py_value *out, const char *s)
{
	for (; *s; s++)
		value_char(out, s, 1);
}

/* Append a number with a prefix and a minimum of digits. */
static void value_hex(struct py_value *out, const char *prefix, uint64_t v, int digits)
{
	char text[32];

	snprintf(text, sizeof(text), "%s%0*" PRIx64, prefix, digits, v);
	value_put(out, text);
}

/*
 * Append one byte of a bytes object, or one ASCII character of a str, escaped unless it is
 * printable ASCII other than the quote.
 */
static void value_escaped(struct py_value *out, char c, char quote)
{
	static const char from[] = "\t\n\r\\", to[] = "tnr\\";
	const char *at = c ? strchr(from, c) : NULL;
	char pair[3] = { '\\', c };

	if (at)
		pair[1] = to[at - from];
	if (at || c == quote)
		value_put(out, pair);
	else if (c < ' ' || c >= 0x7f)
		value_hex(out, "\\x", (uint8_t)c, 2);
	else
		value_char(out, &c, 1);
}

/* As in Python: double quotes only around text that has single but no double ones. */
static char quote_for(const char *s, size_t len)
{
	return memchr(s, '\'', len) && !memchr(s, '"', len) ? '"' : '\'';
}

/* ---- numbers ---- */

static void value_none(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out)
{
	value_put(out, "None");
}

static void value_ellipsis(struct py_walk *w, uint64_t obj, unsigned int depth,
			   struct py_value *out)
{
	value_put(out, "Ellipsis");
}

/* Divide a number of cnt digits by 10^9; returns the remainder. */
static uint32_t divide_digits(uint32_t *digits, uint32_t cnt)
{
	uint64_t rest = 0;

	while (cnt--) {
		rest = rest << DIGIT_BITS | digits[cnt];
		digits[cnt] = (uint32_t)(rest / 1000000000);
		rest %= 1000000000;
	}
	return (uint32_t)rest;
}

static void put_decimal(struct py_value *out, uint32_t *digits, uint32_t cnt, bool negative)
{
	char text[INT_DIGITS * 10 + 16], *at = text + sizeof(text) - 1, chunk[16];

	*at = '\0';
	do {
		snprintf(chunk, sizeof(chunk), "%09" PRIu32, divide_digits(digits, cnt));
		at -= 9;
		memcpy(at, chunk, 9);
		while (cnt && !digits[cnt - 1])
			cnt--;
	} while (cnt);
	at += strspn(at, "0");
	if (!*at)
		at--;
	if (negative)
		*--at = '-';
	value_put(out, at);
}

/* The number of digits, and the sign: up to 3.11 that of ob_size, from 3.12 on the low bits. */
static int read_digits(struct py_walk *w, uint64_t obj, uint32_t digits[INT_DIGITS], uint64_t *cnt,
		       bool *negative)
{
	int64_t size;
	int err = py_get(w, obj + w->head, &size, sizeof(size));

	if (err)
		return err;
	*negative = w->o->minor >= 12 ? (size & 3) == 2 : size < 0;
	*cnt = w->o->minor >= 12 ? (uint64_t)size >> 3 :
	       size < 0 ? -(uint64_t)size : (uint64_t)size;
	if (w->o->minor >= 12 && (size & 3) == 1)
		*cnt = 0;
	if (!*cnt || *cnt > INT_DIGITS)
		return 0;
	return py_get(w, obj + w->head + 8, digits, *cnt * sizeof(*digits));
}

static void value_int(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out)
{
	uint32_t digits[INT_DIGITS] = { 0 }, i;
	uint64_t cnt;
	bool negative;

	if (read_digits(w, obj, digits, &cnt, &negative)) {
		value_put(out, "<unreadable>");
		return;
	}
	for (i = 0; i < INT_DIGITS; i++)
		digits[i] &= (1u << DIGIT_BITS) - 1;
	if (cnt <= INT_DIGITS)
		put_decimal(out, digits, (uint32_t)cnt, negative);
	else
		value_hex(out, "<int at 0x", obj, 0), value_put(out, ">");
}

static void value_bool(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out)
{
	uint32_t digits[INT_DIGITS];
	uint64_t cnt;
	bool negative;

	value_put(out, read_digits(w, obj, digits, &cnt, &negative) ? "<unreadable>" :
		 cnt ? "True" : "False");
}

/* The shortest text that has this value. */
static void value_float(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out)
{
	char text[40];
	double v;
	int digits;

	if (py_get(w, obj + w->head, &v, sizeof(v))) {
		value_put(out, "<unreadable>");
		return;
	}
	for (digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	if (v != v)
		snprintf(text, sizeof(text), "nan");
	else if (v > -1e16 && v < 1e16 && strstr(text, "e+"))
		snprintf(text, sizeof(text), "%.1f", v);
	value_put(out, text);
	if (!text[strspn(text, "-0123456789")])
		value_put(out, ".0");
}

/* ---- text and bytes ---- */

static uint32_t utf8_len(char c)
{
	return (uint8_t)c < 0x80 ? 1 : (uint8_t)c < 0xe0 ? 2 : (uint8_t)c < 0xf0 ? 3 : 4;
}

static void value_str(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out)
{
	char *s, quote, q[2] = "";
	uint32_t len, i, n;

	if (!w->reads_left || code_read_string(w->mem, w->o, obj, &s, &len)) {
		value_put(out, "<unreadable>");
		return;
	}
	w->reads_left--;
	q[0] = quote = quote_for(s, len);
	value_put(out, q);
	for (i = 0; i < len && !out->cut; i += n) {
		n = utf8_len(s[i]);
		if (n == 1)
			value_escaped(out, s[i], quote);
		else
			value_char(out, s + i, n);
	}
	value_put(out, q);
	free(s);
}

static void value_bytes(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out)
{
	char bytes[VALUE_CHARS + 1], quote, q[2] = "";
	uint64_t len;
	uint32_t n, i;

	if (py_get(w, obj + w->o->bytes_size, &len, sizeof(len))) {
		value_put(out, "<unreadable>");
		return;
	}
	n = len < sizeof(bytes) ? (uint32_t)len : sizeof(bytes);
	if (py_get(w, obj + w->o->bytes_data, bytes, n)) {
		value_put(out, "<unreadable>");
		return;
	}
	q[0] = quote = quote_for(bytes, n);
	value_put(out, "b");
	value_put(out, q);
	for (i = 0; i < n; i++)
		value_escaped(out, bytes[i], quote);
	value_put(out, q);
}

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
