// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_markdown.c - inline code of ordinary and of hostile names. A renderer reads it back in
 * tests/python/test_markdown.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/markdown.h"

static void assert_code(const char *text, size_t width, enum text_cut cut, const char *want)
{
	char *got = NULL;
	size_t len;
	FILE *out = open_memstream(&got, &len);

	assert_non_null(out);
	assert_int_equal(markdown_code(out, text, width, cut), 0);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(got, want);
	free(got);
}

static void test_plain(void **state)
{
	assert_code("__init__", 80, CUT_RIGHT, "`__init__`");
	assert_code("<b>@team *x* [a](b)\\", 80, CUT_RIGHT, "`<b>@team *x* [a](b)\\`");
	assert_code("", 80, CUT_RIGHT, "");
	assert_code("größe", 80, CUT_RIGHT, "`größe`");
}

/* What ends code or a cell. */
static void test_references(void **state)
{
	assert_code("a|b", 80, CUT_RIGHT, "<code>a&#124;b</code>");
	assert_code("`x`", 80, CUT_RIGHT, "<code>&#96;x&#96;</code>");
	assert_code("a\\|<b>", 80, CUT_RIGHT, "<code>a&#92;&#124;&#60;b&#62;</code>");
}

static void test_cut(void **state)
{
	assert_code("abcdef", 4, CUT_RIGHT, "`abc…`");
	assert_code("/srv/app.py:12", 7, CUT_LEFT, "`….py:12`");
	/* The pipe is not shown, so ordinary code will do. */
	assert_code("abcdef|", 4, CUT_RIGHT, "`abc…`");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain), cmocka_unit_test(test_references),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
