/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* value_parts.h - shared by value.c and value_plain.c. */
#ifndef TACHBPF_CPYTHON_VALUE_PARTS_H
#define TACHBPF_CPYTHON_VALUE_PARTS_H

#include "cpython/value.h"

/* Append ASCII text; a number with a prefix and a minimum of digits. */
void value_put(struct py_value *out, const char *s);
void value_hex(struct py_value *out, const char *prefix, uint64_t v, int digits);
/* Append a byte, escaped unless it is printable ASCII other than the quote. */
void value_escaped(struct py_value *out, char c, char quote);

/* Append the text of an object of this type. depth: the number of containers around it. */
typedef void (*value_fn)(struct py_walk *w, uint64_t obj, unsigned int depth,
			 struct py_value *out);
void value_none(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out);
void value_ellipsis(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out);
void value_int(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out);
void value_bool(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out);
void value_float(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out);
void value_str(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out);
void value_bytes(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out);

#endif
