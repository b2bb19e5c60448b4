// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_unwind_rows.c - functions in any order, with gaps, over one another; their index. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "elf/unwind_file.h"
#include "elf/unwind_rows.h"

/* Rules of the tests are any numbers but UNWIND_NO_ROW. */
enum { NO = UNWIND_NO_ROW };

static struct unwind_rows rows;
static struct unwind_row *list;
static uint32_t list_cnt, list_bytes;

static int end(void **state)
{
	unwind_rows_free(&rows);
	free(list);
	list = NULL;
	return 0;
}

/* A function with a row at its start and one 4 bytes later. */
static void add(uint32_t start, uint32_t bytes, uint32_t rule, uint32_t second)
{
	assert_int_equal(unwind_rows_begin(&rows, start, start + bytes), 0);
	assert_int_equal(unwind_rows_add(&rows, start, rule), 0);
	assert_int_equal(unwind_rows_add(&rows, start + 4, second), 0);
}

static void make_list(void)
{
	assert_int_equal(unwind_rows_list(&rows, &list, &list_cnt, &list_bytes), 0);
}

static void assert_list(const struct unwind_row *want, size_t cnt)
{
	make_list();
	assert_int_equal(list_cnt, cnt);
	assert_memory_equal(list, want, cnt * sizeof(*want));
}

#define ASSERT_LIST(...) assert_list((const struct unwind_row[]){ __VA_ARGS__ }, \
	sizeof((const struct unwind_row[]){ __VA_ARGS__ }) / sizeof(struct unwind_row))

static void no_function(void **state)
{
	assert_int_equal(unwind_rows_list(&rows, &list, &list_cnt, &list_bytes), -ENOENT);
}

static void sorted_with_gaps(void **state)
{
	add(200, 50, 1, 2);
	add(100, 50, 3, 4);
	ASSERT_LIST({ 0, NO }, { 100, 3 }, { 104, 4 }, { 150, NO }, { 200, 1 }, { 204, 2 });
	assert_int_equal(list_bytes, 250);
}

static void equal_neighbours_are_one(void **state)
{
	add(0, 50, 1, 1);
	add(50, 50, 1, 2);
	add(100, 50, 2, 3);
	ASSERT_LIST({ 0, 1 }, { 54, 2 }, { 104, 3 });
}

static void padding_continues_equal_rules_only(void **state)
{
	add(0, 50, 1, 2);
	add(65, 50, 2, 3);	/* 15 bytes, and the same rule */
	add(116, 10, 4, 2);	/* another rule */
	add(142, 10, 2, 3);	/* 16 bytes */
	ASSERT_LIST({ 0, 1 }, { 4, 2 }, { 69, 3 }, { 115, NO }, { 116, 4 }, { 120, 2 },
		    { 126, NO }, { 142, 2 }, { 146, 3 });
}

static void of_two_that_overlap_the_later_start_counts(void **state)
{
	add(0, 100, 1, 2);
	add(50, 100, 3, 4);
	ASSERT_LIST({ 0, 1 }, { 4, 2 }, { 50, 3 }, { 54, 4 });
	assert_int_equal(list_bytes, 150);
}

static void one_within_another(void **state)
{
	add(0, 100, 1, 2);
	add(20, 10, 3, 4);
	ASSERT_LIST({ 0, 1 }, { 4, 2 }, { 20, 3 }, { 24, 4 });
	assert_int_equal(list_bytes, 30);
}

static void of_one_start_the_first_counts(void **state)
{
	add(8, 10, 1, 2);
	add(0, 100, 3, 4);
	add(8, 50, 5, 6);
	ASSERT_LIST({ 0, 3 }, { 4, 4 }, { 8, 1 }, { 12, 2 });
	assert_int_equal(list_bytes, 18);
}

static void the_last_row_of_an_address_counts(void **state)
{
	add(0, 100, 1, 2);
	assert_int_equal(unwind_rows_add(&rows, 4, 3), 0);
	assert_int_equal(unwind_rows_add(&rows, 9, 4), 0);
	ASSERT_LIST({ 0, 1 }, { 4, 3 }, { 9, 4 });
}

static void one_can_be_forgotten(void **state)
{
	add(0, 100, 1, 2);
	add(100, 100, 3, 4);
	unwind_rows_undo(&rows);
	add(100, 100, 5, 6);
	ASSERT_LIST({ 0, 1 }, { 4, 2 }, { 100, 5 }, { 104, 6 });
}

/* Starts that differ in each byte; of equal ones the first comes first. */
static void any_order(void **state)
{
	uint32_t x = 1, i;

	for (i = 0; i < 2000; i++) {
		x = x * 1664525 + 1013904223;
		add(x >> (x >> 8) % 24, 1 + i, 1, 2);
	}
	assert_int_equal(unwind_rows_sort(&rows), 0);
	for (i = 1; i < 2000; i++) {
		assert_true(rows.functions[i - 1].start <= rows.functions[i].start);
		assert_true(rows.functions[i - 1].start < rows.functions[i].start ||
			    rows.functions[i - 1].first < rows.functions[i].first);
	}
}

static void covered(void **state)
{
	add(100, 50, 1, 2);
	add(300, 50, 1, 2);
	add(200, 50, 1, 2);
	assert_false(unwind_rows_covered(&rows, 100, 150));	/* not sorted yet */
	assert_int_equal(unwind_rows_sort(&rows), 0);
	assert_true(unwind_rows_covered(&rows, 149, 150));
	assert_true(unwind_rows_covered(&rows, 0, 101));
	assert_true(unwind_rows_covered(&rows, 90, 1000));
	assert_true(unwind_rows_covered(&rows, 249, 260));
	assert_false(unwind_rows_covered(&rows, 0, 100));
	assert_false(unwind_rows_covered(&rows, 150, 200));
	assert_false(unwind_rows_covered(&rows, 350, 400));
}

static void too_many_rows(void **state)
{
	uint32_t i;

	assert_int_equal(unwind_rows_begin(&rows, 0, UINT32_MAX), 0);
	for (i = 0; i < UNWIND_ROWS_MAX; i++)
		if (unwind_rows_add(&rows, i, 1 + i % 2))
			fail();
	assert_int_equal(unwind_rows_add(&rows, i, 7), -EFBIG);
}

/* Each address is found between its two entries of the index. */
static void the_index_finds_each_row(void **state)
{
	uint32_t shift, cnt, addr, row = 0, *index, i;

	for (i = 0; i < 3000; i++)	/* many in some places, few in others */
		add(i * 16 + i / 100 * 5000, 12 + i % 5, 1 + i % 7, 8 + i % 3);
	make_list();
	shift = unwind_index_shift(list_bytes, list_cnt);
	cnt = unwind_index_cnt(list_bytes, shift);
	assert_in_range(cnt, list_cnt / UNWIND_INDEX_ROWS / 2, list_cnt / UNWIND_INDEX_ROWS + 2);
	index = calloc(cnt, sizeof(*index));
	assert_non_null(index);
	unwind_index_fill(index, list_bytes, shift, list, list_cnt);
	for (addr = 0; addr < list_bytes; addr++) {
		while (row + 1 < list_cnt && list[row + 1].addr <= addr)
			row++;
		if (index[addr >> shift] > row || index[(addr >> shift) + 1] < row)
			fail_msg("address %u, row %u", addr, row);
	}
	assert_int_equal(index[cnt - 1], list_cnt - 1);
	free(index);
}

static void the_smallest_and_the_largest_index(void **state)
{
	const struct unwind_row one = { 0, 1 };
	uint32_t index[2] = { 7, 7 };

	assert_int_equal(unwind_index_cnt(1, unwind_index_shift(1, 1)), 2);
	unwind_index_fill(index, 1, unwind_index_shift(1, 1), &one, 1);
	assert_int_equal(index[0] | index[1], 0);
	assert_int_equal(unwind_index_shift(UINT32_MAX, 1), UNWIND_SHIFT_MAX);
	assert_int_equal(unwind_index_cnt(UINT32_MAX, UNWIND_SHIFT_MAX), 3);
	assert_int_equal(unwind_index_cnt(UINT32_MAX, 0), 1ull << 32);
	assert_true(unwind_index_shift(UINT32_MAX, UNWIND_ROWS_MAX) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(no_function, end),
		cmocka_unit_test_teardown(sorted_with_gaps, end),
		cmocka_unit_test_teardown(equal_neighbours_are_one, end),
		cmocka_unit_test_teardown(padding_continues_equal_rules_only, end),
		cmocka_unit_test_teardown(of_two_that_overlap_the_later_start_counts, end),
		cmocka_unit_test_teardown(one_within_another, end),
		cmocka_unit_test_teardown(of_one_start_the_first_counts, end),
		cmocka_unit_test_teardown(the_last_row_of_an_address_counts, end),
		cmocka_unit_test_teardown(one_can_be_forgotten, end),
		cmocka_unit_test_teardown(any_order, end),
		cmocka_unit_test_teardown(covered, end),
		cmocka_unit_test_teardown(too_many_rows, end),
		cmocka_unit_test_teardown(the_index_finds_each_row, end),
		cmocka_unit_test_teardown(the_smallest_and_the_largest_index, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
