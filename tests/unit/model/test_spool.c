// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_spool.c - what the exports put things aside in: spooled streams, pairs,
 * the writer.
 */
#include "base/json.h"
#include "base/pairs.h"
#include "model/spool.h"
#include "base/writer.h"
#include "tests/unit/export_test.h"

#define STREAMS 3
#define RECORDS 20000

/* Streams of different lengths, interleaved, each with its own numbers. */
static void test_streams(void **state)
{
	struct spool_stream st[STREAMS];
	struct spool *s = spool_new();
	struct spool_reader r;
	uint64_t seed = 99, v[3], again;
	uint32_t i, k;

	assert_non_null(s);
	memset(st, 0, sizeof(st));
	for (i = 0; i < RECORDS; i++) {
		for (k = 0; k < STREAMS; k++) {
			if (i % (k + 1))
				continue;
			v[0] = i;
			v[1] = rnd(&seed) >> rnd(&seed) % 64;
			v[2] = ~v[1];
			assert_int_equal(spool_add(s, &st[k], v, 3), 0);
		}
	}
	/* Twice: a stream can be read for each column. */
	for (again = 0; again < 2; again++) {
		for (k = 0; k < STREAMS; k++) {
			spool_read(&r, s, &st[k]);
			for (i = 0; i < RECORDS; i += k + 1) {
				assert_int_equal(spool_next(&r, v, 3), 1);
				assert_int_equal(v[0], i);
				assert_int_equal(v[2], ~v[1]);
			}
			assert_int_equal(spool_next(&r, v, 3), 0);
			assert_int_equal(spool_next(&r, v, 3), 0);
		}
	}
	for (k = 0; k < STREAMS; k++)
		spool_stream_free(&st[k]);
	spool_free(s);
}

static void test_empty_stream(void **state)
{
	struct spool_stream st;
	struct spool *s = spool_new();
	struct spool_reader r;
	uint64_t v;

	memset(&st, 0, sizeof(st));
	spool_read(&r, s, &st);
	assert_int_equal(spool_next(&r, &v, 1), 0);
	spool_stream_free(&st);
	spool_free(s);
}

/* $TMPDIR may be anything. */
static void test_no_directory(void **state)
{
	struct spool_stream st;
	struct spool *s = spool_new();
	uint64_t v = UINT64_MAX;
	char *old = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
	int i, err = 0;

	memset(&st, 0, sizeof(st));
	/* It falls back to the others; that is no error. */
	setenv("TMPDIR", "/nonexistent", 1);
	for (i = 0; !err && i < 1000; i++)
		err = spool_add(s, &st, &v, 1);
	assert_int_equal(err, 0);
	if (old)
		setenv("TMPDIR", old, 1);
	else
		unsetenv("TMPDIR");
	free(old);
	spool_stream_free(&st);
	spool_free(s);
}

static void test_zigzag(void **state)
{
	static const int64_t values[] = { 0, 1, -1, INT64_MAX, INT64_MIN, 12345, -12345 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(values); i++)
		assert_int_equal(spool_unzigzag(spool_zigzag(values[i])), values[i]);
}

static void test_pairs(void **state)
{
	struct pairs p = { 0 };
	uint32_t i, id;

	for (i = 0; i < 100000; i++) {
		assert_int_equal(pairs_add(&p, (struct pair){ i / 300, i % 300 }, &id), 0);
		assert_int_equal(id, i);
	}
	for (i = 0; i < 100000; i += 7) {
		assert_int_equal(pairs_add(&p, (struct pair){ i / 300, i % 300 }, &id), 0);
		assert_int_equal(id, i);
	}
	assert_int_equal(p.cnt, 100000);
	assert_int_equal(p.list[301].a, 1);
	pairs_free(&p);
}

static void test_writer(void **state)
{
	static const char want[] = "0 18446744073709551615 -9223372036854775808 1234.5 -0.001 7 "
				   "1.001\"a\\\"\\\\\\u000a\\u0000\xef\xbf\xbd\\u202e\"";
	char path[PATH_BYTES], big[WRITER_BYTES + 10];
	int fd = memory_file(path);
	struct writer *w = writer_new(fd, 0);
	struct buf b;

	memset(big, 'x', sizeof(big));
	writer_uint(w, 0);
	writer_char(w, ' ');
	writer_uint(w, UINT64_MAX);
	writer_char(w, ' ');
	writer_int(w, INT64_MIN);
	writer_char(w, ' ');
	writer_ms(w, 1234500);
	writer_char(w, ' ');
	writer_ms(w, -1);
	writer_char(w, ' ');
	writer_ms(w, 7000);
	writer_char(w, ' ');
	writer_ms(w, 1001);
	json_string_in(w, (struct string_ref){ "a\"\\\n\0\xff\xe2\x80\xae", 9 });
	writer_put(w, big, sizeof(big));
	assert_int_equal(writer_flush(w), 0);
	b = file_bytes(path);
	assert_int_equal(b.len, strlen(want) + sizeof(big));
	assert_memory_equal(b.data, want, strlen(want));
	assert_int_equal(b.data[b.len - 1], 'x');
	buf_free(&b);
	free(w);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams), cmocka_unit_test(test_empty_stream),
		cmocka_unit_test(test_no_directory), cmocka_unit_test(test_zigzag),
		cmocka_unit_test(test_pairs), cmocka_unit_test(test_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
