// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_shared_text.c - the same texts, one after the other, are one. */
#include "base/shared_text.h"
#include "tests/unit/tach_test.h"

static void test_the_same_one_after_the_other(void **state)
{
	char text[] = "python3 server.py";
	const char *a = shared_text_get(text), *b = shared_text_get("python3 server.py"), *other;

	assert_ptr_not_equal(a, text);
	assert_string_equal(a, text);
	assert_ptr_equal(a, b);
	other = shared_text_get("python3 client.py");
	assert_string_equal(other, "python3 client.py");
	assert_string_equal(a, text);
	/* Only the last one is compared with. */
	b = shared_text_get(text);
	assert_ptr_not_equal(a, b);
	assert_string_equal(b, text);
	shared_text_drop(b);
	shared_text_drop(a);
	assert_string_equal(a, text);	/* it is held twice */
	shared_text_drop(a);
	shared_text_drop(other);
	shared_text_drop(NULL);
}

/* What nobody holds any more is not given to the next one. */
static void test_dropped(void **state)
{
	const char *a;
	int i;

	for (i = 0; i < 3; i++) {
		a = shared_text_get("");
		assert_string_equal(a, "");
		shared_text_drop(a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_same_one_after_the_other),
		cmocka_unit_test(test_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
