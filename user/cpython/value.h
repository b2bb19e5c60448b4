/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * value.h - an object of a process as text, like Python's repr(), without running any of its code.
 *
 * Objects of plain types are shown with their value: None, bool, int, float, str, bytes, and list,
 * tuple, dict, set, frozenset of these to a depth of VALUE_DEPTH. Others, and those of subclasses,
 * are shown with their type and address: "<Request at 0x7f...>". The memory is hostile and may
 * change while it is read: sizes and the number of reads are limited, circles end at the depth.
 */
#ifndef TACHBPF_CPYTHON_VALUE_H
#define TACHBPF_CPYTHON_VALUE_H

#include "cpython/walk.h"

/* Limits on characters of a value's text, items of a container, and depth of containers. */
#define VALUE_CHARS 200
#define VALUE_ITEMS 20
#define VALUE_DEPTH 2

/* Space for VALUE_CHARS characters, and for "..." if the text is cut. */
struct py_value {
	char text[4 * VALUE_CHARS + 4];	/* valid UTF-8, may contain NULs; a str's quotes and control
					 * characters are escaped */
	uint32_t len;		/* bytes */
	uint32_t chars;
	bool cut;
};

/* Never fails: an unreadable object becomes "<unreadable>". */
void py_value_read(struct py_walk *w, uint64_t obj, struct py_value *out);

/* Returns true if the object has exactly this static type ("cell"). */
bool py_value_is(struct py_walk *w, uint64_t obj, const char *type);

#endif
