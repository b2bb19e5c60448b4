// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_common_end.c - how much two arrays share at their ends, beside one element after another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/common_end.h"

#define MOST 256

/* Two arrays of their own, so that a sanitizer sees what is read before them. */
static void check(size_t a_cnt, size_t b_cnt, size_t bytes, size_t shared)
{
	size_t most = a_cnt < b_cnt ? a_cnt : b_cnt, i;
	uint8_t *a = malloc(a_cnt * bytes), *b = malloc(b_cnt * bytes);

	assert_true(a && b);
	for (i = 0; i < most * bytes; i++)
		a[a_cnt * bytes - 1 - i] = b[b_cnt * bytes - 1 - i] = (uint8_t)(i * 7);
	/*
	 * Beyond the shared part everything differs, but for the nearest element only in one byte.
	 */
	for (i = shared; i < most; i++)
		memset(a + (a_cnt - 1 - i) * bytes, 0xa5 ^ (int)i, bytes);
	if (shared < most) {
		memcpy(a + (a_cnt - 1 - shared) * bytes, b + (b_cnt - 1 - shared) * bytes, bytes);
		a[(a_cnt - 1 - shared) * bytes + shared % bytes] ^= 0x10;
	}
	assert_int_equal(common_end(a + a_cnt * bytes, b + b_cnt * bytes, most, bytes), shared);
	free(a);
	free(b);
}

static void test_every_length(void **state)
{
	static const size_t sizes[] = { 4, 16 };
	size_t s, n, shared;

	for (s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
		for (n = 1; n <= MOST; n += n < 70 ? 1 : 31)
			for (shared = 0; shared <= n; shared++) {
				check(n, n, sizes[s], shared);
				check(n, n + 3, sizes[s], shared);
				check(n + 40, n, sizes[s], shared);
			}
}

/* Where frames after a different one are the same again, they do not count. */
static void test_same_again(void **state)
{
	uint32_t a[MOST] = { 0 }, b[MOST] = { 0 };
	size_t i;

	for (i = 0; i < MOST; i++) {
		b[MOST - 1 - i] = 1;
		assert_int_equal(common_end(a + MOST, b + MOST, MOST, sizeof(*a)), i);
		b[MOST - 1 - i] = 0;
	}
	assert_int_equal(common_end(a + MOST, b + MOST, MOST, sizeof(*a)), MOST);
}

static void test_nothing(void **state)
{
	uint32_t a = 1, b = 1;

	assert_int_equal(common_end(&a, &b, 0, sizeof(a)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_same_again),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
