// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* unwind_rows.c - see unwind_rows.h. */
#include "elf/unwind_rows.h"

#include <errno.h>
#include <stdlib.h>

#include "base/util.h"

/*
 * Alignment of functions. A smaller gap between two is only padding if the rules at both sides of
 * it are equal: then the gap has no row of its own.
 */
#define PADDING 16

void unwind_rows_free(struct unwind_rows *r)
{
	free(r->functions);
	free(r->rows);
	*r = (struct unwind_rows){ 0 };
}

int unwind_rows_begin(struct unwind_rows *r, uint32_t start, uint32_t end)
{
	struct unwind_function *grown;

	if (r->function_cnt == UNWIND_ROWS_MAX)
		return -EFBIG;
	grown = array_grow(r->functions, r->function_cnt, &r->function_cap, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	r->functions = grown;
	grown[r->function_cnt++] = (struct unwind_function){ start, end, (uint32_t)r->row_cnt, 0 };
	return 0;
}

int unwind_rows_add(struct unwind_rows *r, uint32_t addr, uint32_t rule)
{
	struct unwind_function *f = &r->functions[r->function_cnt - 1];
	struct unwind_row *last = f->cnt ? &r->rows[r->row_cnt - 1] : NULL, *grown;

	if (last && last->rule == rule)
		return 0;
	if (last && last->addr == addr) {
		last->rule = rule;
		return 0;
	}
	if (r->row_cnt == UNWIND_ROWS_MAX)
		return -EFBIG;
	grown = array_grow(r->rows, r->row_cnt, &r->row_cap, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	r->rows = grown;
	grown[r->row_cnt++] = (struct unwind_row){ addr, rule };
	f->cnt++;
	return 0;
}

void unwind_rows_undo(struct unwind_rows *r)
{
	r->row_cnt = r->functions[--r->function_cnt].first;
}

static bool is_sorted(const struct unwind_rows *r)
{
	size_t i;

	for (i = 1; i < r->function_cnt; i++)
		if (r->functions[i - 1].start > r->functions[i].start)
			return false;
	return true;
}

/* Sort by these eight bits of start; equal ones keep their order. */
static void sort_by_byte(const struct unwind_function *from, struct unwind_function *to, size_t cnt,
			 unsigned int shift)
{
	size_t at[256] = { 0 }, next = 0, here, i;

	for (i = 0; i < cnt; i++)
		at[from[i].start >> shift & 255]++;
	for (i = 0; i < 256; i++) {
		here = at[i];
		at[i] = next;
		next += here;
	}
	for (i = 0; i < cnt; i++)
		to[at[from[i].start >> shift & 255]++] = from[i];
}

/* Not qsort(): with hostile addresses it could take quadratic time, and it makes system calls. */
int unwind_rows_sort(struct unwind_rows *r)
{
	struct unwind_function *other;
	unsigned int shift;

	if (!is_sorted(r)) {
		other = reallocarray(NULL, r->function_cap, sizeof(*other));
		if (!other)
			return -ENOMEM;
		for (shift = 0; shift < 32; shift += 16) {
			sort_by_byte(r->functions, other, r->function_cnt, shift);
			sort_by_byte(other, r->functions, r->function_cnt, shift + 8);
		}
		free(other);
	}
	r->sorted_cnt = r->function_cnt;
	return 0;
}

bool unwind_rows_covered(const struct unwind_rows *r, uint32_t start, uint32_t end)
{
	size_t low = 0, high = r->sorted_cnt;

	while (low < high) {	/* low: functions that start before `end` */
		size_t mid = low + (high - low) / 2;

		if (r->functions[mid].start < end)
			low = mid + 1;
		else
			high = mid;
	}
	return low && r->functions[low - 1].end > start;
}

/* The list that is being created. */
struct list {
	struct unwind_row *rows;
	size_t cnt, cap;
	uint32_t end;		/* of the function added last */
};

static int put_row(struct list *l, uint32_t addr, uint32_t rule)
{
	struct unwind_row *grown;

	if (l->cnt && l->rows[l->cnt - 1].rule == rule)
		return 0;
	if (l->cnt == UNWIND_ROWS_MAX)
		return -EFBIG;
	grown = array_grow(l->rows, l->cnt, &l->cap, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	l->rows = grown;
	grown[l->cnt++] = (struct unwind_row){ addr, rule };
	return 0;
}

/* The gap before a function that begins with the rule next. */
static int put_gap(struct list *l, uint32_t start, uint32_t next)
{
	bool padding = l->cnt && start - l->end < PADDING && l->rows[l->cnt - 1].rule == next;

	return start == l->end || padding ? 0 : put_row(l, l->end, UNWIND_NO_ROW);
}

static int put_function(struct list *l, const struct unwind_rows *r,
			const struct unwind_function *f, uint32_t end)
{
	const struct unwind_row *rows = &r->rows[f->first];
	int err = put_gap(l, f->start, rows[0].rule);
	uint32_t i;

	for (i = 0; !err && i < f->cnt && rows[i].addr < end; i++)
		err = put_row(l, rows[i].addr, rows[i].rule);
	l->end = end;
	return err;
}

static int put_all(struct list *l, const struct unwind_rows *r)
{
	const struct unwind_function *f = r->functions, *next;
	const struct unwind_function *after = f + r->function_cnt;
	int err = 0;

	for (; !err && f < after; f = next) {
		for (next = f + 1; next < after && next->start == f->start; next++)
			;
		err = put_function(l, r, f, next < after && next->start < f->end ? next->start :
				   f->end);
	}
	return err;
}

int unwind_rows_list(struct unwind_rows *r, struct unwind_row **rows, uint32_t *row_cnt,
		     uint32_t *bytes)
{
	struct list l = { 0 };
	int err;

	if (!r->function_cnt)
		return -ENOENT;
	err = unwind_rows_sort(r);
	if (!err)
		err = put_all(&l, r);
	if (err) {
		free(l.rows);
		return err;
	}
	*rows = l.rows;
	*row_cnt = (uint32_t)l.cnt;
	*bytes = l.end;
	return 0;
}
