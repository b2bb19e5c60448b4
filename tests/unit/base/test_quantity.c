// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_quantity.c - numbers with units, good and bad. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/settings.h"
#include "base/util.h"

static const struct quantity_unit times[] = { { "s", 1 }, { "", 1 }, { "ms", 1e-3 }, { "m", 60 },
					      { 0 } };

static void test_good(void **state)
{
	static const struct {
		const char *text;
		double value;
	} good[] = {
		{ "0", 0 }, { "15", 15 }, { "15s", 15 }, { "1.5m", 90 }, { ".5S", 0.5 },
		{ "500ms", 0.5 }, { "007", 7 },
	};
	double value;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(quantity_parse(good[i].text, times, &value), 0);
		assert_true(value == good[i].value);
	}
}

static void test_bad(void **state)
{
	static const char *const bad[] = { "", "s", "-1", "+1", " 1", "1 s", "1h", "1e3", "0x1",
					   "inf", "nan", ".", "1..2", "1ss",
					   "1234567890123456789012345678901234567890" };
	double value;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_not_equal(quantity_parse(bad[i], times, &value), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
