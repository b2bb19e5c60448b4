// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_held_series.c - bytes held over time: steps, their limit, hostile times and sizes. */
#include "model/held_series.h"
#include "tests/unit/tach_test.h"

static void test_steps_have_the_highest_value(void **state)
{
	struct held_series s = { .start_us = 1000, .width_us = 10 };

	(void)state;
	held_series_change(&s, 1000, 100, true);
	held_series_change(&s, 1005, 50, true);
	held_series_change(&s, 1009, 150, false);
	held_series_change(&s, 1030, 7, true);
	held_series_until(&s, 1049);
	assert_int_equal(s.cnt, 5);
	assert_int_equal(s.most[0], 150);
	assert_int_equal(s.most[1], 0);
	assert_int_equal(s.most[2], 0);
	assert_int_equal(s.most[3], 7);
	assert_int_equal(s.most[4], 7);
}

static void test_their_number_is_bounded(void **state)
{
	struct held_series s = { .start_us = 0, .width_us = 1 };
	uint64_t t;

	(void)state;
	for (t = 0; t < 100000; t++)
		held_series_change(&s, t, t / 2 == 77778 / 2 ? 1000000 : 1, t != 77779);
	assert_int_equal(s.width_us, 256);
	assert_int_equal(s.cnt, 100000 / 256 + 1);
	assert_int_equal(s.most[77778 / 256], 1077778);
	assert_int_equal(s.most[0], 256);
	assert_int_equal(s.most[s.cnt - 1], s.now);
}

static void test_hostile_times_and_sizes(void **state)
{
	struct held_series s = { .start_us = 500, .width_us = 1000 };

	(void)state;
	held_series_change(&s, 3, 10, true);
	held_series_change(&s, 600, 11, false);
	assert_int_equal(s.now, 0);
	held_series_change(&s, UINT64_MAX, UINT64_MAX, true);
	held_series_change(&s, UINT64_MAX, UINT64_MAX, true);
	assert_true(s.now == UINT64_MAX && s.cnt <= HELD_STEPS_MAX);
	assert_true(s.most[s.cnt - 1] == UINT64_MAX && s.most[0] == 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps_have_the_highest_value),
		cmocka_unit_test(test_their_number_is_bounded),
		cmocka_unit_test(test_hostile_times_and_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
