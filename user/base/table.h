/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * table.h - the counters in a struct, described once: how they are added up, what was counted since
 * then, and what they are called in JSON.
 */
#ifndef TACHBPF_TABLE_H
#define TACHBPF_TABLE_H

#include <stddef.h>

#include "base/json.h"

/* A member of a struct: uint32_t or uint64_t, or an array of uint64_t. */
struct column {
	const char *key;	/* in JSON; NULL: it is not there. Not of an array */
	size_t offset, bytes;
};
#define COLUMN(key, type, member) { key, offsetof(type, member), sizeof(((type *)0)->member) }

/* Write the members with a key as members of the JSON object that is open. */
void table_json(struct json *j, const struct column *columns, size_t cnt, const void *from);

/* Add each member of a struct to that of sum; or subtract what was counted before, not below 0. */
void table_add(const struct column *columns, size_t cnt, void *sum, const void *from);
void table_subtract(const struct column *columns, size_t cnt, void *from, const void *before);

#endif
