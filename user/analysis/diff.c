// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * diff.c - joins the rows of two reports. See diff.h.
 */
#include "analysis/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/util.h"
#include "model/intern.h"

struct join {
	struct intern *names;
	struct diff_row *rows;	/* by frame id of names */
	size_t cnt;
};

static int row_of(struct join *j, const struct report_row *from, struct diff_row **row)
{
	struct frame key = { .line = LINE_NONE, .end_line = LINE_NONE, .column = COLUMN_NONE,
			     .end_column = COLUMN_NONE, .opcode = OPCODE_NONE,
			     .kind = from->kind };
	uint32_t id;

	if (intern_string(j->names, from->func.data, from->func.len, &key.func) ||
	    intern_string(j->names, from->file.data, from->file.len, &key.file) ||
	    intern_frame(j->names, &key, &id))
		return -ENOMEM;
	*row = &j->rows[id];
	if (id < j->cnt)
		return 0;
	j->cnt = (size_t)id + 1;
	**row = (struct diff_row){ .func = from->func, .file = from->file, .kind = from->kind,
				   .line = from->line };
	return 0;
}

static int add_side(struct join *j, const struct report_row *rows, size_t cnt, uint64_t samples,
		    int side)
{
	struct diff_row *row;
	size_t i;

	for (i = 0; i < cnt; i++) {
		if (row_of(j, &rows[i], &row))
			return -ENOMEM;
		row->self[side] = rows[i].self;
		row->self_squares[side] = rows[i].self_squares;
		row->total[side] = rows[i].total;
		row->self_pct[side] = percent(rows[i].self, samples);
		row->total_pct[side] = percent(rows[i].total, samples);
		if (rows[i].line > 0 && (row->line < 0 || rows[i].line < row->line))
			row->line = rows[i].line;
	}
	return 0;
}

/*
 * The variance of a share that was estimated from events with weights: sum and squares of all, own
 * and own_squares of those in the share. If all weights are 1, it is p (1 - p) / n. After Agresti
 * and Caffo (2000), one event of either kind is added: otherwise a share of 0 would have no
 * variance.
 */
static double share_variance(double sum, double squares, double own, double own_squares)
{
	double one = sum > 0 ? squares / sum : 1;	/* the weight of a typical event */
	double all = sum + 2 * one, p = (own + one) / all;

	return ((1 - 2 * p) * (own_squares + one * one) + p * p * (squares + 2 * one * one)) /
	       (all * all);
}

#define FALSE_ALARMS 0.01	/* chance that any function falsely seems to grow */

/*
 * The standard errors by which chance may move one of cnt functions: P(Z > z) < exp(-z^2 / 2) / 2,
 * with FALSE_ALARMS divided among the functions.
 */
static double errors_allowed(size_t cnt)
{
	return sqrt(2 * log((cnt ? cnt : 1) / (2 * FALSE_ALARMS)));
}

static void add_noise(struct join *j, const struct report *a, const struct report *b)
{
	const struct report *sides[] = { a, b };
	double errors = errors_allowed(j->cnt);
	size_t i, side;

	for (i = 0; i < j->cnt; i++) {
		struct diff_row *row = &j->rows[i];
		double variance = 0;

		for (side = 0; side < 2; side++)
			variance += share_variance((double)report_sample_cnt(sides[side]),
						   report_squares(sides[side]),
						   (double)row->self[side],
						   row->self_squares[side]);
		row->self_noise = 100 * errors * sqrt(variance > 0 ? variance : 0);
	}
}

static int compare_text(const struct string_ref *a, const struct string_ref *b)
{
	int diff = memcmp(a->data, b->data, a->len < b->len ? a->len : b->len);

	return diff ? diff : (a->len > b->len) - (a->len < b->len);
}

/* For sorting: the larger one first. */
static int compare_descending(double a, double b)
{
	return (a < b) - (a > b);
}

static int by_delta(const struct diff_row *a, const struct diff_row *b)
{
	return compare_descending(fabs(a->self_delta), fabs(b->self_delta));
}

static int by_total_delta(const struct diff_row *a, const struct diff_row *b)
{
	return compare_descending(fabs(a->total_delta), fabs(b->total_delta));
}

static int by_a(const struct diff_row *a, const struct diff_row *b)
{
	return compare_descending(a->self_pct[0], b->self_pct[0]);
}

static int by_b(const struct diff_row *a, const struct diff_row *b)
{
	return compare_descending(a->self_pct[1], b->self_pct[1]);
}

static int by_more(const struct diff_row *a, const struct diff_row *b)
{
	return compare_descending(fabs(a->self_more), fabs(b->self_more));
}

static int by_total_more(const struct diff_row *a, const struct diff_row *b)
{
	return compare_descending(fabs(a->total_more), fabs(b->total_more));
}

static int by_count_a(const struct diff_row *a, const struct diff_row *b)
{
	return compare_descending((double)a->self[0], (double)b->self[0]);
}

static int by_count_b(const struct diff_row *a, const struct diff_row *b)
{
	return compare_descending((double)a->self[1], (double)b->self[1]);
}

static int by_name(const struct diff_row *a, const struct diff_row *b)
{
	return compare_text(&a->func, &b->func);
}

static int by_file(const struct diff_row *a, const struct diff_row *b)
{
	return compare_text(&a->file, &b->file);
}

typedef int (*row_compare)(const struct diff_row *a, const struct diff_row *b);

/* The keys of each order, in descending priority: file and name together are unique. */
#define KEYS 4
static const row_compare orders[][DIFF_SORT_FILE + 1][KEYS] = {
	[DIFF_OF_SHARES] = {
		[DIFF_SORT_DELTA] = { by_delta, by_total_delta, by_name, by_file },
		[DIFF_SORT_TOTAL_DELTA] = { by_total_delta, by_delta, by_name, by_file },
		[DIFF_SORT_A] = { by_a, by_delta, by_name, by_file },
		[DIFF_SORT_B] = { by_b, by_delta, by_name, by_file },
		[DIFF_SORT_NAME] = { by_name, by_file, by_delta, by_a },
		[DIFF_SORT_FILE] = { by_file, by_name, by_delta, by_a },
	},
	[DIFF_OF_COUNTS] = {
		[DIFF_SORT_DELTA] = { by_more, by_total_more, by_name, by_file },
		[DIFF_SORT_TOTAL_DELTA] = { by_total_more, by_more, by_name, by_file },
		[DIFF_SORT_A] = { by_count_a, by_more, by_name, by_file },
		[DIFF_SORT_B] = { by_count_b, by_more, by_name, by_file },
		[DIFF_SORT_NAME] = { by_name, by_file, by_more, by_count_a },
		[DIFF_SORT_FILE] = { by_file, by_name, by_more, by_count_a },
	},
};

static int compare_rows(const void *a, const void *b, void *order)
{
	const row_compare *compare = order;
	size_t i;
	int diff = 0;

	for (i = 0; !diff && i < KEYS; i++)
		diff = compare[i](a, b);
	return diff;
}

static void note_largest(const struct diff_row **largest, const struct diff_row *row,
			 enum diff_of of)
{
	if (!*largest || fabs(diff_change(row, of)) > fabs(diff_change(*largest, of)))
		*largest = row;
}

struct diff_summary diff_summarise(const struct diff_row *rows, size_t cnt, enum diff_of of,
				   bool noise)
{
	struct diff_summary s = { 0 };
	size_t i;

	for (i = 0; i < cnt; i++) {
		double change = diff_change(&rows[i], of);
		double least = noise ? rows[i].self_noise : 0;

		if (change)
			note_largest(&s.largest, &rows[i], of);
		if (fabs(change) <= least)
			continue;
		s.grown += change > 0;
		s.shrunk += change < 0;
		note_largest(change > 0 ? &s.most_grown : &s.most_shrunk, &rows[i], of);
	}
	return s;
}

static void set_deltas(struct diff_row *row)
{
	row->self_delta = row->self_pct[1] - row->self_pct[0];
	row->total_delta = row->total_pct[1] - row->total_pct[0];
	row->self_more = (double)row->self[1] - (double)row->self[0];
	row->total_more = (double)row->total[1] - (double)row->total[0];
}

struct diff_row *diff_rows(struct report *a, struct report *b, enum diff_sort sort,
			   enum diff_of of, size_t *cnt)
{
	size_t a_cnt, b_cnt, i;
	const struct report_row *a_rows = report_rows(a, REPORT_SORT_SELF, &a_cnt);
	const struct report_row *b_rows = report_rows(b, REPORT_SORT_SELF, &b_cnt);
	struct join j = { .names = intern_new() };
	int err = -ENOMEM;

	if (!a_rows || !b_rows || !j.names)
		goto out;
	j.rows = calloc(a_cnt + b_cnt + 1, sizeof(*j.rows));
	if (!j.rows)
		goto out;
	err = add_side(&j, a_rows, a_cnt, report_sample_cnt(a), 0);
	if (!err)
		err = add_side(&j, b_rows, b_cnt, report_sample_cnt(b), 1);
	for (i = 0; !err && i < j.cnt; i++)
		set_deltas(&j.rows[i]);
	if (!err)
		add_noise(&j, a, b);
	if (!err)
		qsort_r(j.rows, j.cnt, sizeof(*j.rows), compare_rows, (void *)orders[of][sort]);
out:
	intern_free(j.names);
	if (err) {
		free(j.rows);
		j.rows = NULL;
	}
	*cnt = j.cnt;
	return j.rows;
}
