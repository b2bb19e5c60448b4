// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * heap_types.c - see heap_types.h.
 *
 * Sources, at v3.6.15 ... v3.15.0: Include/object.h, Include/cpython/object.h (PyTypeObject,
 * PyHeapTypeObject), Include/internal/pycore_object.h (_PyType_PreHeaderSize()),
 * Include/refcount.h (immortal objects).
 */
#include "cpython/heap_types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_secret.h"
#include "base/util.h"
#include "cpython/attributes.h"

/* tp_flags, see walk.h */
#define MANAGED_WEAKREF (1ull << 3)	/* 3.12 */

/* Offsets in PyTypeObject after sizeof(PyObject), up to the end of what is read. */
enum { TP_NAME = 8, TP_BASICSIZE = 16, TP_ITEMSIZE = 24, TP_FLAGS = 152, TP_WEAKLISTOFFSET = 192,
       TP_BASE = 240, TP_DICT = 248, TP_DICTOFFSET = 272, TP_END = 280 };
#define HEAD_MAX 32

/* Addresses of user space, unless they are limited further. */
#define LOW 4096ull
#define HIGH (1ull << 56)

#define BASIC_MAX (1u << 20)
#define DEPTH_MAX 40		/* of bases and types of types */
#define VERIFY_READS 400	/* for one address, with all that it leads to */
#define MODULE_KEYS 64		/* of a class' dict, among which __module__ is */
#define CHUNK 256u
#define SLOTS (HEAP_TYPE_CNT_MAX * 2)
#define NO_TYPES 32768u		/* addresses that are remembered as no types */

struct heap_types {
	struct heap_build build;
	struct py_walk walk;
	uint64_t seed;
	uint64_t root;			/* `type`; 0: not found yet */
	uint32_t cnt, depth;
	struct heap_type *chunks[HEAP_TYPE_CNT_MAX / CHUNK];
	uint32_t slots[SLOTS];		/* number + 1; 0: free */
	uint64_t none[NO_TYPES];
};

bool heap_may_be_address(uint64_t addr)
{
	return addr >= LOW && addr < HIGH && !(addr & 7);
}

struct heap_types *heap_types_new(const struct target_mem *mem, const struct heap_build *build)
{
	struct heap_types *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->build = *build;
	t->seed = hash_secret_seed();
	py_walk_init(&t->walk, mem, &t->build.objects, 0);
	if (t->walk.head < 16 || t->walk.head > HEAD_MAX) {
		free(t);
		errno = EINVAL;
		return NULL;
	}
	return t;
}

void heap_types_free(struct heap_types *t)
{
	size_t i;

	for (i = 0; t && i < ARRAY_SIZE(t->chunks); i++)
		free(t->chunks[i]);
	free(t);
}

struct py_walk *heap_types_walk(struct heap_types *t)
{
	return &t->walk;
}

static struct heap_type *type_number(const struct heap_types *t, uint32_t i)
{
	return &t->chunks[i / CHUNK][i % CHUNK];
}

static uint64_t hash_of(const struct heap_types *t, uint64_t addr)
{
	return hash_secret_mix(addr ^ t->seed, HASH_SECRET_A);
}

/* The slot of this type, or the free one where it belongs: half of them are always free. */
static uint32_t *slot_of(struct heap_types *t, uint64_t addr, uint64_t hash)
{
	uint32_t i = hash & (SLOTS - 1);

	while (t->slots[i] && type_number(t, t->slots[i] - 1)->addr != addr)
		i = (i + 1) & (SLOTS - 1);
	return &t->slots[i];
}

static struct heap_type *add_type(struct heap_types *t, const struct heap_type *type)
{
	struct heap_type **chunk = &t->chunks[t->cnt / CHUNK % ARRAY_SIZE(t->chunks)];
	struct heap_type *added;

	if (t->cnt >= HEAP_TYPE_CNT_MAX)
		return NULL;
	if (!*chunk)
		*chunk = calloc(CHUNK, sizeof(**chunk));
	if (!*chunk)
		return NULL;
	added = &(*chunk)[t->cnt % CHUNK];
	*added = *type;
	added->number = t->cnt;
	*slot_of(t, type->addr, hash_of(t, type->addr)) = ++t->cnt;
	return added;
}

/* ---- one type ---- */

struct raw_type {
	uint64_t type, name, base, dict;
	int64_t basic, item, dict_off, weaklist_off;
	uint64_t flags;
};

static uint64_t word_at(const uint8_t *bytes, size_t off)
{
	uint64_t word;

	memcpy(&word, bytes + off, sizeof(word));
	return word;
}

static int read_type(struct heap_types *t, uint64_t addr, struct raw_type *r)
{
	uint8_t bytes[HEAD_MAX + TP_END];
	const uint8_t *b = bytes + t->walk.head;
	int err = py_get(&t->walk, addr, bytes, t->walk.head + TP_END);

	if (err)
		return err;
	*r = (struct raw_type){
		.type = word_at(b - 8, 0), .name = word_at(b, TP_NAME),
		.basic = (int64_t)word_at(b, TP_BASICSIZE),
		.item = (int64_t)word_at(b, TP_ITEMSIZE), .flags = word_at(b, TP_FLAGS),
		.weaklist_off = (int64_t)word_at(b, TP_WEAKLISTOFFSET),
		.base = word_at(b, TP_BASE), .dict = word_at(b, TP_DICT),
		.dict_off = (int64_t)word_at(b, TP_DICTOFFSET),
	};
	return 0;
}

static bool sane(const struct heap_types *t, const struct raw_type *r)
{
	return heap_may_be_address(r->type) && r->name && r->basic >= t->walk.head &&
	       r->basic < BASIC_MAX && r->item >= 0 && r->item < BASIC_MAX &&
	       r->dict_off > -65536 && r->dict_off < 65536 &&
	       r->weaklist_off > -65536 && r->weaklist_off < 65536;
}

/* A C string; it may end right before unmapped memory. */
static bool read_name(struct heap_types *t, uint64_t addr, char *out, size_t size)
{
	size_t n = OBJECT_PAGE - addr % OBJECT_PAGE;

	if (n > size - 1)
		n = size - 1;
	if (py_get(&t->walk, addr, out, n))
		return false;
	out[n] = '\0';
	if (strlen(out) == n && n < size - 1 &&
	    py_get(&t->walk, addr + n, out + n, size - 1 - n))
		return false;
	out[size - 1] = '\0';
	return *out;
}

/* A str of the process, printable, after what is in out already. */
static bool append_str(struct heap_types *t, uint64_t addr, char *out, size_t size)
{
	size_t at = strlen(out);
	uint32_t len;
	char *s;

	if (!t->walk.reads_left)
		return false;
	t->walk.reads_left--;
	if (py_expect(&t->walk, addr, PY_IS_STR) ||
	    code_read_string(t->walk.mem, &t->build.objects, addr, &s, &len))
		return false;
	escape_text(s, len, out + at, size - at);
	free(s);
	return out[at];
}

/* Up to 3.10 it is not in struct py_object_layout. (In 3.8 a type has one more field, tp_print.) */
uint32_t heap_cached_keys_off(const struct heap_build *build)
{
	const struct py_object_layout *o = &build->objects;
	uint32_t off = o->type_cached_keys ? o->type_cached_keys :
		o->minor >= 10 ? 872 : o->minor >= 9 ? 864 : o->minor >= 8 ? 872 : 856;

	return off + o->str_length - 16;
}

/* "app.Session": the name of a class that is not in builtins, with its module. */
static void name_class(struct heap_types *t, uint64_t addr, const struct raw_type *r,
		       struct heap_type *type)
{
	char name[HEAP_TYPE_NAME_BYTES] = "";
	uint64_t module, qualname;

	if (py_dict_value(&t->walk, r->dict, "__module__", MODULE_KEYS, &module) ||
	    !append_str(t, module, name, sizeof(name)))
		return;
	if (!strcmp(name, "builtins"))
		*name = '\0';
	else
		strncat(name, ".", sizeof(name) - strlen(name) - 1);
	if (py_pointer(&t->walk, addr + heap_cached_keys_off(&t->build) - 8, &qualname) ||
	    !append_str(t, qualname, name, sizeof(name)))
		strncat(name, type->name, sizeof(name) - strlen(name) - 1);
	memcpy(type->name, name, sizeof(name));
}

static bool read_names(struct heap_types *t, uint64_t addr, const struct raw_type *r,
		       struct heap_type *type)
{
	char name[HEAP_TYPE_NAME_BYTES];
	size_t len;

	if (!read_name(t, r->name, name, sizeof(name)))
		return false;
	len = strlen(name);
	while (len == sizeof(name) - 1 && name[len - 1] & 0x80)
		name[--len] = '\0';	/* it may be cut within a character */
	escape_text(name, len, type->name, sizeof(type->name));
	if (strstr(type->name, "\\x"))
		return false;
	if (r->flags & PY_HEAP_TYPE && !strchr(type->name, '.'))
		name_class(t, addr, r, type);
	return true;
}

static const struct {
	const char *name;
	uint8_t kind;
} named_kinds[] = {
	{ "set", HEAP_SET }, { "frozenset", HEAP_SET }, { "bytearray", HEAP_BYTEARRAY },
	{ "array.array", HEAP_ARRAY }, { "collections.deque", HEAP_DEQUE },
	{ "collections.OrderedDict", HEAP_ODICT }, { "numpy.ndarray", HEAP_NDARRAY },
	{ "module", HEAP_MODULE }, { "function", HEAP_FUNCTION }, { "code", HEAP_CODE },
	{ "frame", HEAP_FRAME }, { "generator", HEAP_GENERATOR }, { "coroutine", HEAP_GENERATOR },
	{ "async_generator", HEAP_GENERATOR }, { "cell", HEAP_CELL },
};

static const struct {
	uint64_t flag;
	uint8_t kind;
} flagged_kinds[] = {
	{ PY_IS_LONG, HEAP_INT }, { PY_IS_LIST, HEAP_LIST }, { PY_IS_TUPLE, HEAP_TUPLE },
	{ PY_IS_BYTES, HEAP_BYTES }, { PY_IS_STR, HEAP_STR }, { PY_IS_DICT, HEAP_DICT },
	{ PY_IS_TYPE, HEAP_TYPE },
};

/* A class of Python code may be called "set", but has a base that tells its kind. */
static enum heap_kind kind_of(const struct heap_type *type, const struct heap_type *base)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(named_kinds); i++)
		if (!strcmp(type->name, named_kinds[i].name) &&
		    (!(type->flags & PY_HEAP_TYPE) || strchr(type->name, '.')))
			return named_kinds[i].kind;
	if (base && base->kind != HEAP_PLAIN)
		return base->kind;
	for (i = 0; i < ARRAY_SIZE(flagged_kinds); i++)
		if (type->flags & flagged_kinds[i].flag)
			return flagged_kinds[i].kind;
	return HEAP_PLAIN;
}

static uint8_t bytes_before(const struct heap_types *t, uint64_t flags)
{
	uint64_t words = t->build.objects.minor < 11 ? 0 :
		t->build.objects.minor < 12 ? PY_MANAGED_DICT : PY_MANAGED_DICT | MANAGED_WEAKREF;

	return (flags & HEAP_HAVE_GC ? t->build.gc_head : 0) + (flags & words ? 16 : 0);
}

/* How many attributes an object of this type has room for, apart from a dict. */
static uint16_t count_values(struct heap_types *t, uint64_t addr, uint64_t flags)
{
	uint64_t keys, words[5], cnt;

	if (t->build.objects.minor < 11 || !(flags & PY_HEAP_TYPE) || !(flags & PY_MANAGED_DICT))
		return 0;
	if (py_pointer(&t->walk, addr + heap_cached_keys_off(&t->build), &keys) ||
	    py_get(&t->walk, keys, words, sizeof(words)))
		return 0;
	cnt = words[2] + words[3];	/* dk_usable, dk_nentries */
	return words[2] < 256 && words[3] < 256 && cnt < 256 ? (uint16_t)cnt : 0;
}

static const struct heap_type *look_up(struct heap_types *t, uint64_t addr);

/* The type of a type leads to `type`, which is its own. */
static bool is_rooted(struct heap_types *t, uint64_t addr, uint64_t type)
{
	char name[8];
	struct raw_type r;

	if (t->root && type == t->root)
		return true;	/* also of its bases, before it is known as a type itself */
	if (type != addr)
		return look_up(t, type) != NULL;
	if (t->root)
		return false;
	if (read_type(t, addr, &r) || !(r.flags & PY_IS_TYPE) ||
	    !read_name(t, r.name, name, sizeof(name)) || strcmp(name, "type"))
		return false;
	t->root = addr;
	return true;
}

static const struct heap_type *verify(struct heap_types *t, uint64_t addr)
{
	struct heap_type type = { .addr = addr };
	const struct heap_type *base = NULL;
	struct raw_type r;

	if (read_type(t, addr, &r) || !sane(t, &r) || !is_rooted(t, addr, r.type))
		return NULL;
	type.flags = r.flags;
	if (!read_names(t, addr, &r, &type))
		return NULL;
	if (r.base && r.base != addr)
		base = look_up(t, r.base);
	type.base = base ? r.base : 0;
	type.basic = (uint32_t)r.basic;
	type.item = (uint32_t)r.item;
	type.dict_off = (int32_t)r.dict_off;
	type.weaklist_off = (int32_t)r.weaklist_off;
	type.kind = kind_of(&type, base);
	type.before = bytes_before(t, r.flags);
	type.value_cnt = count_values(t, addr, r.flags);
	return add_type(t, &type);
}

/* While an address is being verified it is remembered as none: so circles end. */
static const struct heap_type *look_up(struct heap_types *t, uint64_t addr)
{
	uint64_t hash = hash_of(t, addr), *none = &t->none[hash >> 40 & (NO_TYPES - 1)];
	uint32_t number = *slot_of(t, addr, hash);
	const struct heap_type *type;

	if (number)
		return type_number(t, number - 1);
	if (*none == addr || !heap_may_be_address(addr) || t->depth >= DEPTH_MAX)
		return NULL;
	*none = addr;
	t->depth++;
	type = verify(t, addr);
	t->depth--;
	if (type && *none == addr)
		*none = 0;
	return type;
}

const struct heap_type *heap_types_at(struct heap_types *t, uint64_t addr)
{
	uint64_t hash = hash_of(t, addr);
	uint32_t number = *slot_of(t, addr, hash);

	if (number)
		return type_number(t, number - 1);
	if (t->none[hash >> 40 & (NO_TYPES - 1)] == addr)
		return NULL;
	t->walk.reads_left = VERIFY_READS;
	return look_up(t, addr);
}

/* ---- objects ---- */

#define IMMORTAL UINT32_MAX
/* More is rather a pointer or data: then it is no object, not one with a type that is none. */
#define SEEMS_REFS 65536u

/* The reference count of an object that is alive; 0: it is none. */
static uint32_t refs_of(const struct heap_types *t, const uint8_t *object)
{
	uint64_t word = word_at(object, t->walk.head - 16);
	uint32_t low = (uint32_t)word, local;
	int64_t shared;

	/* ob_ref_local, ob_ref_shared with two flags: huge if references are deferred. */
	if (t->build.free_threaded) {
		memcpy(&local, object + 12, sizeof(local));
		if (local == UINT32_MAX)
			return IMMORTAL;
		/* Negative while another thread is about to merge the two. */
		shared = ((int64_t)word >> 2) + local;
		return shared <= 0 ? 0 : shared < IMMORTAL ? (uint32_t)shared : IMMORTAL - 1;
	}
	if (t->build.objects.minor < 12)
		return word < IMMORTAL ? low : 0;
	/* From 3.14 on 16 bits for overflow and 16 flags follow. Freed objects have a pointer. */
	if (t->build.objects.minor < 14 ? word >> 32 : word >> 32 & 0xffff || word >> 56)
		return 0;
	return low >> 31 ? IMMORTAL : low;
}

/* The least that an object takes. Most of a str object is left out of compact ones. */
static uint32_t least_bytes(const struct heap_types *t, const struct heap_type *type)
{
	uint32_t least = type->kind == HEAP_STR && type->basic > t->build.objects.str_ascii_data ?
		t->build.objects.str_ascii_data : type->basic;

	/* tp_basicsize may include the first item. */
	return type->before + (least > type->item ? least - type->item : least);
}

/* A type whose objects begin `before` bytes after their memory; NULL: none. */
static const struct heap_type *type_behind(struct heap_types *t, const uint8_t *bytes,
					   uint32_t len, uint32_t before, struct heap_object *out,
					   bool *seems)
{
	const struct heap_type *type;
	uint64_t addr;

	if (len < before + t->walk.head)
		return NULL;
	addr = word_at(bytes, before + t->walk.head - 8);
	if (!heap_may_be_address(addr) || !(out->refs = refs_of(t, bytes + before)))
		return NULL;
	type = heap_types_at(t, addr);
	*seems |= !type && out->refs < SEEMS_REFS;
	if (!type || type->before != before || least_bytes(t, type) > len)
		return NULL;
	return type;
}

enum heap_found heap_object_behind(struct heap_types *t, const uint8_t *bytes, uint32_t len,
				   uint32_t before, struct heap_object *out)
{
	bool seems = false;

	out->type = type_behind(t, bytes, len, before, out, &seems);
	out->off = before;
	return out->type ? HEAP_OBJECT : seems ? HEAP_BAD : HEAP_RAW;
}

enum heap_found heap_object_in_block(struct heap_types *t, const uint8_t *bytes, uint32_t len,
				     struct heap_object *out)
{
	const uint32_t gc = t->build.gc_head, places[] = { 0, gc, gc + 16, 16 };
	bool seems = false;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		out->type = type_behind(t, bytes, len, places[i], out, &seems);
		out->off = places[i];
		if (out->type)
			return HEAP_OBJECT;
	}
	return seems ? HEAP_BAD : HEAP_RAW;
}

bool heap_seems_object(const struct heap_types *t, const uint8_t *bytes)
{
	return heap_may_be_address(word_at(bytes, t->walk.head - 8)) && refs_of(t, bytes);
}

bool heap_object_at(struct heap_types *t, const uint8_t *bytes, uint32_t len,
		    struct heap_object *out)
{
	uint64_t addr;

	if (len < t->walk.head)
		return false;
	addr = word_at(bytes, t->walk.head - 8);
	*out = (struct heap_object){ .refs = refs_of(t, bytes) };
	if (out->refs && heap_may_be_address(addr))
		out->type = heap_types_at(t, addr);
	return out->type;
}
