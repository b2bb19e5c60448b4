// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* report_order.c - see report_order.h. */
#include "analysis/report_order.h"

#include <stdlib.h>

#include "base/util.h"

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int by_name(const struct report_row *a, const struct report_row *b)
{
	int diff = ref_compare(a->func, b->func);

	return diff ? diff : COMPARE(a->thread_id, b->thread_id);
}

static int by_file(const struct report_row *a, const struct report_row *b)
{
	int diff = ref_compare(a->file, b->file);

	diff = diff ? diff : COMPARE(a->profile, b->profile);
	return diff ? diff : COMPARE(a->line, b->line);
}

static int by_self(const struct report_row *a, const struct report_row *b)
{
	return COMPARE(b->self, a->self);
}

static int by_total(const struct report_row *a, const struct report_row *b)
{
	return COMPARE(b->total, a->total);
}

typedef int (*row_compare)(const struct report_row *a, const struct report_row *b);

/* The keys of each order, in descending priority; together they make it unambiguous. */
static const row_compare orders[][4] = {
	[REPORT_SORT_SELF] = { by_self, by_total, by_name, by_file },
	[REPORT_SORT_TOTAL] = { by_total, by_self, by_name, by_file },
	[REPORT_SORT_NAME] = { by_name, by_file, by_self, by_total },
	[REPORT_SORT_FILE] = { by_file, by_name, by_self, by_total },
};

static int compare_rows(const void *a, const void *b, void *order)
{
	const row_compare *compare = order;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(orders[0]); i++) {
		int diff = compare[i](a, b);

		if (diff)
			return diff;
	}
	return 0;
}

static int compare_labels(const void *a, const void *b)
{
	const struct report_row *x = a, *y = b;
	int diff = ref_compare(x->func, y->func);

	return diff ? diff : COMPARE(x->profile, y->profile);
}

size_t report_join_rows(struct report_row *rows, size_t cnt)
{
	size_t i, left = 0;

	qsort(rows, cnt, sizeof(*rows), compare_labels);
	for (i = 0; i < cnt; i++) {
		if (left && !ref_compare(rows[left - 1].func, rows[i].func)) {
			rows[left - 1].self += rows[i].self;
			rows[left - 1].total += rows[i].total;
			rows[left - 1].profile_cnt++;
		} else {
			rows[left++] = rows[i];
		}
	}
	return left;
}

void report_sort_rows(struct report_row *rows, size_t cnt, enum report_sort sort)
{
	qsort_r(rows, cnt, sizeof(*rows), compare_rows, (void *)orders[sort]);
}
