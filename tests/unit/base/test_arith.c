// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_arith.c - sums and products at the highest number, shares of nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arith.h"

static void test_sums_stay_at_the_highest_number(void **state)
{
	assert_int_equal(add_capped(2, 3), 5);
	assert_int_equal(add_capped(UINT64_MAX - 1, 1), UINT64_MAX);
	assert_int_equal(add_capped(UINT64_MAX, 1), UINT64_MAX);
	assert_int_equal(add_capped(UINT64_MAX, UINT64_MAX), UINT64_MAX);
}

static void test_products_stay_at_the_highest_number(void **state)
{
	assert_int_equal(mul_capped(6, 7), 42);
	assert_int_equal(mul_capped(UINT64_MAX, 0), 0);
	assert_int_equal(mul_capped(UINT64_MAX, 1), UINT64_MAX);
	assert_int_equal(mul_capped(1ull << 32, 1ull << 32), UINT64_MAX);
	assert_int_equal(mul_capped(UINT32_MAX, UINT32_MAX), 0xfffffffe00000001);
}

static void test_percent(void **state)
{
	assert_true(percent(1, 4) == 25.0);
	assert_true(percent(3, 2) == 150.0);
	assert_true(percent(0, 7) == 0.0);
	assert_true(percent(7, 0) == 0.0);
	assert_true(percent(UINT64_MAX, UINT64_MAX) == 100.0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums_stay_at_the_highest_number),
		cmocka_unit_test(test_products_stay_at_the_highest_number),
		cmocka_unit_test(test_percent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
