// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_gunzip.c - gzip members that are whole, too large, cut off, and none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/gzip.h"

/* A text that hardly gets smaller, and one that does; both larger than a step. */
static void fill(uint8_t *bytes, size_t len, bool random)
{
	uint32_t x = 1;
	size_t i;

	for (i = 0; i < len; i++) {
		x = x * 1103515245 + 12345;
		bytes[i] = random ? (uint8_t)(x >> 16) : 'a';
	}
}

static int unzip(const struct buf *zip, size_t len, size_t max, struct buf *out)
{
	/* As much memory as there are bytes: a sanitizer sees who reads on. */
	struct buf copy = { 0 };
	int err;

	assert_int_equal(buf_add(&copy, zip->data, len), 0);
	err = gunzip_bytes(copy.data, len, max, out);
	buf_free(&copy);
	return err;
}

static void test_sizes(void **state)
{
	static const size_t sizes[] = { 0, 1, 65535, 65536, 65537, 300000 };
	static uint8_t bytes[300000];
	size_t i;
	int random;

	for (i = 0; i < ARRAY_SIZE(sizes) * 2; i++) {
		struct buf zip = { 0 }, out = { 0 };
		size_t len = sizes[i / 2];

		random = i % 2;
		fill(bytes, len, random);
		assert_int_equal(gzip_bytes(bytes, len, GZIP_LEVEL, &zip), 0);
		/* Behind what is there; just as large as it may be. */
		assert_int_equal(buf_add(&out, "before", 6), 0);
		assert_int_equal(unzip(&zip, zip.len, len, &out), 0);
		assert_int_equal(out.len, 6 + len);
		assert_memory_equal(out.data, "before", 6);
		assert_memory_equal(out.data + 6, bytes, len);
		out.len = 6;
		/* A byte less, and there is no room. */
		if (len)
			assert_int_equal(unzip(&zip, zip.len, len - 1, &out), -EFBIG);
		assert_int_equal(out.len, 6);
		buf_free(&zip);
		buf_free(&out);
	}
}

/* 1,000 times as large as what it was made of, and no more memory than it may have. */
static void test_bomb(void **state)
{
	struct buf bytes = { 0 }, zip = { 0 }, out = { 0 };

	assert_int_equal(buf_reserve(&bytes, 8 << 20), 0);
	memset(bytes.data, 0, 8 << 20);
	assert_int_equal(gzip_bytes(bytes.data, 8 << 20, 9, &zip), 0);
	assert_true(zip.len < 10000);
	assert_int_equal(unzip(&zip, zip.len, 1 << 20, &out), -EFBIG);
	assert_int_equal(out.len, 0);
	assert_true(out.cap <= 4 << 20);
	buf_free(&bytes);
	buf_free(&zip);
	buf_free(&out);
}

static void test_bad(void **state)
{
	static uint8_t bytes[1000];
	struct buf zip = { 0 }, out = { 0 };
	size_t i, bad = 0;

	fill(bytes, sizeof(bytes), true);
	assert_int_equal(gzip_bytes(bytes, sizeof(bytes), GZIP_LEVEL, &zip), 0);
	for (i = 0; i < zip.len; i++)
		assert_int_equal(unzip(&zip, i, 1 << 20, &out), -EBADMSG);
	/* A byte is another one: it is found, or it is in the header's words that nobody needs. */
	for (i = 0; i < zip.len; i++) {
		zip.data[i] ^= 0x55;
		out.len = 0;
		if (unzip(&zip, zip.len, 1 << 20, &out)) {
			assert_int_equal(out.len, 0);
			bad++;
		} else {
			assert_int_equal(out.len, sizeof(bytes));
			assert_true(i < 10);
		}
		zip.data[i] ^= 0x55;
	}
	assert_true(bad >= zip.len - 10);
	out.len = 0;
	assert_int_equal(gunzip_bytes(bytes, sizeof(bytes), 1 << 20, &out), -EBADMSG);
	assert_int_equal(out.len, 0);
	buf_free(&zip);
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
