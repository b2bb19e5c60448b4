// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_compress.c - one compressor, many independent frames.
 */
#include "tests/unit/tach_test.h"

#include <zstd.h>

static void test_frames(void **state)
{
	struct compressor *c = compressor_new(5);
	char data[5000], back[5000];
	const void *out;
	size_t len, out_len, i;

	assert_non_null(c);
	for (len = 0; len <= sizeof(data); len += 500) {
		for (i = 0; i < len; i++)
			data[i] = (char)(i * len >> 5);
		assert_int_equal(compressor_run(c, data, len, &out, &out_len), 0);
		/* No content size in it: see compress.c. */
		assert_true(ZSTD_getFrameContentSize(out, out_len) == ZSTD_CONTENTSIZE_UNKNOWN);
		assert_int_equal(ZSTD_decompress(back, sizeof(back), out, out_len), len);
		assert_memory_equal(back, data, len);
	}
	compressor_free(c);
	compressor_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
