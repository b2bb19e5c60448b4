// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mlyze_rows.c - see mlyze_rows.h.
 */
#include "formats/mlyze/mlyze_rows.h"

#include <stdlib.h>

#include "base/arith.h"
#include "base/util.h"
#include "model/intern.h"
#include "model/self_frame.h"

static void add_sums(struct mlyze_sums *to, const struct mlyze_sums *s)
{
	to->count = add_capped(to->count, s->count);
	to->allocated = add_capped(to->allocated, s->allocated);
	to->live_count = add_capped(to->live_count, s->live_count);
	to->live = add_capped(to->live, s->live);
	to->peak_count = add_capped(to->peak_count, s->peak_count);
	to->peak = add_capped(to->peak, s->peak);
}

/* The frame that allocated; NULL: the stack has none. */
static const struct frame *allocator(const struct mlyze_file *f, uint32_t stack)
{
	const struct profile_tables *t = mlyze_tables(f);
	struct mlyze_stack s = mlyze_stack(f, stack);

	if (!s.frame_cnt)
		return NULL;
	return &t->frames[s.frames[self_frame(t, s.frames, s.frame_cnt, SELF_OF_PYTHON)]];
}

const struct frame *mlyze_row_frame(const struct mlyze_file *f, const struct mlyze_row *row)
{
	return allocator(f, row->stack);
}

/* The fields that distinguish rows; the others have no value. */
static struct frame key_of(const struct mlyze_file *f, uint32_t stack, enum mem_by by)
{
	const struct frame *frame = allocator(f, stack);
	struct frame key = { .file = UINT32_MAX, .func = UINT32_MAX };

	if (by == MEM_BY_STACK) {
		key.file = stack;
	} else if (frame) {
		key.file = frame->file;
		if (by == MEM_BY_FUNCTION)
			key.func = frame->func;
	}
	return key;
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct mlyze_row *x = a, *y = b;
	const uint64_t xs[] = { [MEM_SORT_LIVE] = x->sums.live,
				[MEM_SORT_ALLOCATED] = x->sums.allocated,
				[MEM_SORT_PEAK] = x->sums.peak, [MEM_SORT_COUNT] = x->sums.count };
	const uint64_t ys[] = { [MEM_SORT_LIVE] = y->sums.live,
				[MEM_SORT_ALLOCATED] = y->sums.allocated,
				[MEM_SORT_PEAK] = y->sums.peak, [MEM_SORT_COUNT] = y->sums.count };
	enum mem_sort sort = *(enum mem_sort *)ctx;

	if (xs[sort] != ys[sort])
		return COMPARE(ys[sort], xs[sort]);
	if (x->sums.allocated != y->sums.allocated)
		return COMPARE(y->sums.allocated, x->sums.allocated);
	return COMPARE(x->stack, y->stack);
}

struct mlyze_row *mlyze_rows(const struct mlyze_file *f, const struct mlyze_stats *stats,
			     enum mem_by by, enum mem_sort sort, size_t *cnt)
{
	size_t i, stacks = mlyze_stack_cnt(f);
	struct mlyze_row *rows = calloc(stacks + 1, sizeof(*rows));
	struct intern *keys = intern_new();
	uint32_t row;
	int err = rows && keys ? 0 : -1;

	*cnt = 0;
	for (i = 0; !err && i < stacks; i++) {
		struct frame key = key_of(f, (uint32_t)i, by);

		if (!stats->stacks[i].count)
			continue;
		err = intern_frame(keys, &key, &row);
		if (err)
			break;
		if (row == *cnt) {
			rows[row].stack = (uint32_t)i;
			rows[row].id = mlyze_stack(f, (uint32_t)i).id;
			++*cnt;
		}
		add_sums(&rows[row].sums, &stats->stacks[i]);
	}
	intern_free(keys);
	if (err) {
		free(rows);
		return NULL;
	}
	qsort_r(rows, *cnt, sizeof(*rows), compare_rows, &sort);
	return rows;
}
