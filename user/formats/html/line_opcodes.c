// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* line_opcodes.c - see line_opcodes.h. */
#include "formats/html/line_opcodes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arith.h"

static int compare_rows(const void *a, const void *b)
{
	const struct line_opcode *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

/* Frames of one line differ in columns: adds them up. */
static void merge_rows(struct line_opcodes *l)
{
	uint32_t i, n = 0;

	for (i = 0; i < l->cnt; i++) {
		if (n && !compare_rows(&l->list[n - 1], &l->list[i]))
			l->list[n - 1].self = add_capped(l->list[n - 1].self, l->list[i].self);
		else
			l->list[n++] = l->list[i];
	}
	l->cnt = n;
}

int line_opcodes_make(struct line_opcodes *l, const struct page_opcodes *o,
		      const struct profile_tables *tables, const uint32_t *line_of, uint32_t none)
{
	uint32_t cnt = page_opcodes_cnt(o), i;

	l->cnt = 0;
	l->list = calloc((size_t)cnt + 1, sizeof(*l->list));
	if (!l->list)
		return -ENOMEM;
	for (i = 0; i < cnt; i++) {
		struct page_opcode p = page_opcodes_get(o, i);
		int32_t at = tables->frames[p.frame].line;

		if (line_of[p.frame] != none)
			l->list[l->cnt++] = (struct line_opcode){ line_of[p.frame], p.name,
								  at < 0 ? 0 : at, p.weight };
	}
	qsort(l->list, l->cnt, sizeof(*l->list), compare_rows);
	merge_rows(l);
	return 0;
}

void line_opcodes_free(struct line_opcodes *l)
{
	free(l->list);
	l->list = NULL;
}

/* The number of entries of lines below this one. */
static uint32_t rows_below(const struct line_opcodes *l, uint32_t line)
{
	uint32_t low = 0, high = l->cnt;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (l->list[mid].line < line)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void line_opcodes_put(struct html_data *d, const struct line_opcodes *l, uint32_t from,
		      uint32_t to)
{
	uint32_t first = rows_below(l, from), end = rows_below(l, to), i;

	html_varint(d, end - first);
	for (i = first; i < end; i++)
		html_varint(d, l->list[i].at);
	for (i = first; i < end; i++)
		html_varint(d, l->list[i].name);
	for (i = first; i < end; i++)
		html_varint(d, l->list[i].self);
}
