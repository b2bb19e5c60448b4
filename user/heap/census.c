// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* census.c - see census.h: the differences between two censuses. */
#include "heap/census.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/util.h"

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct heap_row *const *)a)->name,
		      (*(const struct heap_row *const *)b)->name);
}

static int most_growth_first(const void *a, const void *b)
{
	const struct heap_growth *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->name, y->name);
}

static size_t sorted_rows(const struct heap_census *c, const struct heap_row **out)
{
	size_t i, cnt = c->row_cnt < HEAP_TYPES_MAX ? c->row_cnt : HEAP_TYPES_MAX;

	for (i = 0; i < cnt; i++)
		out[i] = &c->rows[i];
	qsort(out, cnt, sizeof(*out), by_name);
	return cnt;
}

/* Errors of two independent samples. */
static uint64_t both(uint64_t a, uint64_t b)
{
	return (uint64_t)ceil(sqrt((double)a * (double)a + (double)b * (double)b));
}

/* One of the two may be NULL: it has no objects of this type. */
static struct heap_growth grown(const struct heap_row *before, const struct heap_row *after,
				double minutes)
{
	static const struct heap_row none;
	const struct heap_row *b = before ? before : &none, *a = after ? after : &none;

	return (struct heap_growth){
		.name = after ? after->name : before->name,
		.objects = (int64_t)(a->objects - b->objects),
		.bytes = (int64_t)(a->bytes - b->bytes),
		.objects_error = both(a->objects_error, b->objects_error),
		.bytes_error = both(a->bytes_error, b->bytes_error),
		.minutes = minutes, .row = after,
	};
}

size_t heap_census_growth(const struct heap_census *before, const struct heap_census *after,
			  struct heap_growth *out, size_t max)
{
	const struct heap_row **b = calloc(2 * HEAP_TYPES_MAX, sizeof(*b)), **a;
	struct heap_growth *all = calloc(2 * HEAP_TYPES_MAX, sizeof(*all));
	double minutes = (double)(int64_t)(after->time_ns - before->time_ns) / 60.0 / NS_PER_S;
	size_t b_cnt, a_cnt, i = 0, j = 0, cnt = 0;
	int order;

	if (b && all) {
		a = b + HEAP_TYPES_MAX;
		b_cnt = sorted_rows(before, b);
		a_cnt = sorted_rows(after, a);
		while (i < b_cnt || j < a_cnt) {
			order = i == b_cnt ? 1 : j == a_cnt ? -1 : strcmp(b[i]->name, a[j]->name);
			all[cnt++] = grown(order <= 0 ? b[i] : NULL, order >= 0 ? a[j] : NULL,
					   minutes);
			i += order <= 0;
			j += order >= 0;
		}
		qsort(all, cnt, sizeof(*all), most_growth_first);
		cnt = cnt < max ? cnt : max;
		memcpy(out, all, cnt * sizeof(*out));
	}
	free(b);
	free(all);
	return cnt;
}
