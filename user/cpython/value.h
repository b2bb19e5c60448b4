/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * value.h - an object of a process as text, like Python's repr(), without running any of its code.
 *
 * Objects of plain types have their value: None, bool, int, float, str, bytes, and list, tuple, dict,
 * set, frozenset of such to a depth of VALUE_DEPTH. Others, and those of subclasses, have
 * their type and address: "<Request at 0x7f...>". The memory is hostile and may change while it is
 * read: sizes and the number of reads are bounded, circles end at the depth.
 */
#ifndef TACHBPF_CPYTHON_VALUE_H
#define TACHBPF_CPYTHON_VALUE_H

#include "cpython/walk.h"

/* Characters of a value's text; items of a container; containers in each other. */
#define VALUE_CHARS 200
#define VALUE_ITEMS 20
#define VALUE_DEPTH 2

/* Room for VALUE_CHARS characters, and for "..." of one that is cut. */
struct py_value {
	char text[4 * VALUE_CHARS + 4];	/* valid UTF-8, may contain NULs; a str's quotes and control
					 * characters are escaped */
	uint32_t len;		/* bytes */
	uint32_t chars;
	bool cut;
};

/* Never fails: what cannot be read is "<unreadable>". */
void py_value_read(struct py_walk *w, uint64_t obj, struct py_value *out);

/* Has the object exactly this static type ("cell")? */
bool py_value_is(struct py_walk *w, uint64_t obj, const char *type);

#endif
