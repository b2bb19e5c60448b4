// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_fault_period.c - the periods of the events of page faults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "capture/capture_faults.c"

#define PAGE 4096u

static void test_each_fault(void **state)
{
	assert_int_equal(fault_period(PAGE, PAGE, 12345), 1);
	assert_int_equal(fault_period(2 * PAGE - 1, PAGE, 3), 1);
	assert_int_equal(fault_period(65536, 65536, 4), 1);	/* arm64 with large pages */
}

/* All are near the mean, and several. */
static void test_periods(void **state)
{
	static const uint64_t every[] = { 2 * PAGE, 3 * PAGE, 65536, 1 << 20, 1ull << 40, ~0ull };
	uint32_t period, low, high;
	uint64_t random;
	size_t i;

	for (i = 0; i < sizeof(every) / sizeof(every[0]); i++) {
		double pages = every[i] / PAGE < 1u << 28 ? every[i] / PAGE : 1u << 28;

		low = UINT32_MAX;
		high = 0;
		for (random = 0; random < 1000; random++) {
			period = fault_period(every[i], PAGE, random);
			assert_true(period >= 0.75 * pages - 1 && period <= 1.25 * pages + 1);
			low = period < low ? period : low;
			high = period > high ? period : high;
		}
		assert_true(low >= 1 && low + 2 <= high);
	}
}

/* One fault in `every` is chosen, or somewhat more. */
static void test_rate(void **state)
{
	static const struct {
		uint64_t pages;
		double most;
	} rates[] = { { 2, 1.23 }, { 4, 1.05 }, { 16, 1.03 }, { 256, 1.03 } };
	uint64_t random, faults = 100000;
	double chosen;
	size_t i;

	for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		chosen = 0;
		for (random = 0; random < faults; random++)
			chosen += 1.0 / fault_period(rates[i].pages * PAGE, PAGE, random);
		chosen *= (double)rates[i].pages / (double)faults;
		assert_true(chosen > 1 && chosen < rates[i].most);
	}
}

static void test_turns(void **state)
{
	assert_int_equal(fault_turn_ns(1), 100000000);
	assert_int_equal(fault_turn_ns(2), 50000000);
	assert_int_equal(fault_turn_ns(512), 10000000);
	assert_int_equal(fault_turn_ns(0), 100000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_fault),
		cmocka_unit_test(test_periods),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
