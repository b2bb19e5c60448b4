// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_cpython_lines.c - code_position() against what each interpreter says itself.
 *
 * Golden files: tests/golden/make_lines.py. Where the interpreter has no line, the
 * rule of code.h applies: the line before, without columns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cpython/code.h"
#include "model/event.h"

/* A number, or -1 for "-"; steps over it and one separator. */
static int32_t take_cell(char **s)
{
	int32_t v = -1;

	if (**s == '-' && (*s)[1] != '0' && ((*s)[1] < '1' || (*s)[1] > '9'))
		(*s)++;
	else
		v = strtol(*s, s, 10);
	if (**s)
		(*s)++;
	return v;
}

static void parse_code(char *line, struct code_object *code)
{
	unsigned int minor, byte;
	int n, skipped;

	memset(code, 0, sizeof(*code));
	assert_int_equal(sscanf(line, "code %u %d %n", &minor, &code->firstlineno, &skipped), 2);
	code->minor = minor;
	line += skipped;
	code->linetable = malloc(strlen(line) / 2 + 1);
	while (sscanf(line, "%2x%n", &byte, &n) == 1 && n == 2) {
		code->linetable[code->linetable_len++] = byte;
		line += 2;
	}
}

static unsigned int check_positions(const struct code_object *code, char *answers)
{
	int32_t last = code->firstlineno;
	unsigned int unit = 0;
	char *s = answers;

	while (*s && *s != '\n') {
		long count = strtol(s, &s, 10);
		struct code_position want, got;

		s++;
		want.line = take_cell(&s);
		want.end_line = take_cell(&s);
		want.column = take_cell(&s);
		want.end_column = take_cell(&s);
		if (want.line < 1)
			want = (struct code_position){ last, last, COLUMN_NONE, COLUMN_NONE };
		last = want.line;
		while (count--) {
			code_position(code, unit++ * 2, &got);
			assert_int_equal(got.line, want.line);
			assert_int_equal(got.end_line, want.end_line);
			assert_int_equal(got.column, want.column);
			assert_int_equal(got.end_column, want.end_column);
		}
	}
	return unit;
}

static void check_golden(unsigned int minor)
{
	size_t code_size = 0, answers_size = 0;
	char path[512], *line = NULL, *answers = NULL;
	unsigned int codes = 0, units = 0;
	struct code_object code;
	FILE *f;

	snprintf(path, sizeof(path), "%s/lines_3.%u.txt", GOLDEN_DIR, minor);
	f = fopen(path, "r");
	assert_non_null(f);
	while (getline(&line, &code_size, f) > 0) {
		if (*line == '#')
			continue;
		assert_true(getline(&answers, &answers_size, f) > 0);
		parse_code(line, &code);
		assert_int_equal(code.minor, minor);
		units += check_positions(&code, answers);
		code_free(&code);
		codes++;
	}
	print_message("3.%u: %u code objects, %u instructions\n", minor, codes, units);
	assert_true(codes > 20);
	free(line);
	free(answers);
	fclose(f);
}

static void test_golden(void **state)
{
	unsigned int minor;

	for (minor = 6; minor <= 15; minor++)
		check_golden(minor);
}

static uint8_t dialect = 11;

static void expect(const void *table, size_t len, int32_t first, uint32_t lasti, int32_t line,
		   int32_t end_line, int32_t column, int32_t end_column)
{
	struct code_object code = { .firstlineno = first, .linetable_len = len, .minor = dialect };
	struct code_position p;

	/* malloc'ed and exact, so that a sanitizer sees a step too far. */
	code.linetable = malloc(len ? len : 1);
	memcpy(code.linetable, table, len);
	code_position(&code, lasti, &p);
	free(code.linetable);
	assert_int_equal(p.line, line);
	assert_int_equal(p.end_line, end_line);
	assert_int_equal(p.column, column);
	assert_int_equal(p.end_column, end_column);
}

#define NONE COLUMN_NONE

static void test_outside_the_table(void **state)
{
	static const uint8_t one_unit[] = { 0x80, 0x21 };	/* columns 2..3 */

	expect(one_unit, 2, 7, 0, 7, 7, 2, 3);
	expect(one_unit, 2, 7, 1, 7, 7, 2, 3);
	expect(one_unit, 2, 7, 2, 7, 7, NONE, NONE);
	expect(one_unit, 2, 7, 0xfffffffe, 7, 7, NONE, NONE);
	expect(one_unit, 2, 7, 0xffffffff, 7, 7, NONE, NONE);
	expect("", 0, 7, 0, 7, 7, NONE, NONE);
	expect("", 0, 0, 0, LINE_NONE, LINE_NONE, NONE, NONE);
	expect("", 0, -5, 0, LINE_NONE, LINE_NONE, NONE, NONE);
}

/* Entry kinds by hand; the kinds' numbers are in bits 3 to 6. */
static void test_kinds(void **state)
{
	static const uint8_t no_columns[] = { 0x80 | 13 << 3, 0x04 };		/* line +2 */
	static const uint8_t back[] = { 0x80 | 13 << 3, 0x05 };			/* line -2 */
	static const uint8_t one_line[] = { 0x80 | 12 << 3, 200, 250 };		/* line +2 */
	static const uint8_t none_then[] = { 0x80 | 11 << 3, 1, 2, 0x80 | 15 << 3 };
	static const uint8_t long_one[] = { 0x80 | 14 << 3, 0x42, 0x01, 3, 5, 0 };

	expect(no_columns, sizeof(no_columns), 10, 0, 12, 12, NONE, NONE);
	expect(back, sizeof(back), 10, 0, 8, 8, NONE, NONE);
	expect(back, sizeof(back), 2, 0, 2, 2, NONE, NONE);	/* line 0 is no line */
	expect(one_line, sizeof(one_line), 10, 0, 12, 12, 200, 250);
	expect(none_then, sizeof(none_then), 10, 0, 11, 11, 1, 2);
	expect(none_then, sizeof(none_then), 10, 2, 11, 11, NONE, NONE);
	/* svarint 2 + 64 → +33, end +3, column 4, no end column: then no column either */
	expect(long_one, sizeof(long_one), 10, 0, 43, 46, NONE, NONE);
}

static void test_damaged(void **state)
{
	static const uint8_t no_mark[] = { 0x80, 0x21, 0x00, 0x80, 0x21 };
	static const uint8_t cut_long[] = { 0x80 | 14 << 3, 0x7f };
	static const uint8_t endless[] = { 0x80 | 13 << 3, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f,
					   0x7f, 0x7f };
	struct code_position p;
	struct code_object code = { .firstlineno = 3 };

	expect(no_mark, sizeof(no_mark), 3, 2, 3, 3, NONE, NONE);
	code.linetable = (uint8_t *)cut_long;
	code.linetable_len = sizeof(cut_long);
	code_position(&code, 0, &p);
	code.linetable = (uint8_t *)endless;
	code.linetable_len = sizeof(endless);
	code_position(&code, 0, &p);
	assert_true(p.line >= 1 || p.line == LINE_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_outside_the_table),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
