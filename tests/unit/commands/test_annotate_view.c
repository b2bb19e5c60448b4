// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_annotate_view.c - which lines of a function are shown, and how a line looks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "commands/annotate_view.h"

#define LINES 100

/* A file of LINES lines: f is at 10 to 60, blank lines are 61, 62; g begins at 63. */
static void make_source(char *text, uint32_t *starts, struct source_pages *pages)
{
	char *p = text;
	int i;

	for (i = 1; i <= LINES; i++) {
		starts[i - 1] = p - text;
		if (i == 10 || i == 63)
			p += sprintf(p, "    def %c():\n", i == 10 ? 'f' : 'g');
		else if (i == 61 || i == 62)
			p += sprintf(p, "\n");
		else
			p += sprintf(p, "\tx = %d\n", i);
	}
	starts[LINES] = p - text;
	*pages = (struct source_pages){ .text = text, .starts = starts, .line_cnt = LINES };
}

/* Returns the view as "9 10 11 ... 20", "..." being a gap; lines: ends with 0. */
static const char *view(int32_t first_line, const int32_t *lines, bool whole, bool text)
{
	static char out[4096], source[4096];
	struct annotate_line rows[16] = { 0 };
	struct annotate_function f = { .first_line = first_line, .lines = rows };
	struct source_pages pages = { 0 };
	struct annotate_view v;
	uint32_t starts[LINES + 1];
	char *p = out;
	size_t i;

	if (text)
		make_source(source, starts, &pages);
	for (; *lines; lines++) {
		rows[f.line_cnt].picked = *lines > 0;
		rows[f.line_cnt++].line = abs(*lines);
	}
	assert_int_equal(annotate_view_make(&v, &f, &pages, whole), 0);
	*p = '\0';
	for (i = 0; i < v.cnt; i++)
		p += v.lines[i] == VIEW_GAP ? sprintf(p, "... ") : sprintf(p, "%d ", v.lines[i]);
	annotate_view_free(&v);
	return out;
}

#define VIEW(first, whole, ...)                                                                    \
	view(first, (const int32_t[]){ __VA_ARGS__, 0 }, whole, true)

static void test_context(void **state)
{
	assert_string_equal(VIEW(10, false, 20), "18 19 20 21 22 ");
	assert_string_equal(VIEW(10, false, 20, 40), "18 19 20 21 22 ... 38 39 40 41 42 ");
	/* One line that is left out takes no less room than the gap. */
	assert_string_equal(VIEW(10, false, 20, 26), "18 19 20 21 22 23 24 25 26 27 28 ");
	assert_string_equal(VIEW(10, false, 20, 21, 22), "18 19 20 21 22 23 24 ");
	/* Lines that were not picked are context at most. */
	assert_string_equal(VIEW(10, false, 20, -40), "18 19 20 21 22 ");
	assert_string_equal(VIEW(10, false, -20), "");
}

static void test_ends_of_the_function(void **state)
{
	assert_string_equal(VIEW(10, false, 11), "10 11 12 13 ");
	assert_string_equal(VIEW(10, false, 60), "58 59 60 ");
	/* Without a definition, indentation says nothing; blank lines at the end never matter. */
	assert_string_equal(VIEW(11, false, 60), "58 59 60 ");
	assert_string_equal(VIEW(11, false, 62), "60 61 62 63 64 ");
	assert_string_equal(VIEW(20, false, 20), "18 19 20 21 22 ");
	assert_string_equal(VIEW(1, false, 100), "98 99 100 ");
	assert_string_equal(VIEW(1, false, 1), "1 2 3 ");
}

static void test_whole(void **state)
{
	assert_string_equal(VIEW(10, true, 14, 18), "10 11 12 13 14 15 16 17 18 19 20 ");
	assert_string_equal(VIEW(10, true, 12, 60), "10 11 12 13 14 ... 58 59 60 ");
}

/* Lines of another file, or of none, are numbers without context. */
static void test_other_lines(void **state)
{
	assert_string_equal(VIEW(10, false, 20, 200, INT32_MAX),
			    "18 19 20 21 22 ... 200 ... 2147483647 ");
	assert_string_equal(VIEW(150, true, 200), "200 ");
	assert_string_equal(VIEW(INT32_MAX, true, 20), "18 19 20 21 22 ");
	assert_string_equal(view(10, (const int32_t[]){ 20, 40, 0 }, false, false), "20 40 ");
	assert_string_equal(view(10, (const int32_t[]){ 20, 40, 0 }, true, false), "20 40 ");
}

static void test_indent(void **state)
{
	static const uint32_t starts[] = { 0, 11, 12, 22 };
	static const struct source_pages pages = {
		.text = "\t    x = 1\n\n        y\n", .starts = starts, .line_cnt = 3,
	};
	struct annotate_line row = { .line = 2, .picked = true };
	struct annotate_function f = { .first_line = 1, .lines = &row, .line_cnt = 1 };
	struct annotate_view v;

	assert_int_equal(annotate_view_make(&v, &f, &pages, false), 0);
	assert_int_equal(v.cnt, 3);
	assert_int_equal(v.indent, 8);
	annotate_view_free(&v);
}

static void assert_text(const char *text, const char *want)
{
	char *shown = annotate_view_text(string_of(text));

	assert_string_equal(shown, want);
	free(shown);
}

static void test_text(void **state)
{
	char *text = malloc(10000), *shown;

	assert_text("", "");
	assert_text("\tx\ty", "        x       y");
	assert_text("ab\tc", "ab      c");
	assert_text("\xc3\xa9\tc", "\xc3\xa9       c");
	assert_text("\x1b[31m", "\\x1b[31m");
	memset(text, 'x', 10000);
	shown = annotate_view_text((struct string_ref){ text, 10000 });
	assert_int_equal(strlen(shown), 4096);
	free(shown);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_context),	   cmocka_unit_test(test_ends_of_the_function),
		cmocka_unit_test(test_whole),	   cmocka_unit_test(test_other_lines),
		cmocka_unit_test(test_indent),	   cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
