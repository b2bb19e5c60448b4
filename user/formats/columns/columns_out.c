// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* columns_out.c - see columns_out.h. */
#include "formats/columns/columns_out.h"

#include <errno.h>
#include <stdio.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are written as they are");

static void put_zeros(struct writer *w, uint64_t written)
{
	static const char zeros[COLUMN_ALIGN];

	if (written % COLUMN_ALIGN)
		writer_put(w, zeros, COLUMN_ALIGN - written % COLUMN_ALIGN);
}

static void put_head(struct writer *w, const char *name, uint32_t width, uint64_t cnt)
{
	struct column_head head = { .width = width, .count = cnt };

	snprintf(head.name, sizeof(head.name), "%s", name);
	writer_put(w, &head, sizeof(head));
}

void columns_begin(struct writer *w)
{
	writer_text(w, COLUMNS_MAGIC);
	put_zeros(w, strlen(COLUMNS_MAGIC));
}

void columns_put(struct writer *w, const char *name, uint32_t width, const void *values,
		 uint64_t cnt)
{
	put_head(w, name, width, cnt);
	writer_put(w, values, width * cnt);
	put_zeros(w, width * cnt);
}

static void put_member(struct writer *w, const struct column *c, const char *rows,
		       size_t row_bytes, uint64_t cnt)
{
	const char *at = rows + c->offset;
	uint64_t i;

	put_head(w, c->name, c->width, cnt);
	for (i = 0; i < cnt; i++, at += row_bytes)
		writer_put(w, at, c->width);
	put_zeros(w, c->width * cnt);
}

void columns_put_rows(struct writer *w, const struct column *columns, size_t column_cnt,
		      const void *rows, size_t row_bytes, uint64_t cnt)
{
	size_t i;

	for (i = 0; i < column_cnt; i++)
		put_member(w, &columns[i], rows, row_bytes, cnt);
}

int columns_add_end(int32_t *end, uint64_t more)
{
	if (more > (uint64_t)(INT32_MAX - *end))
		return -EOVERFLOW;
	*end += (int32_t)more;
	return 0;
}
