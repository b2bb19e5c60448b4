// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_bytes_text.c - numbers of bytes as people read them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/bytes_text.h"
#include "base/util.h"

static void test_texts(void **state)
{
	static const struct {
		double bytes;
		const char *text;
	} cases[] = {
		{ 0, "0 B" }, { 1, "1 B" }, { 1023, "1023 B" }, { 1023.6, "1.0 KiB" },
		{ 1024, "1.0 KiB" }, { 1536, "1.5 KiB" }, { 65536, "64.0 KiB" },
		{ 1023.94 * 1024, "1023.9 KiB" }, { 1023.96 * 1024, "1.0 MiB" },
		{ -3.5 * 1024 * 1024, "-3.5 MiB" }, { -0.4, "0 B" }, { -0.6, "-1 B" },
		{ 0x1p63, "8.0 EiB" },
		{ 0x1p70, "1024.0 EiB" },
	};
	char text[BYTES_TEXT_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(bytes_text(cases[i].bytes, text), cases[i].text);
	assert_true(strlen(bytes_text(1e300, text)) < sizeof(text));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_texts) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
