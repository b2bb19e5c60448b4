/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * walk.h - reads objects of a process one after another, with a limit on reads: their types, and
 * the entries of dicts.
 *
 * The memory is hostile and may change while it is read. Sizes and offsets are those of 64-bit
 * builds of CPython 3.6 to 3.15, including free-threaded ones.
 */
#ifndef TACHBPF_CPYTHON_WALK_H
#define TACHBPF_CPYTHON_WALK_H

#include "cpython/code.h"
#include "cpython/used_mem.h"

/* Entries of a dict that are read at a time. */
#define WALK_ENTRIES 64

/* tp_flags, the same in all versions (Include/object.h); MANAGED_DICT from 3.11 on. */
#define PY_INLINE_VALUES (1ull << 2)	/* 3.13 */
#define PY_MANAGED_DICT (1ull << 4)
#define PY_HEAP_TYPE (1ull << 9)
#define PY_IS_LONG (1ull << 24)
#define PY_IS_LIST (1ull << 25)
#define PY_IS_TUPLE (1ull << 26)
#define PY_IS_BYTES (1ull << 27)
#define PY_IS_STR (1ull << 28)
#define PY_IS_DICT (1ull << 29)
#define PY_IS_TYPE (1ull << 31)

/* tp_mro of a type, a tuple, and tp_dict, with a head of 0 bytes. */
#define PY_TYPE_MRO 328
#define PY_TYPE_DICT 248

/*
 * pid_t tid in struct pthread, which pthread_self() points to: glibc's nptl/descr.h, musl's
 * src/internal/pthread_impl.h (1.2). See also bpf/pythread.bpf.h.
 */
#ifdef __aarch64__
#define PTHREAD_GLIBC_TID 0xd0
#define PTHREAD_MUSL_TID 0x20
#else
#define PTHREAD_GLIBC_TID 0x2d0
#define PTHREAD_MUSL_TID 0x30
#endif

struct py_walk {
	const struct target_mem *mem;
	const struct py_object_layout *o;
	uint16_t head;		/* sizeof(PyObject) */
	uint32_t reads_left;
	uint64_t type, type_flags;	/* the type read last; 0: none */
	uint64_t ident_type;		/* that of the int that py_ident_of() read last; 0: none */
	struct used_mem *used;		/* what is read is noted: mem is used_read(); else NULL */
};

/* The keys of a dict, and the location of its values. */
struct py_dict {
	uint64_t entries, values;	/* values 0: the entries contain them */
	uint64_t used;			/* number of keys; of open_keys(): 0 */
	uint32_t cnt;			/* entries, including empty ones */
	uint8_t entry_bytes, key_at;	/* a value follows its key */
};

struct py_entry {
	uint64_t key, value;
};

/* Begin a walk, which makes at most `reads` reads. mem and o must outlive it. */
void py_walk_init(struct py_walk *w, const struct target_mem *mem,
		  const struct py_object_layout *o, uint32_t reads);
/* Forget what types were read: what follows does not depend on what was before. */
void py_walk_forget(struct py_walk *w);

/* Read len bytes. 0; -E2BIG: too many reads; -errno of mem. The same for the functions below. */
int py_get(struct py_walk *w, uint64_t addr, void *buf, size_t len);
/*
 * Likewise, but nothing is noted: for what never changes while the object lives, as a type's name
 * or the text of a str (the reference to it has been noted), and for reads of more than is used, of
 * which py_use() notes what the walk depends on. bytes: those at addr.
 */
int py_peek(struct py_walk *w, uint64_t addr, void *buf, size_t len);
void py_use(struct py_walk *w, uint64_t addr, const void *bytes, size_t len);
/* A pointer; -ENOENT: it is NULL. */
int py_pointer(struct py_walk *w, uint64_t addr, uint64_t *out);
/* An object's type and its tp_flags. */
int py_type_of(struct py_walk *w, uint64_t obj, uint64_t *type, uint64_t *flags);
/* 0: the object's type has this flag; -EBADMSG: it does not. */
int py_expect(struct py_walk *w, uint64_t obj, uint64_t flag);

/* Returns true if its type has this tp_name, shorter than 32 bytes (Python classes: no module). */
bool py_type_named(struct py_walk *w, uint64_t obj, const char *name);

/* The address of the items of a tuple. */
uint64_t py_tuple_items(const struct py_walk *w, uint64_t tuple);

/* values: of a dict or object that shares its keys with others; 0: none. -EBADMSG: not keys. */
int py_open_keys(struct py_walk *w, uint64_t keys, uint64_t values, struct py_dict *d);
int py_open_dict(struct py_walk *w, uint64_t addr, struct py_dict *d);
/*
 * Read entries from number `from` (below d->cnt) on. *cnt: their number. A key 0: the entry is
 * empty. A value is 0 if d->values is not.
 */
int py_read_entries(struct py_walk *w, const struct py_dict *d, uint32_t from,
		    struct py_entry out[WALK_ENTRIES], uint32_t *cnt);

#endif
