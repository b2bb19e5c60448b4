/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * slots.h - the attributes of an object whose class has __slots__, and which classes a class has
 * below it.
 *
 * The memory is hostile and may change while it is read. Functions return 0 or -errno of py_get().
 */
#ifndef TACHBPF_CPYTHON_SLOTS_H
#define TACHBPF_CPYTHON_SLOTS_H

#include "cpython/walk.h"

/* Limits on base classes of a class, on its attributes, and on the size of an object. */
#define PY_SLOT_BASES_MAX 64
#define PY_CLASS_ATTRIBUTES_MAX 4096
#define PY_SLOT_MAX 4096

/*
 * Where the objects of a class, or of a class below it, keep this slot, in bytes: the class'
 * descriptors say it. -ENOENT: none of its bases has such a slot; -EBADMSG: not a class.
 */
int py_slot_offset(struct py_walk *w, uint64_t type, const char *name, uint16_t *off);
/* The value of an object's slot. -ENOENT also if it has none. */
int py_slot(struct py_walk *w, uint64_t obj, const char *name, uint64_t *value);

/*
 * A class and the classes below it, at any depth, each once: at most max. 0, also if there are more
 * (*cnt is max), or some were unreadable; -EBADMSG: not a class.
 */
int py_subclasses(struct py_walk *w, uint64_t type, uint64_t out[], uint32_t max, uint32_t *cnt);

#endif
