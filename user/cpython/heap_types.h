/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * heap_types.h - the types of a process' objects, verified; and objects at the start of blocks.
 *
 * An address is a type's if its own type, and that one's, lead to `type`, whose type is itself; and
 * its name and sizes are sane. Each address is checked once. The memory is hostile: it can invent
 * types, but neither their number nor the work on them is unlimited.
 */
#ifndef TACHBPF_CPYTHON_HEAP_TYPES_H
#define TACHBPF_CPYTHON_HEAP_TYPES_H

#include "cpython/walk.h"

#define HEAP_TYPE_NAME_BYTES 96
#define HEAP_HAVE_GC (1ull << 14)	/* tp_flags: the collector knows objects of this type */
/* Types of a process that are known at a time; further ones are none. */
#define HEAP_TYPE_CNT_MAX 16384u
/* What is known of an object's memory because of its type, or the type's bases. */
enum heap_kind {
	HEAP_PLAIN,		/* tp_basicsize + ob_size * tp_itemsize */
	HEAP_LIST, HEAP_TUPLE, HEAP_DICT, HEAP_SET, HEAP_STR, HEAP_BYTES, HEAP_INT,
	HEAP_BYTEARRAY, HEAP_ARRAY, HEAP_DEQUE, HEAP_ODICT, HEAP_NDARRAY,
	HEAP_TYPE, HEAP_MODULE, HEAP_FUNCTION, HEAP_CODE, HEAP_FRAME, HEAP_GENERATOR, HEAP_CELL,
	HEAP_KIND_CNT
};

struct heap_type {
	uint32_t number;		/* from 0 on, in the order in which they were found */
	uint64_t addr, base;		/* base: tp_base, verified too; 0: none */
	uint64_t flags;			/* tp_flags */
	uint32_t basic, item;		/* tp_basicsize, tp_itemsize */
	int32_t dict_off, weaklist_off;	/* tp_dictoffset, tp_weaklistoffset */
	uint8_t kind;			/* enum heap_kind, as of the nearest base that has one */
	uint8_t before;			/* bytes of a block before the object: the collector's head,
					 * words for its dict */
	uint16_t value_cnt;		/* attributes that ht_cached_keys has room for; 0: none */
	char name[HEAP_TYPE_NAME_BYTES];	/* "list", "app.Session"; valid UTF-8, printable */
};

struct heap_types;

/* The process, as in struct heap_target (heap/census.h). */
struct heap_build {
	struct py_object_layout objects;
	uint8_t gc_head;		/* sizeof(PyGC_Head); 0: none */
	bool free_threaded, trace_refs;
};

/* mem must outlive it. NULL with errno. */
struct heap_types *heap_types_new(const struct target_mem *mem, const struct heap_build *build);
void heap_types_free(struct heap_types *t);

/*
 * The type at this address; NULL: none. The pointer stays valid. Addresses that are no types are
 * remembered, too, as far as there is space.
 */
const struct heap_type *heap_types_at(struct heap_types *t, uint64_t addr);

/* The offset of PyHeapTypeObject.ht_cached_keys; ht_qualname is right before it. */
uint32_t heap_cached_keys_off(const struct heap_build *build);

/* Returns true if this may be the address of an object. */
bool heap_may_be_address(uint64_t addr);

/* For functions of walk.h and attributes.h. */
struct py_walk *heap_types_walk(struct heap_types *t);

struct heap_object {
	const struct heap_type *type;
	uint32_t off;			/* of the object in its block: type->before */
	uint32_t refs;			/* reference count; UINT32_MAX: immortal */
};

enum heap_found {
	HEAP_OBJECT,		/* an object */
	HEAP_RAW,		/* memory of another kind: items, keys, an object that was freed */
	HEAP_BAD,		/* looks like an object, but its type is none */
};

/* Returns true if bytes, sizeof(PyObject) of them, may be an object's head: to be checked. */
bool heap_seems_object(const struct heap_types *t, const uint8_t *bytes);

/*
 * The object in a block in use; bytes: a copy of its len bytes without debug words, if there are
 * any (pymalloc_debug_bytes()).
 */
enum heap_found heap_object_in_block(struct heap_types *t, const uint8_t *bytes, uint32_t len,
				     struct heap_object *out);

/* The same if it is known that objects begin after `before` bytes. */
enum heap_found heap_object_behind(struct heap_types *t, const uint8_t *bytes, uint32_t len,
				   uint32_t before, struct heap_object *out);

/*
 * The object at an address, which others refer to: bytes has its first len, at least
 * sizeof(PyObject). out->off: 0. Returns false if there is none.
 */
bool heap_object_at(struct heap_types *t, const uint8_t *bytes, uint32_t len,
		    struct heap_object *out);

#endif
