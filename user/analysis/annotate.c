// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* annotate.c - see annotate.h. Rows of different reports are joined in the order of places. */
#include "analysis/annotate.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/util.h"

const enum report_by annotate_needs[ANNOTATE_REPORTS] = {
	REPORT_BY_SOURCE_LINE, REPORT_BY_LINE, REPORT_BY_FUNCTION, REPORT_BY_EXPRESSION,
};
enum { SOURCE_LINES, LINES, FUNCTIONS, EXPRESSIONS };	/* their indices */

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* A part of a report's rows, sorted. */
struct part {
	struct report_row *rows;
	size_t cnt;
};

/* ---- functions inside of others ---- */

#define INSIDE ".<locals>."

/* Returns true if the end of a qualified name is that of code without a name of its own. */
static bool is_nameless(struct string_ref name)
{
	static const char *const names[] = {
		"<lambda>", "<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (ref_is(name, names[i]) || ref_ends_with(name, names[i]))
			return true;
	return false;
}

/* Returns the function that is around this one, or this one if it has a name. */
static struct string_ref function_around(struct string_ref func)
{
	while (is_nameless(func)) {
		const char *dot = memrchr(func.data, '.', func.len);
		struct string_ref head = { func.data, dot ? (uint32_t)(dot + 1 - func.data) : 0 };

		if (!ref_ends_with(head, INSIDE))
			break;
		func.len = head.len - (uint32_t)strlen(INSIDE);
	}
	return func;
}

/* ---- sorted parts of reports ---- */

static int by_place(const struct report_row *a, const struct report_row *b)
{
	int diff = ref_compare(a->file, b->file);

	return diff ? diff : COMPARE(a->line, b->line);
}

/* By place; then functions with a name first, and of these the hottest. */
static int compare_functions_of_line(const void *a, const void *b)
{
	const struct report_row *x = a, *y = b;
	int diff = by_place(x, y);

	if (!diff)
		diff = is_nameless(x->func) - is_nameless(y->func);
	if (!diff)
		diff = COMPARE(y->self, x->self);
	if (!diff)
		diff = COMPARE(y->total, x->total);
	return diff ? diff : ref_compare(x->func, y->func);
}

static int compare_by_name(const void *a, const void *b)
{
	const struct report_row *x = a, *y = b;
	int diff = ref_compare(x->file, y->file);

	return diff ? diff : ref_compare(x->func, y->func);
}

static int compare_expressions(const void *a, const void *b, void *by_total)
{
	const struct report_row *x = a, *y = b;
	int diff = by_place(x, y), self = COMPARE(y->self, x->self);
	int total = COMPARE(y->total, x->total);

	if (!diff)
		diff = by_total ? total : self;
	if (!diff)
		diff = by_total ? self : total;
	if (!diff)
		diff = COMPARE(x->column, y->column);
	if (!diff)
		diff = COMPARE(x->end_line, y->end_line);
	return diff ? diff : COMPARE(x->end_column, y->end_column);
}

/* Returns true if the row has columns; an instruction without source text has an empty range. */
static bool is_expression(const struct report_row *row)
{
	return row->column >= 0 && (row->end_line > row->line || row->end_column > row->column);
}

/* Copies the rows of Python code with a line; only: those that are expressions. 0 or -ENOMEM. */
static int copy_part(struct report *r, bool only, struct part *p)
{
	size_t cnt, i;
	const struct report_row *rows = report_rows(r, REPORT_SORT_SELF, &cnt);

	p->rows = rows ? calloc(cnt + 1, sizeof(*rows)) : NULL;
	if (!p->rows)
		return -ENOMEM;
	for (i = 0; i < cnt; i++)
		if (rows[i].kind == FRAME_PYTHON && rows[i].line > 0 &&
		    (!only || is_expression(&rows[i])))
			p->rows[p->cnt++] = rows[i];
	return 0;
}

/* ---- lines ---- */

static int compare_lines(const void *a, const void *b)
{
	const struct annotate_line *x = a, *y = b;
	int diff = ref_compare(x->file, y->file);

	if (!diff)
		diff = ref_compare(x->func, y->func);
	return diff ? diff : COMPARE(x->line, y->line);
}

static int compare_line_places(const void *a, const void *b)
{
	const struct annotate_line *x = *(const void *const *)a, *y = *(const void *const *)b;
	int diff = ref_compare(x->file, y->file);

	return diff ? diff : COMPARE(x->line, y->line);
}

static int compare_heat(const void *a, const void *b, void *ctx)
{
	const struct annotate_line *x = *(const void *const *)a, *y = *(const void *const *)b;
	const struct annotation *an = ctx;
	int diff = COMPARE(annotate_heat(an, y->self, y->total),
			   annotate_heat(an, x->self, x->total));

	if (!diff)
		diff = COMPARE(y->self, x->self);
	if (!diff)
		diff = COMPARE(y->total, x->total);
	return diff ? diff : compare_line_places(a, b);
}

/* Joins the three parts, which are in the order of places. */
static void join_lines(struct annotation *a, const struct part *lines, const struct part *functions,
		       const struct part *expressions)
{
	const struct report_row *f = functions->rows, *f_end = f + functions->cnt;
	struct report_row *e = expressions->rows, *e_end = e + expressions->cnt;
	size_t i;

	for (i = 0; i < lines->cnt; i++) {
		const struct report_row *row = &lines->rows[i];
		struct annotate_line *line = &a->lines[a->line_cnt++];

		while (f < f_end && by_place(f, row) < 0)
			f++;
		while (e < e_end && by_place(e, row) < 0)
			e++;
		*line = (struct annotate_line){
			.file = row->file, .line = row->line, .self = row->self,
			.func = f < f_end && !by_place(f, row) ? function_around(f->func) :
								 row->func,
			.total = row->total, .expressions = e,
		};
		for (; e < e_end && !by_place(e, row); e++)
			line->expression_cnt++;
		a->self = add_capped(a->self, row->self);
	}
}

static int compare_rows_by_place(const void *a, const void *b)
{
	return by_place(a, b);
}

static int make_lines(struct annotation *a, struct report *const reports[ANNOTATE_REPORTS])
{
	struct part lines = { 0 }, functions = { 0 }, expressions = { 0 };
	int err = copy_part(reports[SOURCE_LINES], false, &lines);

	if (!err)
		err = copy_part(reports[LINES], false, &functions);
	if (!err)
		err = copy_part(reports[EXPRESSIONS], true, &expressions);
	a->expressions = expressions.rows;
	a->lines = err ? NULL : calloc(lines.cnt + 1, sizeof(*a->lines));
	if (a->lines) {
		qsort(lines.rows, lines.cnt, sizeof(*lines.rows), compare_rows_by_place);
		qsort(functions.rows, functions.cnt, sizeof(*functions.rows),
		      compare_functions_of_line);
		qsort_r(expressions.rows, expressions.cnt, sizeof(*expressions.rows),
			compare_expressions, a->sort == REPORT_SORT_TOTAL ? a : NULL);
		join_lines(a, &lines, &functions, &expressions);
		qsort(a->lines, a->line_cnt, sizeof(*a->lines), compare_lines);
	}
	free(lines.rows);
	free(functions.rows);
	return a->lines ? 0 : -ENOMEM;
}

static int make_orders(struct annotation *a)
{
	size_t i;

	a->hottest = calloc(a->line_cnt + 1, sizeof(*a->hottest));
	a->places = calloc(a->line_cnt + 1, sizeof(*a->places));
	if (!a->hottest || !a->places)
		return -ENOMEM;
	for (i = 0; i < a->line_cnt; i++)
		a->hottest[i] = a->places[i] = &a->lines[i];
	qsort_r(a->hottest, a->line_cnt, sizeof(*a->hottest), compare_heat, a);
	qsort(a->places, a->line_cnt, sizeof(*a->places), compare_line_places);
	return 0;
}

/* ---- functions ---- */

static int compare_functions(const void *a, const void *b, void *ctx)
{
	const struct annotate_function *x = a, *y = b;
	const struct annotation *an = ctx;
	int diff = COMPARE(y->file_heat, x->file_heat);

	if (!diff)
		diff = ref_compare(x->file, y->file);
	if (!diff)
		diff = COMPARE(annotate_heat(an, y->self, y->total),
			       annotate_heat(an, x->self, x->total));
	return diff ? diff : COMPARE(x->lines, y->lines);
}

static void add_to_function(struct annotate_function *f, const struct annotate_line *line)
{
	f->line_cnt++;
	f->self = add_capped(f->self, line->self);
	f->total = line->total > f->total ? line->total : f->total;
}

/* Makes a function of neighbouring lines that have the same one; rows: of functions, by name. */
static void group_lines(struct annotation *a, const struct part *rows)
{
	const struct report_row *row = rows->rows, *end = row + rows->cnt;
	struct annotate_function *f = NULL;
	size_t i;

	for (i = 0; i < a->line_cnt; i++) {
		struct annotate_line *line = &a->lines[i];
		struct report_row key = { .file = line->file, .func = line->func };

		if (f && !ref_compare(f->file, line->file) && !ref_compare(f->func, line->func)) {
			add_to_function(f, line);
			continue;
		}
		f = &a->functions[a->function_cnt++];
		*f = (struct annotate_function){ .file = line->file, .func = line->func,
						 .first_line = line->line, .lines = line };
		while (row < end && compare_by_name(row, &key) < 0)
			row++;
		if (row < end && !compare_by_name(row, &key)) {
			f->first_line = row->line;
			f->total = row->total;
		}
		add_to_function(f, line);
	}
}

/* Sums of the functions of each file, which are neighbours. */
static void sum_files(struct annotation *a)
{
	size_t i, end, first;

	for (first = 0; first < a->function_cnt; first = end) {
		uint64_t self = 0, most = 0;

		for (end = first; end < a->function_cnt &&
		     !ref_compare(a->functions[end].file, a->functions[first].file); end++) {
			self = add_capped(self, a->functions[end].self);
			if (a->functions[end].total > most)
				most = a->functions[end].total;
		}
		for (i = first; i < end; i++) {
			a->functions[i].file_self = self;
			a->functions[i].file_heat = annotate_heat(a, self, most);
		}
	}
}

static int make_functions(struct annotation *a, struct report *functions)
{
	struct part rows = { 0 };
	int err = copy_part(functions, false, &rows);

	a->functions = err ? NULL : calloc(a->line_cnt + 1, sizeof(*a->functions));
	if (a->functions) {
		qsort(rows.rows, rows.cnt, sizeof(*rows.rows), compare_by_name);
		group_lines(a, &rows);
		sum_files(a);
		qsort_r(a->functions, a->function_cnt, sizeof(*a->functions), compare_functions,
			a);
	}
	free(rows.rows);
	return a->functions ? 0 : -ENOMEM;
}

int annotate_make(struct annotation *a, struct report *const reports[ANNOTATE_REPORTS],
		  enum report_sort sort)
{
	int err;

	*a = (struct annotation){ .sort = sort };
	err = make_lines(a, reports);
	if (!err)
		err = make_orders(a);
	return err ? err : make_functions(a, reports[FUNCTIONS]);
}

void annotate_free(struct annotation *a)
{
	free(a->functions);
	free(a->lines);
	free(a->hottest);
	free(a->places);
	free(a->expressions);
	*a = (struct annotation){ 0 };
}

/* ---- which lines are shown ---- */

void annotate_pick(struct annotation *a, size_t most, uint64_t least)
{
	size_t i;

	for (i = 0; i < a->line_cnt && (!most || i < most); i++) {
		struct annotate_line *line = a->hottest[i];

		line->picked = annotate_heat(a, line->self, line->total) >= least;
	}
}

/* Returns true if the name is this one, or its end after the sign. */
static bool is_named(struct string_ref name, char sign, const char *wanted)
{
	size_t len = strlen(wanted);

	return ref_is(name, wanted) ||
	       (ref_ends_with(name, wanted) && name.data[name.len - len - 1] == sign);
}

size_t annotate_pick_named(struct annotation *a, const char *name)
{
	size_t found = 0, i, k;

	for (i = 0; i < a->function_cnt; i++) {
		struct annotate_function *f = &a->functions[i];

		if (!is_named(f->func, '.', name) && !is_named(f->file, '/', name))
			continue;
		found++;
		for (k = 0; k < f->line_cnt; k++)
			f->lines[k].picked = true;
	}
	return found;
}

const struct annotate_line *annotate_find(const struct annotation *a, struct string_ref file,
					  int32_t line)
{
	const struct annotate_line key = { .file = file, .line = line }, *wanted = &key;
	struct annotate_line *const *found = bsearch(&wanted, a->places, a->line_cnt,
						     sizeof(*a->places), compare_line_places);

	return found ? *found : NULL;
}
