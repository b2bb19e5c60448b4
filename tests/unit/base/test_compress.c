// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_compress.c - one compressor, many independent frames.
 */
#include "tests/unit/tach_test.h"

#include <errno.h>
#include <stdio.h>
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

#define LINES 40000
#define LINE_BYTES 10

/* Lines that repeat each other in part. */
static char *make_lines(void)
{
	char *lines = malloc(LINES * LINE_BYTES + 1);
	uint32_t i;

	assert_non_null(lines);
	for (i = 0; i < LINES; i++)
		sprintf(lines + (size_t)i * LINE_BYTES, "line %04u\n", i * 2654435761u >> 22);
	return lines;
}

/* Stores the lines in as many frames. */
static struct buf store_lines(struct compressor *c, const char *lines, size_t frame_cnt)
{
	size_t each = LINES * LINE_BYTES / frame_cnt, out_len, i;
	struct buf frames = { 0 };
	const void *out;

	for (i = 0; i < frame_cnt; i++) {
		assert_int_equal(compressor_store(c, lines + i * each, each, &out, &out_len), 0);
		assert_true(ZSTD_getFrameContentSize(out, out_len) == ZSTD_CONTENTSIZE_UNKNOWN);
		assert_int_equal(buf_add(&frames, out, out_len), 0);
	}
	return frames;
}

/* As compressor_join(), of a copy. */
static int join(const struct buf *frames, size_t frames_len, size_t raw, bool thorough,
		struct buf *out)
{
	void *copy = malloc(frames_len);
	int err;

	assert_non_null(copy);
	memcpy(copy, frames->data, frames_len);
	err = compressor_join(copy, frames_len, raw, thorough, out);
	free(copy);
	return err;
}

/* Stored frames are zstd's, of any length; joined they are smaller. */
static void test_stored_and_joined(void **state)
{
	static const size_t frame_cnts[] = { 1, 2, 3, 4, 8, 50, 400 };
	struct compressor *c = compressor_new(5);
	size_t raw = LINES * LINE_BYTES, i, thorough;
	char *lines = make_lines(), *back = malloc(raw);
	struct buf out = { 0 };

	for (i = 0; i < ARRAY_SIZE(frame_cnts); i++) {
		struct buf frames = store_lines(c, lines, frame_cnts[i]);
		size_t n = raw / frame_cnts[i] * frame_cnts[i];

		assert_int_equal(ZSTD_decompress(back, raw, frames.data, frames.len), n);
		assert_memory_equal(back, lines, n);
		for (thorough = 0; thorough < 2; thorough++) {
			assert_int_equal(join(&frames, frames.len, n, thorough, &out), 0);
			memset(back, 0, raw);
			assert_int_equal(ZSTD_decompress(back, raw, out.data, out.len), n);
			assert_memory_equal(back, lines, n);
			assert_true(out.len < n / 2);
		}
		assert_int_equal(join(&frames, frames.len, n - 1, true, &out), -EBADMSG);
		assert_int_equal(join(&frames, frames.len, n + 1, true, &out), -EBADMSG);
		assert_int_equal(join(&frames, frames.len - 1, n, true, &out), -EBADMSG);
		frames.data[6] |= 2;	/* no stored block */
		assert_int_equal(join(&frames, frames.len, n, true, &out), -EBADMSG);
		buf_free(&frames);
	}
	buf_free(&out);
	free(back);
	free(lines);
	compressor_free(c);
}

/* Nothing to store is a frame, too. */
static void test_store_nothing(void **state)
{
	struct compressor *c = compressor_new(5);
	const void *out;
	size_t len;
	char back;

	assert_int_equal(compressor_store(c, "", 0, &out, &len), 0);
	assert_int_equal(ZSTD_decompress(&back, 1, out, len), 0);
	compressor_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_stored_and_joined),
		cmocka_unit_test(test_store_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
