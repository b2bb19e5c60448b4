// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_when.c - when a process meets a condition, and when it meets it again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recording/when.h"

static struct when_list list;
static struct when_process process;

static void set_up(enum when_metric metric, double over, uint32_t seconds)
{
	list = (struct when_list){ .cnt = 1, .list = { { metric, over, seconds, "" } } };
	process = (struct when_process){ 0 };
}

static uint32_t second(enum when_metric metric, double value)
{
	struct when_facts facts = { 0 };

	facts.values[metric] = value;
	facts.known[metric] = true;
	return when_second(&list, &process, &facts);
}

static void test_for_so_long(void **state)
{
	set_up(WHEN_CPU, 90, 3);
	assert_int_equal(second(WHEN_CPU, 91), 0);
	assert_int_equal(second(WHEN_CPU, 99), 0);
	assert_int_equal(second(WHEN_CPU, 90), 0);	/* not more: it begins anew */
	assert_int_equal(second(WHEN_CPU, 91), 0);
	assert_int_equal(second(WHEN_CPU, 92), 0);
	assert_int_equal(second(WHEN_CPU, 93), 1);
}

static void test_again_only_after_it_was_false(void **state)
{
	int i;

	set_up(WHEN_GC, 20, 1);
	assert_int_equal(second(WHEN_GC, 21), 1);
	for (i = 0; i < 100; i++)
		assert_int_equal(second(WHEN_GC, 50), 0);
	assert_int_equal(second(WHEN_GC, 1), 0);
	assert_int_equal(second(WHEN_GC, 21), 1);
}

/* A process of which a second is not known did not meet the condition in it. */
static void test_unknown_is_false(void **state)
{
	struct when_facts unknown = { .values[WHEN_RSS] = 1e12 };

	set_up(WHEN_RSS, 1e9, 2);
	assert_int_equal(second(WHEN_RSS, 2e9), 0);
	assert_int_equal(when_second(&list, &process, &unknown), 0);
	assert_int_equal(second(WHEN_RSS, 2e9), 0);
	assert_int_equal(second(WHEN_RSS, 2e9), 1);
}

static void test_several(void **state)
{
	struct when_facts facts = {
		.values = { [WHEN_CPU] = 200, [WHEN_THREADS] = 300 },
		.known = { [WHEN_CPU] = true, [WHEN_THREADS] = true },
	};

	set_up(WHEN_CPU, 150, 2);
	list.list[list.cnt++] = (struct when){ WHEN_THREADS, 200, 1, "" };
	assert_int_equal(when_second(&list, &process, &facts), 2);
	assert_int_equal(when_second(&list, &process, &facts), 1);
	assert_int_equal(when_second(&list, &process, &facts), 0);
	assert_true(when_needs(&list, WHEN_THREADS));
	assert_false(when_needs(&list, WHEN_RSS));
}

static void check_text(enum when_metric metric, double over, double a, double b, const char *text)
{
	char out[WHEN_TEXT_BYTES];

	set_up(metric, over, 2);
	second(metric, a);
	assert_int_equal(second(metric, b), 1);
	assert_string_equal(when_text(&list.list[0], &process, 0, out), text);
}

static void test_text(void **state)
{
	check_text(WHEN_CPU, 90, 96, 98, "used 97 % of a CPU for 2 s");
	check_text(WHEN_GIL, 80, 90, 80.5, "held the GIL on a CPU for 85 % of the time, 2 s");
	check_text(WHEN_GC, 20, 30, 30, "spent 30 % of a CPU in garbage collections for 2 s");
	check_text(WHEN_THREADS, 200, 213, 213, "had 213 threads for 2 s");
	check_text(WHEN_RSS, 1, 3 << 20, 5 << 20, "had 4 MiB of memory for 2 s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_for_so_long),
		cmocka_unit_test(test_again_only_after_it_was_false),
		cmocka_unit_test(test_unknown_is_false),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
