/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* value_parts.h - what value.c and value_plain.c share. */
#ifndef TACHBPF_CPYTHON_VALUE_PARTS_H
#define TACHBPF_CPYTHON_VALUE_PARTS_H

#include "cpython/value.h"

/* Append ASCII; a prefix and a number of at least that many hexadecimal digits. */
void value_put(struct py_value *out, const char *s);
void value_hex(struct py_value *out, const char *prefix, uint64_t v, int digits);
/* Append a byte, escaped if it is no printable ASCII, or is the quote. */
void value_escaped(struct py_value *out, char c, char quote);

/* Append the text of an object that has this type. depth: of the containers that it is in. */
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
