// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_annotate.c - lines of source with their samples and expressions, from stacks whose sums can
 * be checked by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "analysis/annotate.h"
#include "base/util.h"
#include "model/intern.h"

#define APP "/srv/app.py"
#define LIB "/usr/lib/python3.11/json/encoder.py"

struct run {
	struct intern *in;
	struct report *reports[ANNOTATE_REPORTS];
	struct annotation a;
};

static uint32_t frame(struct run *r, const char *file, const char *func, int line, int column,
		      int end_column)
{
	struct frame f = { .line = line, .end_line = line, .column = column,
			   .end_column = end_column, .opcode = OPCODE_NONE, .first_line = 1 };
	uint32_t id;

	assert_int_equal(intern_string(r->in, file, strlen(file), &f.file), 0);
	assert_int_equal(intern_string(r->in, func, strlen(func), &f.func), 0);
	assert_int_equal(intern_frame(r->in, &f, &id), 0);
	return id;
}

static void begin(struct run *r, bool mine)
{
	int i;

	*r = (struct run){ .in = intern_new() };
	for (i = 0; i < ANNOTATE_REPORTS; i++) {
		r->reports[i] = report_new(annotate_needs[i]);
		assert_non_null(r->reports[i]);
		if (mine)
			report_show_mine(r->reports[i]);
		assert_int_equal(report_begin(r->reports[i], intern_tables(r->in), "x"), 0);
	}
}

/* n samples of these frames, innermost first; the last argument is UINT32_MAX. */
static void sample(struct run *r, uint64_t n, ...)
{
	uint32_t frames[8], i;
	struct event ev = { .frames = frames, .weight = 1, .more = (uint32_t)n - 1 };
	va_list ap;

	va_start(ap, n);
	while ((frames[ev.nframes] = va_arg(ap, uint32_t)) != UINT32_MAX)
		ev.nframes++;
	va_end(ap);
	for (i = 0; i < ANNOTATE_REPORTS; i++)
		assert_int_equal(report_event(r->reports[i], &ev), 0);
}

#define END UINT32_MAX

static void make(struct run *r, enum report_sort sort)
{
	int i;

	for (i = 0; i < ANNOTATE_REPORTS; i++)
		assert_int_equal(report_end(r->reports[i]), 0);
	assert_int_equal(annotate_make(&r->a, r->reports, sort), 0);
}

static void end(struct run *r)
{
	int i;

	annotate_free(&r->a);
	for (i = 0; i < ANNOTATE_REPORTS; i++)
		report_free(r->reports[i]);
	intern_free(r->in);
}

static const struct annotate_line *line_of(const struct run *r, const char *file, int line)
{
	const struct annotate_line *found = annotate_find(&r->a, string_of(file), line);

	if (!found)
		fail_msg("%s:%d has no samples", file, line);
	return found;
}

static void assert_line(const struct run *r, const char *file, int line, const char *func,
			uint64_t self, uint64_t total)
{
	const struct annotate_line *found = line_of(r, file, line);

	assert_true(ref_is(found->func, func));
	assert_int_equal(found->self, self);
	assert_int_equal(found->total, total);
}

/* main calls f and encode; f's line 12 has three expressions, one of which is encode's call. */
static void fill(struct run *r)
{
	uint32_t main_20 = frame(r, APP, "main", 20, 4, 9);
	uint32_t main_21 = frame(r, APP, "main", 21, 4, 9);
	uint32_t f_11 = frame(r, APP, "f", 11, 4, 9), f_12a = frame(r, APP, "f", 12, 8, 12);
	uint32_t f_12b = frame(r, APP, "f", 12, 15, 30), f_12c = frame(r, APP, "f", 12, 31, 32);
	uint32_t empty = frame(r, APP, "f", 12, 0, 0), encode = frame(r, LIB, "encode", 7, 0, 5);

	sample(r, 3, f_11, main_20, END);
	sample(r, 10, f_12a, main_20, END);
	sample(r, 2, f_12c, main_20, END);
	sample(r, 1, empty, main_20, END);
	sample(r, 20, encode, f_12b, main_20, END);
	sample(r, 4, main_21, END);
	sample(r, 2, encode, END);
}

static void test_lines(void **state)
{
	const struct annotate_line *line;
	struct run r;

	begin(&r, false);
	fill(&r);
	make(&r, REPORT_SORT_SELF);
	assert_int_equal(r.a.self, 42);
	assert_int_equal(r.a.line_cnt, 5);
	assert_line(&r, APP, 11, "f", 3, 3);
	assert_line(&r, APP, 12, "f", 13, 33);
	assert_line(&r, APP, 20, "main", 0, 36);
	assert_line(&r, APP, 21, "main", 4, 4);
	assert_line(&r, LIB, 7, "encode", 22, 22);
	assert_null(annotate_find(&r.a, string_of(APP), 13));
	assert_null(annotate_find(&r.a, string_of("/other.py"), 11));
	/* The empty range is no expression. */
	line = line_of(&r, APP, 12);
	assert_int_equal(line->expression_cnt, 3);
	assert_int_equal(line->expressions[0].column, 8);
	assert_int_equal(line->expressions[0].self, 10);
	assert_int_equal(line->expressions[2].column, 15);
	assert_int_equal(line->expressions[2].total, 20);
	end(&r);
}

/* The hottest file first, then the hottest function; the hottest line is the hottest of all. */
static void test_order(void **state)
{
	struct run r;

	begin(&r, false);
	fill(&r);
	make(&r, REPORT_SORT_SELF);
	assert_int_equal(r.a.function_cnt, 3);
	assert_true(ref_is(r.a.functions[0].func, "encode"));
	assert_true(ref_is(r.a.functions[1].func, "f"));
	assert_int_equal(r.a.functions[1].self, 16);
	assert_int_equal(r.a.functions[1].total, 36);
	assert_int_equal(r.a.functions[1].file_self, 20);
	assert_int_equal(r.a.functions[1].first_line, 1);
	assert_true(ref_is(r.a.functions[2].func, "main"));
	assert_int_equal(r.a.functions[2].line_cnt, 2);
	assert_int_equal(r.a.functions[2].lines[0].line, 20);
	assert_int_equal(r.a.hottest[0]->line, 7);
	assert_int_equal(r.a.hottest[1]->line, 12);
	annotate_free(&r.a);
	assert_int_equal(annotate_make(&r.a, r.reports, REPORT_SORT_TOTAL), 0);
	assert_true(ref_is(r.a.functions[0].func, "main"));
	assert_int_equal(r.a.hottest[0]->line, 20);
	assert_int_equal(line_of(&r, APP, 12)->expressions[0].column, 15);
	end(&r);
}

/* With only the project's code, the line that calls a library has its self. */
static void test_mine(void **state)
{
	struct run r;

	begin(&r, true);
	fill(&r);
	make(&r, REPORT_SORT_SELF);
	assert_int_equal(report_sample_cnt(r.reports[0]), 42);
	assert_int_equal(r.a.self, 40);
	assert_line(&r, APP, 12, "f", 33, 33);
	assert_int_equal(line_of(&r, APP, 12)->expressions[0].column, 15);
	assert_int_equal(line_of(&r, APP, 12)->expressions[0].self, 20);
	assert_null(annotate_find(&r.a, string_of(LIB), 7));
	end(&r);
}

/* A line counts a sample once, however many functions of it and however often they are on it. */
static void test_one_line(void **state)
{
	struct run r;
	uint32_t f, g, list, sort;

	begin(&r, false);
	f = frame(&r, APP, "f", 5, 0, 30);
	g = frame(&r, APP, "f", 6, 0, 30);
	list = frame(&r, APP, "f.<locals>.<listcomp>", 5, 4, 20);
	sort = frame(&r, APP, "f.<locals>.<genexpr>.<locals>.<lambda>", 6, 4, 20);
	sample(&r, 7, list, f, END);
	sample(&r, 2, f, list, f, END);
	sample(&r, 1, sort, END);
	sample(&r, 1, g, END);
	sample(&r, 5, frame(&r, APP, "<lambda>", 9, 1, 2), END);
	make(&r, REPORT_SORT_SELF);
	assert_line(&r, APP, 5, "f", 9, 9);
	assert_line(&r, APP, 6, "f", 2, 2);
	assert_line(&r, APP, 9, "<lambda>", 5, 5);
	assert_int_equal(r.a.function_cnt, 2);
	end(&r);
}

static size_t picked(const struct run *r)
{
	size_t cnt = 0, i;

	for (i = 0; i < r->a.line_cnt; i++)
		cnt += r->a.lines[i].picked;
	return cnt;
}

static void forget(struct run *r)
{
	size_t i;

	for (i = 0; i < r->a.line_cnt; i++)
		r->a.lines[i].picked = false;
}

static void test_pick(void **state)
{
	static const struct {
		const char *name;
		size_t functions, lines;
	} names[] = {
		{ "f", 1, 2 }, { APP, 2, 4 }, { "app.py", 2, 4 }, { "encoder.py", 1, 1 },
		{ "json/encoder.py", 1, 1 }, { "p.py", 0, 0 }, { "ain", 0, 0 }, { "", 0, 0 },
	};
	struct run r;
	size_t i;

	begin(&r, false);
	fill(&r);
	make(&r, REPORT_SORT_SELF);
	annotate_pick(&r.a, 2, 1);
	assert_int_equal(picked(&r), 2);
	assert_true(line_of(&r, LIB, 7)->picked && line_of(&r, APP, 12)->picked);
	annotate_pick(&r.a, 0, 4);
	assert_int_equal(picked(&r), 3);
	annotate_pick(&r.a, 0, 0);
	assert_int_equal(picked(&r), 5);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		forget(&r);
		assert_int_equal(annotate_pick_named(&r.a, names[i].name), names[i].functions);
		assert_int_equal(picked(&r), names[i].lines);
	}
	end(&r);
}

static void test_methods(void **state)
{
	struct run r;

	begin(&r, false);
	sample(&r, 1, frame(&r, APP, "Table.total", 5, 0, 1), END);
	sample(&r, 1, frame(&r, APP, "subtotal", 7, 0, 1), END);
	make(&r, REPORT_SORT_SELF);
	assert_int_equal(annotate_pick_named(&r.a, "total"), 1);
	assert_true(line_of(&r, APP, 5)->picked && !line_of(&r, APP, 7)->picked);
	end(&r);
}

/* What is no Python code with a line is in no line. */
static void test_no_lines(void **state)
{
	struct run r;
	uint32_t gc, lost;

	begin(&r, false);
	assert_int_equal(intern_synthetic(r.in, FRAME_SYNTHETIC, "<GC>", &gc), 0);
	assert_int_equal(intern_synthetic(r.in, FRAME_SYNTHETIC, "<lost frame>", &lost), 0);
	sample(&r, 3, gc, frame(&r, APP, "f", 5, COLUMN_NONE, COLUMN_NONE), END);
	sample(&r, 2, lost, END);
	sample(&r, 1, frame(&r, APP, "f", LINE_NONE, COLUMN_NONE, COLUMN_NONE), END);
	make(&r, REPORT_SORT_SELF);
	assert_int_equal(r.a.line_cnt, 1);
	assert_int_equal(r.a.self, 3);
	assert_int_equal(line_of(&r, APP, 5)->expression_cnt, 0);
	end(&r);
	begin(&r, false);
	make(&r, REPORT_SORT_SELF);
	assert_int_equal(r.a.function_cnt, 0);
	annotate_pick(&r.a, 20, 1);
	assert_null(annotate_find(&r.a, string_of(APP), 1));
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),	  cmocka_unit_test(test_order),
		cmocka_unit_test(test_mine),	  cmocka_unit_test(test_one_line),
		cmocka_unit_test(test_pick),	  cmocka_unit_test(test_methods),
		cmocka_unit_test(test_no_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
