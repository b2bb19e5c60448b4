// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Tests of remarks.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "recording/remarks.h"

#define OLD "CPython 2.7 is not supported"

/* Four workers of one program take one line of the first screen, and are kept each. */
static void test_one_line_a_program(void **state)
{
	struct remarks r = { 0 };

	assert_true(remarks_add(&r, 10, 1000, "worker", OLD));
	assert_false(remarks_add(&r, 11, 1000, "worker", OLD));
	assert_false(remarks_add(&r, 11, 1000, "worker", OLD));
	assert_true(remarks_add(&r, 12, 1000, "beat", OLD));
	assert_true(remarks_add(&r, 13, 1001, "worker", OLD));	/* nobody hides another's */
	assert_true(remarks_add(&r, 10, 1000, "worker", "its memory could not be read"));
	assert_int_equal(r.cnt, 5);
	assert_int_equal(r.list[1].tgid, 11);
	assert_int_equal(r.more, 0);
	remarks_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_line_a_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
