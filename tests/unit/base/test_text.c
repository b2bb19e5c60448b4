// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_text.c - cells of a table: padding, cutting, what stands behind them; widths count
 * characters, not bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/text.h"

static void assert_cell(struct text_column column, const char *text, bool more, const char *want)
{
	char *got = NULL;
	size_t len;
	FILE *out = open_memstream(&got, &len);

	assert_non_null(out);
	text_cell(out, &column, text, more);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(got, want);
	free(got);
}

static void assert_wrapped(const char *text, size_t indent, size_t width, const char *want)
{
	char *got = NULL;
	size_t len;
	FILE *out = open_memstream(&got, &len);

	assert_non_null(out);
	text_wrap(out, text, indent, width);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(got, want);
	free(got);
}

static void test_wrap(void **state)
{
	assert_wrapped("one two three", 2, 9, "one two\n  three\n");
	assert_wrapped("one two\nthree", 0, 20, "one two three\n");
	assert_wrapped("one", 2, 9, "one\n");
	assert_wrapped("", 2, 9, "\n");
	assert_wrapped("a-word-that-is-too-long and more", 2, 9,
		       "a-word-that-is-too-long\n  and\n  more\n");
	/* Columns are characters; at no width the text is as it was. */
	assert_wrapped("n\xc3\xa4\xc3\xafv ab", 0, 7, "n\xc3\xa4\xc3\xafv ab\n");
	assert_wrapped("two  blanks", 5, 0, "two  blanks\n");
}

static void test_plural(void **state)
{
	assert_string_equal(text_plural(0, "process", "processes"), "processes");
	assert_string_equal(text_plural(1, "process", "processes"), "process");
	assert_string_equal(text_plural(2, "process", "processes"), "processes");
	assert_string_equal(text_plural(UINT64_MAX, "is", "are"), "are");
}

static void test_left(void **state)
{
	const struct text_column c = { .width = 5, .cut = CUT_RIGHT };

	assert_cell(c, "ab", true, "ab     ");
	assert_cell(c, "ab", false, "ab");
	assert_cell(c, "abcde", true, "abcde  ");
	assert_cell(c, "abcdef", true, "abcd…  ");
	assert_cell(c, "n\xc3\xa4\xc3\xafv", true, "n\xc3\xa4\xc3\xafv   ");
}

static void test_right(void **state)
{
	const struct text_column c = { .width = 5, .cut = CUT_LEFT, .right = true };

	assert_cell(c, "12", true, "   12  ");
	assert_cell(c, "12", false, "   12");
	assert_cell(c, "123456", true, "…3456  ");
}

static void test_spill(void **state)
{
	const struct text_column c = { .width = 5, .cut = CUT_RIGHT, .spill = true };

	assert_cell(c, "abcdefg", true, "abcdefg  ");
	assert_cell(c, "ab", true, "ab     ");
}

static void test_any_width(void **state)
{
	const struct text_column c = { .cut = CUT_LEFT };

	assert_cell(c, "abcdefg", true, "abcdefg  ");
	assert_cell(c, "", false, "");
}

static void test_widest(void **state)
{
	assert_int_equal(text_widest(3, "\xe2\x82\xac\xe2\x82\xac"), 3);
	assert_int_equal(text_widest(3, "abcd"), 4);
	assert_int_equal(text_widest(0, ""), 0);
}

static void put_words(const void *ctx, FILE *out)
{
	fprintf(out, "%s and %s", (const char *)ctx, "more");
}

static void test_wrap_written(void **state)
{
	char *got = NULL;
	size_t len;
	FILE *out = open_memstream(&got, &len);

	assert_non_null(out);
	assert_int_equal(text_wrap_written(out, put_words, "one", 7), 0);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(got, "one and\nmore\n");
	free(got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrap), cmocka_unit_test(test_wrap_written),
		cmocka_unit_test(test_plural),
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_spill), cmocka_unit_test(test_any_width),
		cmocka_unit_test(test_widest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
