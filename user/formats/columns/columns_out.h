/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * columns_out.h - writes columns (docs/format-columns.md): a head of COLUMN_ALIGN bytes with name,
 * width and count, then the values, little-endian, filled up with zeros to a multiple of it.
 *
 * Knows nothing of what columns mean.
 */
#ifndef TACHBPF_COLUMNS_OUT_H
#define TACHBPF_COLUMNS_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/writer.h"

#define COLUMNS_MAGIC "tachcol1"
#define COLUMN_ALIGN 64
#define COLUMN_NAME_BYTES 48

/* At the begin of a column; without padding. */
struct column_head {
	char name[COLUMN_NAME_BYTES];	/* NUL-terminated */
	uint32_t width;			/* bytes of a value: 1, 4 or 8 */
	uint32_t unused;
	uint64_t count;			/* values */
};
_Static_assert(sizeof(struct column_head) == COLUMN_ALIGN, "a head is as aligned as values are");

/* A member of rows that becomes a column. */
struct column {
	const char *name;
	size_t offset;
	uint32_t width;
};
#define COLUMN(name, type, member)                                                                 \
	{ name, offsetof(type, member), sizeof(((type *)0)->member) }

/* Writes what comes before the first column. */
void columns_begin(struct writer *w);
/* Writes a column whose values are one after the other. */
void columns_put(struct writer *w, const char *name, uint32_t width, const void *values,
		 uint64_t cnt);
/* Writes each of the columns of cnt rows of row_bytes. */
void columns_put_rows(struct writer *w, const struct column *columns, size_t column_cnt,
		      const void *rows, size_t row_bytes, uint64_t cnt);

/*
 * Strings and lists are two columns: the values of all of them, and their ends, which begin with 0.
 * Returns 0, or -EOVERFLOW if an end is larger than an int32.
 */
int columns_add_end(int32_t *end, uint64_t more);

#endif
