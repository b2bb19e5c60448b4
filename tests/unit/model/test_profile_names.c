// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_profile_names.c - every number has its word, no other number has one, and what
 * --status takes are the words of all status bits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/abi.h"
#include "model/profile_names.h"

static void test_modes(void **state)
{
	assert_string_equal(profile_mode_name(MODE_WALL), "wall");
	assert_string_equal(profile_mode_name(MODE_EXCEPTION), "exception");
	assert_true(profile_mode_known(MODE_EXCEPTION));
	assert_string_equal(profile_mode_name(MODE_UNKNOWN), "unknown");
	assert_false(profile_mode_known(MODE_UNKNOWN));
	assert_string_equal(profile_mode_name((enum profile_mode)5), "unknown");
	assert_false(profile_mode_known((enum profile_mode)5));
}

static void test_units_and_layouts(void **state)
{
	assert_string_equal(profile_unit_name(UNIT_SAMPLES), "samples");
	assert_string_equal(profile_unit_name(UNIT_NANOSECONDS), "nanoseconds");
	assert_string_equal(profile_unit_name((enum profile_unit)3), "unknown");
	assert_string_equal(profile_unit_of(0, UNIT_BYTES), "bytes");
	assert_string_equal(profile_unit_of(1, UNIT_BYTES), "byte");
	assert_string_equal(profile_unit_of(2, UNIT_SAMPLES), "samples");
	assert_string_equal(profile_unit_of(1, (enum profile_unit)3), "unknown");
	assert_string_equal(profile_layout_name(LAYOUT_DRAFT2), "draft2");
	assert_string_equal(profile_layout_name((enum profile_layout)77), "unknown");
}

static void test_status_bits_as_text(void **state)
{
	char text[PROFILE_STATUS_BYTES];

	assert_string_equal(profile_status_text(0, text), "none");
	assert_string_equal(profile_status_text(STATUS_ON_CPU | STATUS_HAS_GIL, text),
			    "gil+on-cpu");
	assert_string_equal(profile_status_text(0xff, text),
			    "gil+on-cpu+cpu-unknown+gil-requested+exception+main");
}

static void test_each_word_is_one_bit(void **state)
{
	static const char *const words[] = { "gil", "on-cpu", "unknown", "gil-requested",
					     "exception", "main" };
	uint8_t bit, all = 0;
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		assert_true(profile_status_parse(words[i], strlen(words[i]), &bit));
		assert_int_equal(__builtin_popcount(bit), 1);
		assert_int_equal(all & bit, 0);
		all |= bit;
	}
	assert_int_equal(all, STATUS_HAS_GIL | STATUS_ON_CPU | STATUS_UNKNOWN |
			 STATUS_GIL_REQUESTED | STATUS_HAS_EXCEPTION | STATUS_MAIN_THREAD);
}

static void test_no_other_word_is_one(void **state)
{
	uint8_t bit;

	assert_false(profile_status_parse("cpu-unknown", 11, &bit));
	assert_false(profile_status_parse("gil-requested", 2, &bit));
	assert_false(profile_status_parse("gil-", 4, &bit));
	assert_false(profile_status_parse("", 0, &bit));
	assert_true(profile_status_parse("gil,on-cpu", 3, &bit));
	assert_int_equal(bit, STATUS_HAS_GIL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_units_and_layouts),
		cmocka_unit_test(test_status_bits_as_text),
		cmocka_unit_test(test_each_word_is_one_bit),
		cmocka_unit_test(test_no_other_word_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
