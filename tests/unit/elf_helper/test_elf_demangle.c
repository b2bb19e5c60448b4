// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_elf_demangle.c - names of C++ and Rust functions without parameters and hashes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/util.h"
#include "elf_helper/elf_demangle.h"

static void test_names(void **state)
{
	static const char *const names[][2] = {
		{ "scanstring_unicode", "scanstring_unicode" },
		{ "scanstring_unicode.isra.0", "scanstring_unicode.isra.0" },
		{ "_PyEval_EvalFrameDefault.cold", "_PyEval_EvalFrameDefault.cold" },
		{ "_ZN2ns5Thing6methodEi", "ns::Thing::method" },
		{ "_ZNSt6vectorIiSaIiEE9push_backEOi",
		  "std::vector<int, std::allocator<int> >::push_back" },
		{ "_ZN5thing5inner5count17h0123456789abcdefE", "thing::inner::count" },
		{ "_RNvNtCs1234_5thing5inner5count", "thing::inner::count" },
		{ "_Z", "_Z" },
		{ "_ZN", "_ZN" },
		{ "_RNv", "_RNv" },
		{ "", "" },
	};
	char out[128];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(elf_demangle(names[i][0], out, sizeof(out)),
				 strlen(names[i][1]));
		assert_string_equal(out, names[i][1]);
	}
}

static void test_cut(void **state)
{
	char out[8];

	assert_int_equal(elf_demangle("1234567", out, sizeof(out)), 7);
	assert_string_equal(out, "1234567");
	assert_int_equal(elf_demangle("12345678", out, sizeof(out)), 7);
	assert_string_equal(out, "1234...");
	assert_int_equal(elf_demangle("_ZN2ns5Thing6methodEi", out, sizeof(out)), 7);
	assert_string_equal(out, "ns::...");
}

/* Each substitution doubles what it stands for. */
static void test_a_name_that_grows(void **state)
{
	static const char name[] = "_Z1fI1aS_IS0_S0_ES1_IS2_S2_ES3_IS4_S4_ES5_IS6_S6_EEvv";
	char out[64];

	assert_true(elf_demangle(name, out, sizeof(out)) < sizeof(out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_a_name_that_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
