// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_start.c - what start_over() gives back comes again, and what was written stays. */
#include <stdlib.h>
#include <string.h>

#include "base/start.h"
#include "tests/unit/tach_test.h"

static const char constant[] = "read only";
static int written = 5;
/* The dynamic linker writes these addresses into pages that are then read-only. */
static const char *const relocated[] = { constant, "another" };

static int order(const void *a, const void *b)
{
	return *(const char *)a - *(const char *)b;
}

static void test_start_over(void **state)
{
	char text[] = "cab", *kept = strdup("kept"), *freed = malloc(1 << 20);
	int i;

	written++;
	memset(freed, 1, 1 << 20);
	free(freed);
	for (i = 0; i < 2; i++) {
		start_over();
		assert_string_equal(relocated[0], "read only");
		assert_string_equal(relocated[1], "another");
		assert_int_equal(written, 6);
		assert_string_equal(kept, "kept");
		qsort(text, 3, 1, order);
		assert_string_equal(text, "abc");
	}
	free(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_start_over) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
