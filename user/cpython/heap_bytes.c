// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * heap_bytes.c - see heap_bytes.h.
 *
 * Sources, at v3.6.15 ... v3.15.0: Include/listobject.h, Include/cpython/dictobject.h,
 * Objects/dictobject.c (_PyDict_SizeOf()), Include/setobject.h, Objects/unicodeobject.c
 * (unicode_sizeof()), Include/bytearrayobject.h, Modules/arraymodule.c,
 * Modules/_collectionsmodule.c (dequeobject), Objects/odictobject.c, Include/internal/pycore_dict.h
 * (_PyInlineValuesSize()); and numpy/_core/include/numpy/ndarraytypes.h at v1.13.0 ... v2.3.0
 * (PyArrayObject_fields).
 */
#include "cpython/heap_bytes.h"

#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/util.h"

/* Offsets after sizeof(PyObject). Those of variable size begin with ob_size. */
enum { VAR_SIZE = 0, TP_FLAGS = 152,
       LIST_ITEMS = 8, LIST_ALLOCATED = 16,
       DICT_USED = 0, DICT_KEYS = 16, DICT_VALUES = 24,
       ODICT_FAST_SIZE = 56,
       SET_USED = 8, SET_MASK = 16, SET_TABLE = 24, SET_SMALL = 48,
       BYTEARRAY_ALLOC = 8, BYTEARRAY_BYTES = 16,
       ARRAY_ITEMS = 8, ARRAY_ALLOCATED = 16, ARRAY_DESCR = 24,
       DEQUE_LEFT = 8, DEQUE_LEFT_INDEX = 24,
       ND_DATA = 0, ND_CNT = 8, ND_DIMS = 16, ND_STRIDES = 24, ND_BASE = 32, ND_DESCR = 40,
       ND_FLAGS = 48 };

#define SET_ENTRY_BYTES 16
#define DEQUE_BLOCK_ITEMS 64
#define DEQUE_BLOCK_BYTES (8 * (DEQUE_BLOCK_ITEMS + 2))
#define ODICT_NODE_BYTES 32
#define KEYS_WORDS 5
#define ND_OWNS_DATA 4
#define ND_ALL_DIMS_MAX 64

/* What heap_size_more() gets next. */
enum step { STEP_DONE, STEP_KEYS, STEP_VALUES, STEP_CACHED_KEYS, STEP_SHARED_KEYS, STEP_DESCR,
	    STEP_DIMS, STEP_STRIDES, STEP_DTYPE };

/* A copy of the beginning of an object. */
struct look {
	const struct heap_build *b;
	const uint8_t *bytes;
	uint32_t len, head;
};

/* A word after the object's head; 0 if it is not in the copy. */
static uint64_t field(const struct look *l, uint32_t off)
{
	uint64_t word = 0;

	if (l->head + off + sizeof(word) <= l->len)
		memcpy(&word, l->bytes + l->head + off, sizeof(word));
	return word;
}

static uint32_t half(const struct look *l, uint32_t off)
{
	return (uint32_t)field(l, off);
}

static void want(struct heap_size *out, enum step step, uint64_t addr, uint32_t bytes)
{
	out->step = step;
	out->more = addr;
	out->more_bytes = addr ? bytes : 0;
}

static uint64_t capped(uint64_t bytes)
{
	return bytes < HEAP_BYTES_MAX ? bytes : HEAP_BYTES_MAX;
}

static uint64_t times(uint64_t n, uint64_t bytes)
{
	return capped(mul_capped(n, bytes));
}

static uint64_t absolute(uint64_t n)
{
	return n >> 63 ? -n : n;
}

/* Memory with references that only the object owns. */
static void own(struct heap_size *out, uint64_t addr, uint64_t bytes)
{
	out->owned = capped(out->owned + (addr ? bytes : 0));
	out->at = addr;
	out->at_bytes = addr ? capped(bytes) : 0;
}

/* ---- one function for each kind; out->bytes is tp_basicsize so far ---- */

static void size_plain(const struct look *l, const struct heap_type *type, struct heap_size *out)
{
	/* Some types mark something with the sign. */
	out->items = type->item ? absolute(field(l, VAR_SIZE)) : 0;
	out->bytes = capped(out->bytes + times(out->items, type->item));
}

static void size_int(const struct look *l, const struct heap_type *type, struct heap_size *out)
{
	uint64_t n = field(l, VAR_SIZE);

	/* Since 3.12 the sign is in the lowest bits, and 0 has a digit, too. */
	n = l->b->objects.minor < 12 ? absolute(n) : n >> 3 ? n >> 3 : 1;
	out->bytes = capped(out->bytes + times(n, type->item));
}

static void size_list(const struct look *l, const struct heap_type *type, struct heap_size *out)
{
	out->items = field(l, VAR_SIZE);
	own(out, field(l, LIST_ITEMS), times(field(l, LIST_ALLOCATED), 8));
}

static void size_dict(const struct look *l, const struct heap_type *type, struct heap_size *out)
{
	out->items = field(l, DICT_USED);
	out->values = field(l, DICT_VALUES);
	want(out, STEP_KEYS, field(l, DICT_KEYS), 8 * KEYS_WORDS);
	if (type->kind == HEAP_ODICT) {
		out->node_cnt = out->items < UINT32_MAX ? out->items : 0;
		out->node_bytes = ODICT_NODE_BYTES;
		out->owned = capped(times(field(l, ODICT_FAST_SIZE), 8) +
				    out->node_cnt * ODICT_NODE_BYTES);
	}
}

static void size_set(const struct look *l, const struct heap_type *type, struct heap_size *out)
{
	uint64_t table = field(l, SET_TABLE);

	out->items = field(l, SET_USED);
	if (table != out->addr + l->head + SET_SMALL)
		own(out, table, times(capped(field(l, SET_MASK)) + 1, SET_ENTRY_BYTES));
}

static void size_bytearray(const struct look *l, const struct heap_type *type,
			   struct heap_size *out)
{
	out->items = field(l, VAR_SIZE);
	if (field(l, BYTEARRAY_BYTES))
		out->owned = capped(field(l, BYTEARRAY_ALLOC));
	/* Its memory is a bytes object, which nobody else refers to. */
	if (l->b->objects.minor >= 15 && out->owned)
		out->owned = capped(out->owned + l->b->objects.bytes_data + 1);
}

static void size_array(const struct look *l, const struct heap_type *type, struct heap_size *out)
{
	out->items = field(l, VAR_SIZE);
	out->cnt = capped(field(l, ARRAY_ALLOCATED));
	if (field(l, ARRAY_ITEMS))
		want(out, STEP_DESCR, field(l, ARRAY_DESCR), 8);
}

static void size_deque(const struct look *l, const struct heap_type *type, struct heap_size *out)
{
	uint64_t n = capped(field(l, VAR_SIZE)), left = field(l, DEQUE_LEFT_INDEX);
	uint64_t blocks = left < DEQUE_BLOCK_ITEMS ?
		(left + n + DEQUE_BLOCK_ITEMS - 1) / DEQUE_BLOCK_ITEMS : 0;

	out->items = n;
	own(out, field(l, DEQUE_LEFT), times(blocks ? blocks : 1, DEQUE_BLOCK_BYTES));
	out->at_bytes = out->at ? DEQUE_BLOCK_BYTES : 0;	/* the others are elsewhere */
}

static uint32_t shown_dims(const struct heap_size *s)
{
	return s->dim_cnt < HEAP_DIMS_MAX ? s->dim_cnt : HEAP_DIMS_MAX;
}

static void size_ndarray(const struct look *l, const struct heap_type *type,
			 struct heap_size *out)
{
	uint32_t n = half(l, ND_CNT), flags = half(l, ND_FLAGS);

	out->dim_cnt = n <= ND_ALL_DIMS_MAX ? (uint8_t)n : 0;
	out->descr = field(l, ND_DESCR);
	out->strides = field(l, ND_STRIDES);
	if (!field(l, ND_BASE) && flags & ND_OWNS_DATA)
		out->values = field(l, ND_DATA);
	if (out->dim_cnt)
		want(out, STEP_DIMS, field(l, ND_DIMS), 8 * shown_dims(out));
}

/*
 * Data of a compact str follow it. Others, of subclasses and of C code's older functions, point to
 * it; further copies as UTF-8 (and wchar_t) are not counted.
 */
static void size_str(const struct look *l, const struct heap_type *type, struct heap_size *out)
{
	const struct py_object_layout *o = &l->b->objects;
	uint64_t length = field(l, VAR_SIZE), data = 0;
	uint32_t state = half(l, o->str_state - l->head), kind;

	kind = (state & o->str_kind_mask) >> o->str_kind_shift;
	if (kind > 4)
		kind = 0;
	out->items = length;
	data = times(capped(length) + 1, kind);
	if (state & o->str_compact_bit) {
		out->bytes = capped(data + (state & o->str_ascii_bit ? o->str_ascii_data :
					    o->str_compact_data));
		return;
	}
	own(out, field(l, o->str_compact_data - l->head), data);
}

/* A class owns the keys that its objects share. */
static void size_type(const struct look *l, const struct heap_type *type, struct heap_size *out)
{
	size_plain(l, type, out);
	if (field(l, TP_FLAGS) & PY_HEAP_TYPE)
		want(out, STEP_CACHED_KEYS, out->addr + heap_cached_keys_off(l->b), 8);
}

typedef void (*size_fn)(const struct look *l, const struct heap_type *type, struct heap_size *out);

static const size_fn sizes[HEAP_KIND_CNT] = {
	[HEAP_LIST] = size_list, [HEAP_DICT] = size_dict, [HEAP_ODICT] = size_dict,
	[HEAP_SET] = size_set, [HEAP_STR] = size_str, [HEAP_INT] = size_int,
	[HEAP_BYTEARRAY] = size_bytearray, [HEAP_ARRAY] = size_array, [HEAP_DEQUE] = size_deque,
	[HEAP_NDARRAY] = size_ndarray, [HEAP_TYPE] = size_type,
};

/* ---- attributes of instances ---- */

/* _PyInlineValuesSize() (3.13); new_values() before: a prefix for the order, then the values. */
static uint64_t values_bytes(const struct heap_build *b, uint32_t cnt)
{
	uint64_t prefix = b->objects.minor >= 13 ? (cnt + 7) / 8 * 8 + 8 : (cnt + 2 + 7) / 8 * 8;

	return prefix + 8ull * cnt;
}

/* Where 3.11 and 3.12 have the values of an object: in the words before it. 0: in its dict. */
static uint64_t values_before(const struct heap_build *b, const uint8_t *before)
{
	uint64_t words[2];

	memcpy(words, before, sizeof(words));
	if (b->objects.minor == 11)
		return words[1] ? 0 : words[0];
	return words[1] & 1 ? words[1] + 1 : 0;
}

static void add_attributes(const struct look *l, const struct heap_type *type, uint32_t before,
			   struct heap_size *out)
{
	uint64_t values;

	if (!type->value_cnt)
		return;
	if (l->b->objects.minor >= 13) {
		if (type->flags & PY_INLINE_VALUES)
			out->bytes += values_bytes(l->b, type->value_cnt);
		return;
	}
	if (before < type->before)
		return;
	/* The words are the first ones. */
	values = values_before(l->b, l->bytes - type->before);
	if (values) {
		out->owned += values_bytes(l->b, type->value_cnt);
		out->at = values;
		out->at_bytes = 8ull * type->value_cnt;
	}
}

void heap_size_begin(const struct heap_build *b, const struct heap_type *type, uint64_t addr,
		     const uint8_t *bytes, uint32_t before, uint32_t len, struct heap_size *out)
{
	const struct look l = { b, bytes, len, b->objects.str_length };

	*out = (struct heap_size){ .bytes = type->basic, .addr = addr };
	(sizes[type->kind] ? sizes[type->kind] : size_plain)(&l, type, out);
	if (type->kind == HEAP_STR && out->bytes < type->basic && type->flags & PY_HEAP_TYPE)
		out->bytes = type->basic;
	add_attributes(&l, type, before, out);
	out->bytes += type->before;
}

/* ---- what needs a second read ---- */

/* USABLE_FRACTION() of entries, after the indices. */
static uint64_t keys_bytes(const struct heap_build *b, const uint64_t words[KEYS_WORDS],
			   bool *split)
{
	uint8_t log2_size = words[1] & 0xff, index_bytes = words[1] >> 8 & 0xff;
	uint8_t kind = words[1] >> 16 & 0xff;
	uint64_t size = words[1], index;

	*split = false;
	if (b->objects.minor >= 11) {
		if (log2_size > 40 || index_bytes > 43)
			return 0;
		*split = kind == 2;
		return 32 + (1ull << index_bytes) +
		       times((2ull << log2_size) / 3, kind ? 16 : 24);
	}
	if (!size || size & (size - 1) || size > 1ull << 40)
		return 0;
	index = size <= 0xff ? 1 : size <= 0xffff ? 2 : size <= UINT32_MAX ? 4 : 8;
	return 40 + times(size, index) +
	       times((size << 1) / 3, 24);
}

static void own_values(const struct heap_build *b, struct heap_size *out)
{
	own(out, out->values, 8 * out->cnt);
	if (b->objects.minor >= 11)
		out->owned += values_bytes(b, (uint32_t)out->cnt) - 8 * out->cnt;
}

static void more_keys(const struct heap_build *b, const uint8_t *more, struct heap_size *out)
{
	uint64_t words[KEYS_WORDS], bytes, cnt, keys = out->more;
	bool split;

	memcpy(words, more, sizeof(words));
	bytes = keys_bytes(b, words, &split);
	want(out, STEP_DONE, 0, 0);
	if (!out->values) {
		if (words[0] == 1 && !split)	/* dk_refcnt */
			own(out, keys, bytes);
		return;
	}
	/* As many values as usable entries: dk_usable and dk_nentries; up to 3.10 by dk_size. */
	cnt = b->objects.minor >= 11 ? words[2] + words[3] : (words[1] << 1) / 3;
	out->cnt = cnt < 65536 ? cnt : 0;
	if (b->objects.minor >= 13)
		want(out, STEP_VALUES, out->values, 8);
	else
		own_values(b, out);
}

static void more_shared_keys(const struct heap_build *b, const uint8_t *more,
			     struct heap_size *out)
{
	uint64_t words[KEYS_WORDS], keys = out->more;
	bool split;

	memcpy(words, more, sizeof(words));
	want(out, STEP_DONE, 0, 0);
	own(out, keys, keys_bytes(b, words, &split));
}

/* struct _dictvalues: capacity, size, embedded: in the object whose dict it is. */
static void more_values(const struct heap_build *b, const uint8_t *more, struct heap_size *out)
{
	want(out, STEP_DONE, 0, 0);
	if (!more[2])
		own_values(b, out);
}

/* struct arraydescr: char typecode; int itemsize. */
static void more_descr(const uint8_t *more, struct heap_size *out)
{
	int32_t item;

	memcpy(&item, more + 4, sizeof(item));
	want(out, STEP_DONE, 0, 0);
	if (item <= 0 || item > 64)
		return;
	out->item_bytes = (uint32_t)item;
	out->dtype = (char)more[0];
	out->owned = times(out->cnt, out->item_bytes);
}

static void more_dims(const uint8_t *more, struct heap_size *out)
{
	memcpy(out->dims, more, 8 * shown_dims(out));
	want(out, STEP_STRIDES, out->strides, 8 * shown_dims(out));
}

/* The longest stride times its dimension is what contiguous data takes; the shortest is an item. */
static void more_strides(const struct heap_build *b, const uint8_t *more, struct heap_size *out)
{
	uint64_t strides[HEAP_DIMS_MAX], longest = 0, shortest = HEAP_BYTES_MAX;
	uint32_t i;

	memcpy(strides, more, 8 * shown_dims(out));
	for (i = 0; i < shown_dims(out); i++) {
		uint64_t stride = absolute(strides[i]);

		if (times(stride, out->dims[i]) > longest)
			longest = times(stride, out->dims[i]);
		if (stride < shortest)
			shortest = stride;
	}
	if (out->dim_cnt <= HEAP_DIMS_MAX)	/* else the last stride is unknown */
		out->item_bytes = shortest;
	if (out->values)
		out->owned = capped(longest + 16ull * out->dim_cnt);
	/* PyArray_Descr.kind is after the head and typeobj. */
	want(out, STEP_DTYPE, out->descr, b->objects.str_length + 16u);
}

void heap_size_more(const struct heap_build *b, const struct heap_type *type, const uint8_t *more,
		    struct heap_size *out)
{
	uint64_t keys;

	switch (out->step) {
	case STEP_KEYS:
		more_keys(b, more, out);
		break;
	case STEP_CACHED_KEYS:
		memcpy(&keys, more, sizeof(keys));
		want(out, STEP_SHARED_KEYS, keys, 8 * KEYS_WORDS);
		break;
	case STEP_SHARED_KEYS:
		more_shared_keys(b, more, out);
		break;
	case STEP_VALUES:
		more_values(b, more, out);
		break;
	case STEP_DESCR:
		more_descr(more, out);
		break;
	case STEP_DIMS:
		more_dims(more, out);
		break;
	case STEP_STRIDES:
		more_strides(b, more, out);
		break;
	case STEP_DTYPE:
		out->dtype = (char)more[b->objects.str_length + 8];
		want(out, STEP_DONE, 0, 0);
		break;
	default:
		want(out, STEP_DONE, 0, 0);
	}
}

bool heap_has_frame(const struct heap_build *b, const struct heap_type *type)
{
	return b->objects.minor >= 11 &&
	       (type->kind == HEAP_GENERATOR || type->kind == HEAP_FRAME);
}

bool heap_has_references(const struct heap_type *type)
{
	static const bool data[HEAP_KIND_CNT] = {
		[HEAP_STR] = true, [HEAP_BYTES] = true, [HEAP_INT] = true,
		[HEAP_BYTEARRAY] = true, [HEAP_ARRAY] = true,
	};

	return !data[type->kind] || type->flags & PY_HEAP_TYPE;
}

/* ---- text ---- */

/* With a comma after each thousand. */
static void say_number(uint64_t n, char *out, size_t size)
{
	char digits[24];
	size_t len, i, at = 0;

	len = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
	for (i = 0; i < len && at + 2 < size; i++) {
		if (i && !((len - i) % 3))
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = '\0';
}

static void say_dtype(const struct heap_size *s, char *out, size_t size)
{
	static const struct {
		char kind;
		const char *name;
		uint8_t bits;		/* that item_bytes is multiplied by; 0: not shown */
	} kinds[] = {
		{ 'f', "float", 8 }, { 'i', "int", 8 }, { 'u', "uint", 8 }, { 'c', "complex", 8 },
		{ 'b', "bool", 0 }, { 'O', "object", 0 }, { 'S', "bytes", 8 }, { 'U', "str", 8 },
		{ 'M', "datetime64", 0 }, { 'm', "timedelta64", 0 }, { 'V', "void", 8 },
	};
	size_t i;

	snprintf(out, size, "array");
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (kinds[i].kind != s->dtype)
			continue;
		if (kinds[i].bits && s->item_bytes && s->item_bytes < 65536)
			snprintf(out, size, "%s%u", kinds[i].name,
				 (unsigned int)s->item_bytes * kinds[i].bits);
		else
			snprintf(out, size, "%s", kinds[i].name);
	}
}

static void say_array(const struct heap_size *s, char *out, size_t size)
{
	char dtype[24];
	size_t at;
	uint32_t i;

	say_dtype(s, dtype, sizeof(dtype));
	at = (size_t)snprintf(out, size, "%s (", dtype);
	for (i = 0; i < shown_dims(s) && at < size; i++)
		at += (size_t)snprintf(out + at, size - at, "%s%llu", i ? ", " : "",
				       (unsigned long long)s->dims[i]);
	if (at < size)
		snprintf(out + at, size - at, "%s)", s->dim_cnt > HEAP_DIMS_MAX ? ", ..." : "");
}

void heap_size_text(const struct heap_type *type, const struct heap_size *s, char *out,
		    size_t size)
{
	static const char *const units[HEAP_KIND_CNT] = {
		[HEAP_LIST] = "item", [HEAP_TUPLE] = "item", [HEAP_DICT] = "item",
		[HEAP_ODICT] = "item", [HEAP_SET] = "item", [HEAP_DEQUE] = "item",
		[HEAP_ARRAY] = "item", [HEAP_STR] = "character", [HEAP_BYTES] = "byte",
		[HEAP_BYTEARRAY] = "byte",
	};
	char number[32];

	*out = '\0';
	if (type->kind == HEAP_NDARRAY) {
		say_array(s, out, size);
	} else if (units[type->kind]) {
		say_number(s->items, number, sizeof(number));
		snprintf(out, size, "%s %s%s", number, units[type->kind], s->items == 1 ? "" : "s");
	}
}
