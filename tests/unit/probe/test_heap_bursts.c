// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_heap_bursts.c - how long a process is left alone, and what a block stands for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <math.h>

#include "probe/heap_bursts.h"

static void near(double found, double expected)
{
	assert_true(fabs(found - expected) < 0.001 * expected);
}

static void test_nine_times_as_long_on_average(void **state)
{
	const uint64_t steps = 1000;
	uint64_t i, gap, sum = 0;

	for (i = 0; i < steps; i++) {
		gap = heap_burst_gap_ns(BURST_NS, i * BURST_NS * BURST_GAPS / steps);
		assert_in_range(gap, BURST_NS * BURST_GAPS / 2, BURST_NS * BURST_GAPS * 3 / 2);
		sum += gap;
	}
	near((double)sum / (double)steps, BURST_NS * BURST_GAPS);
	assert_int_equal(heap_burst_gap_ns(0, 77), 0);
}

/* At full speed one of ten; a process that is slowed down does less in a burst. */
static void test_what_a_block_stands_for(void **state)
{
	near(heap_burst_weight(1), 10);
	near(heap_burst_weight(2), 10);
	near(heap_burst_weight(0.5), 19);
	assert_true(isfinite(heap_burst_weight(0)));
	assert_true(heap_burst_weight(-1) > 100);
}

static void test_the_speed_by_user_time(void **state)
{
	near(heap_burst_speed_by(0.8, 0.8, 5), 1);
	near(heap_burst_speed_by(0.07 + 0.93 * 0.4, 1, 5), 0.4);
	assert_true(heap_burst_speed_by(0.01, 1, 5) > 0);
	near(heap_burst_speed_by(1, 0.5, 5), 1);
}

/* It cannot lose more than the probes take, whatever its few ticks say. */
static void test_the_speed_by_cost(void **state)
{
	near(heap_burst_speed_by(0.1, 1, 0.1), 0.87);
	near(heap_burst_speed_by(0.1, 1, 0), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nine_times_as_long_on_average),
		cmocka_unit_test(test_what_a_block_stands_for),
		cmocka_unit_test(test_the_speed_by_user_time),
		cmocka_unit_test(test_the_speed_by_cost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
