// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_cpython_opcode_names.c - an instruction that every version has, under its number there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/util.h"
#include "cpython/opcode_names.h"

/* RETURN_VALUE: Include/opcode.h of v3.6.15 to v3.12.1, Include/opcode_ids.h from v3.13.0 on. */
static const uint8_t return_value[] = { 83, 83, 83, 83, 83, 83, 83, 36, 35, 33 };

static void test_each_version(void **state)
{
	uint8_t minor;
	unsigned int opcode, named;

	for (minor = 6; minor < 6 + ARRAY_SIZE(return_value); minor++) {
		assert_string_equal(opcode_name(3, minor, return_value[minor - 6]),
				    "RETURN_VALUE");
		for (opcode = named = 0; opcode < 256; opcode++)
			named += opcode_name(3, minor, (uint8_t)opcode) != NULL;
		assert_in_range(named, 100, 255);
	}
}

static void test_unknown_versions(void **state)
{
	assert_null(opcode_name(2, 7, 83));
	assert_null(opcode_name(3, 5, 83));
	assert_null(opcode_name(3, 16, 83));
	assert_null(opcode_name(0, 0, 0));
	assert_null(opcode_name(255, 255, 255));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_version),
		cmocka_unit_test(test_unknown_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
