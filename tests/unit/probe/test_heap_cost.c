// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_heap_cost.c - what probes cost, when the verdict is clear, and the functions probed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/time.h"
#include "probe/heap_cost.h"
#include "probe/heap_functions.c"


static const struct heap_prices prices = { .enter_us = 2, .return_us = 3, .walk_us = 5 };

static enum heap_verdict judge_count(uint64_t entries, uint64_t ns, bool again)
{
	const struct heap_counts counts = { .entries = entries };
	struct heap_cost cost = heap_cost(&counts, ns, &prices);

	return heap_judge(&cost, ns, again);
}

static enum heap_verdict judge(uint64_t entries, uint64_t ns)
{
	return judge_count(entries, ns, true);
}

static void test_cost(void **state)
{
	const struct heap_counts counts = { .entries = 2000, .returns = 1000, .kept = 100 };
	struct heap_cost cost = heap_cost(&counts, NS_PER_S / 2, &prices);

	/* 4000 + 3000 + 500 µs in half a second */
	assert_true(fabs(cost.calls_per_s - 4000) < 1e-6);
	assert_true(fabs(cost.us_a_call - 3.75) < 1e-9);
	assert_true(fabs(cost.cpu - 0.015) < 1e-9);
}

static void test_no_call_costs_nothing(void **state)
{
	const struct heap_counts none = { 0 }, some = { .entries = 5 };

	assert_true(heap_cost(&none, NS_PER_S, &prices).cpu == 0);
	assert_true(heap_cost(&some, 0, &prices).cpu == 0);
	assert_int_equal(judge(0, NS_PER_S), HEAP_CHEAP);
	assert_int_equal(judge(0, NS_PER_S - 1), HEAP_COUNT_ON);
}

/* 2 µs each: 50,000 calls are a tenth of a second. */
static void test_verdicts(void **state)
{
	assert_int_equal(judge(49000, NS_PER_S), HEAP_CHEAP);
	assert_int_equal(judge(51000, NS_PER_S), HEAP_COSTLY);
	/* Late is no reason: the share counts. */
	assert_int_equal(judge(60000, 2 * NS_PER_S), HEAP_COSTLY);
	assert_int_equal(judge(49000, 3 * NS_PER_S), HEAP_CHEAP);
}

/* Before the end, only what no quiet rest could make cheap. */
static void test_a_burst_is_no_verdict(void **state)
{
	assert_int_equal(judge(49000, NS_PER_S / 10), HEAP_COUNT_ON);
	assert_int_equal(judge(51000, NS_PER_S / 10), HEAP_COSTLY);
}

/* A program that starts calls malloc() often; then it does not. */
static void test_too_much_is_counted_again(void **state)
{
	assert_int_equal(judge_count(51000, NS_PER_S / 10, false), HEAP_COUNT_AGAIN);
	assert_int_equal(judge_count(60000, 2 * NS_PER_S, false), HEAP_COUNT_AGAIN);
	assert_int_equal(judge_count(49000, NS_PER_S / 10, false), HEAP_COUNT_ON);
	assert_int_equal(judge_count(49000, NS_PER_S, false), HEAP_CHEAP);
}

static void test_text(void **state)
{
	struct heap_cost cost = { .calls_per_s = 12000, .us_a_call = 7.1, .cpu = 0.0852 };
	char text[96];

	heap_cost_text(&cost, text, sizeof(text));
	assert_string_equal(text, "12,000 calls/s × 7.1 µs = 8.5 % of a CPU");
	cost.calls_per_s = 1234567.6;
	heap_cost_text(&cost, text, sizeof(text));
	assert_string_equal(text, "1,234,568 calls/s × 7.1 µs = 8.5 % of a CPU");
	cost.calls_per_s = 999.4;
	heap_cost_text(&cost, text, sizeof(text));
	assert_string_equal(text, "999 calls/s × 7.1 µs = 8.5 % of a CPU");
	heap_cost_text(&cost, text, 8);
	assert_string_equal(text, "999 cal");
}

/* ---- functions ---- */

static void test_names(void **state)
{
	unsigned int i, k;

	assert_string_equal(heap_functions[0].name, "malloc");
	assert_string_equal(heap_functions[1].name, "free");
	for (i = 0; i < HEAP_FUNCTION_CNT; i++) {
		assert_non_null(heap_functions[i].name);
		assert_true(heap_functions[i].shape < HEAP_SHAPE_CNT);
		for (k = 0; k < i; k++)
			assert_string_not_equal(heap_functions[i].name, heap_functions[k].name);
	}
}

/* operator new returns a block, operator delete takes one. */
static void test_cpp_names(void **state)
{
	unsigned int i;

	for (i = 0; i < HEAP_FUNCTION_CNT; i++) {
		if (!strncmp(heap_functions[i].name, "_Zn", 3))
			assert_int_equal(heap_functions[i].shape, HEAP_MALLOC);
		if (!strncmp(heap_functions[i].name, "_Zd", 3))
			assert_int_equal(heap_functions[i].shape, HEAP_FREE);
	}
}

static void test_returns(void **state)
{
	enum heap_shape shape;

	for (shape = 0; shape < HEAP_SHAPE_CNT; shape++)
		assert_int_equal(heap_shape_returns(shape),
				 shape != HEAP_FREE && shape != HEAP_MUNMAP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cost),
		cmocka_unit_test(test_no_call_costs_nothing),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_a_burst_is_no_verdict),
		cmocka_unit_test(test_too_much_is_counted_again),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_cpp_names),
		cmocka_unit_test(test_returns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
