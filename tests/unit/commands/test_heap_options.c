// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_heap_options.c - command lines of tachbpf heap. */
#include "tests/unit/commands/options_test.h"

static void test_defaults(void **state)
{
	assert_int_equal(parse("heap 12 34"), 0);
	assert_int_equal(o.command, COMMAND_HEAP);
	assert_int_equal(o.heap.select.pid_cnt, 2);
	assert_false(o.heap.select.all);
	assert_int_equal(o.heap.limit, 10);
	assert_int_equal(o.heap.sort, HEAP_SORT_BYTES);
	assert_float_equal(o.heap.since_s, 0, 0);
	assert_false(o.heap.exact);
	assert_false(o.heap.json);
}

static void test_all(void **state)
{
	assert_int_equal(parse("heap -a --since 5m --sort growth --limit 0 --exact --json"), 0);
	assert_true(o.heap.select.all);
	assert_float_equal(o.heap.since_s, 300, 0);
	assert_int_equal(o.heap.sort, HEAP_SORT_GROWTH);
	assert_int_equal(o.heap.limit, 0);
	assert_true(o.heap.exact);
	assert_true(o.heap.json);
	/* A filter alone is of all processes; with PIDs it is of these. */
	assert_int_equal(parse("heap --container x"), 0);
	assert_true(o.heap.select.all);
	assert_int_equal(parse("heap 12 --container x"), 0);
	assert_false(o.heap.select.all);
	/* As the issue, and memray's users, call it. */
	assert_int_equal(parse("heap 12 --top 5"), 0);
	assert_int_equal(o.heap.limit, 5);
}

static void test_what_is_refused(void **state)
{
	static const char *const bad[] = {
		"heap", "heap x", "heap 0", "heap -a 12", "heap 12 --sort growth",
		"heap 12 --sort size", "heap 12 --since 0", "heap 12 --since 25h",
		"heap 12 --since x", "heap 12 --limit x", "heap 12 --native",
	};
	struct buf held = { 0 };
	size_t i;

	log_hold(&held);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		held.len = 0;
		if (parse(bad[i]) != -EINVAL)
			fail_msg("accepted: %s", bad[i]);
		assert_true(held.len > 0);
	}
	log_hold(NULL);
	buf_free(&held);
}

static int end(void **state)
{
	options_free(&o);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults), cmocka_unit_test(test_all),
		cmocka_unit_test(test_what_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
