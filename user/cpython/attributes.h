/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * attributes.h - the attributes of an object whose class is written in Python, and values of dicts
 * by key.
 *
 * The memory is hostile and may change while it is read. All functions return 0 or -errno of
 * py_get(); -ENOENT: there is no such key; -EBADMSG: not an object of this kind.
 */
#ifndef TACHBPF_CPYTHON_ATTRIBUTES_H
#define TACHBPF_CPYTHON_ATTRIBUTES_H

#include "cpython/walk.h"

/* At most this many attributes of an object are examined. */
#define PY_ATTRIBUTES_MAX 1024

/* Returns true if the object at addr is this ASCII text, shorter than 64 characters. */
bool py_is_text(struct py_walk *w, uint64_t addr, const char *text);

/*
 * Which of cnt ASCII texts, each shorter than 64 characters, the object at addr is: its index; cnt:
 * none of them.
 */
uint32_t py_text_among(struct py_walk *w, uint64_t addr, const char *const texts[], uint32_t cnt);

/* Find the value of a key, a str, among the first max ones, and its index. */
int py_dict_find(struct py_walk *w, const struct py_dict *d, const char *key, uint32_t max,
		 uint64_t *value, uint32_t *index);
int py_dict_value(struct py_walk *w, uint64_t dict, const char *key, uint32_t max,
		  uint64_t *value);

/*
 * Find the values of several keys in a dict with one pass over its first max entries; 0: there is
 * no such key.
 */
int py_dict_values(struct py_walk *w, uint64_t dict, const char *const keys[], uint32_t cnt,
		   uint32_t max, uint64_t values[]);

/*
 * An object's type, and the location of its attributes: *dict, or *values with the keys that its
 * type has for all its objects. One of the two is 0.
 */
int py_attributes(struct py_walk *w, uint64_t obj, uint64_t *type, uint64_t *dict,
		  uint64_t *values);
/* The keys of a type's objects, with the values of one of them. */
int py_shared_keys(struct py_walk *w, uint64_t type, uint64_t values, struct py_dict *d);
/* The value of one attribute of the object itself, not of its class. */
int py_attribute(struct py_walk *w, uint64_t obj, const char *name, uint64_t *value);

/* The value of an int that is a pthread_t: two digits of 30 bits. */
int py_ident_of(struct py_walk *w, uint64_t obj, uint64_t *value);

#endif
