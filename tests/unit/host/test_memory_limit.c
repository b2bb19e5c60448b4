// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_memory_limit.c - how much a memory limit leaves, from the kernel's own words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "host/memory_limit.c"

static void test_v2(void **state)
{
	static const char stat[] = "anon 300\nfile 500\nkernel 20\ninactive_anon 7\nactive_anon 8\n"
				   "inactive_file 150\nactive_file 50\nslab 3\n";

	assert_int_equal(memory_limit_left(1000, 700, stat), 500);
	assert_int_equal(memory_limit_left(600, 700, stat), 100);
	assert_int_equal(memory_limit_left(400, 700, stat), 0);
	/* A cache that is larger than what is used: the two were read at different times. */
	assert_int_equal(memory_limit_left(1000, 100, stat), 1000);
}

static void test_v1(void **state)
{
	static const char stat[] = "cache 9\ninactive_file 1\nactive_file 1\n"
				   "total_inactive_file 150\ntotal_active_file 50\n";

	assert_int_equal(memory_limit_left(1000, 700, stat), 500);
}

static void test_no_stat(void **state)
{
	assert_int_equal(memory_limit_left(1000, 700, ""), 300);
	assert_int_equal(memory_limit_left(1000, 700, "inactive_file"), 300);
	assert_int_equal(memory_limit_left(1000, 700, "xinactive_file 5\nactive_filex 5\n"), 300);
}

/* Whatever this machine has: numbers that fit each other, or none. */
static void test_of_self(void **state)
{
	struct memory_limit l;

	if (!memory_limit_find(&l))
		return;
	assert_true(l.limit > 0 && l.left <= l.limit);
	assert_int_equal(l.path[0], '/');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_v2), cmocka_unit_test(test_v1),
		cmocka_unit_test(test_no_stat), cmocka_unit_test(test_of_self),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
