// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_gperftools.c - the words and lines of all three flavours. tests/e2e has
 * the programs that read them.
 */
#include "formats/formats.h"
#include "tests/unit/export_test.h"

static uint64_t word(const struct buf *b, size_t i)
{
	uint64_t v;

	assert_true((i + 1) * 8 <= b->len);
	memcpy(&v, b->data + i * 8, 8);
	return v;
}

static void assert_words(const struct buf *b, size_t cnt, const uint64_t *want)
{
	size_t i;

	for (i = 0; i < cnt; i++)
		if (word(b, i) != want[i])
			fail_msg("word %zu is %#lx, not %#lx", i, (long)word(b, i), (long)want[i]);
}

static void test_calls(void **state)
{
	check_calls(&sink_gperftools);
	check_calls(&sink_gperftools_perl);
}

static void test_go(void **state)
{
	struct export_test t = { .meta = { .interval_us = 1001 } };
	uint32_t f, g, gc;
	struct buf b;

	export_open(&t, &sink_gperftools);
	f = export_frame(&t, "/x/a (copy)/m.py", "f.<locals>.g", 3);
	g = export_frame(&t, "<frozen runpy>", "run", 9);
	assert_int_equal(intern_synthetic(t.in, FRAME_SYNTHETIC, "<GC>", &gc), 0);
	export_begin(&t);
	export_event(&t, 7, 1, 2, 3, (uint32_t[]){ gc, f, g });
	export_event(&t, 8, 1, 3, 3, (uint32_t[]){ gc, f, g });
	export_event(&t, 8, 1, 1, 0, NULL);
	b = export_close(&t);
	assert_words(&b, 13, (uint64_t[]){ 0, 3, 1, 1001, 0, 5, 3, 0x10000, 0x10010, 0x10020,
					   0, 1, 0 });
	assert_string_equal((char *)b.data + 13 * 8,
			    "  0x10000 [GC]\n"
			    "  0x10010 a_(copy).m.f.<locals>.g (/x/a_(copy)/m.py:3)\n"
			    "  0x10020 runpy.run (<frozen runpy>:9)\n");
	buf_free(&b);
}

static void test_perl(void **state)
{
	static const char head[] = "--- symbol\nbinary=python\n"
				   "0x10000 x.m.f.[locals].g_h__-i\n---\n--- profile\n";
	struct export_test t = { .meta = { .interval_us = 1001 } };
	struct buf b, words;
	uint32_t f, g;

	export_open(&t, &sink_gperftools_perl);
	f = export_frame(&t, "/x/m.py", "f.<locals>.g h---i", 3);
	g = export_frame(&t, "/x/m.py", "f.<locals>.g h---i", 4);
	export_begin(&t);
	export_event(&t, 7, 1, 2, 1, &f);
	export_event(&t, 8, 1, 3, 1, &g);
	b = export_close(&t);
	assert_memory_equal(b.data, head, strlen(head));
	words = (struct buf){ .data = b.data + strlen(head), .len = b.len - strlen(head) };
	assert_int_equal(words.len, 11 * 8);
	assert_words(&words, 11, (uint64_t[]){ 0, 3, 0, 1001, 0, 5, 1, 0x10000, 0, 1, 0 });
	buf_free(&b);
}

/* What importing a version 0 profile makes of addresses. */
static void test_native(void **state)
{
	struct export_test t = { .meta = { .interval_us = 10000 } };
	uint32_t f[8];
	struct buf b;

	export_open(&t, &sink_gperftools_native);
	f[0] = export_frame(&t, "/lib/libc.so.6", "0xa0000", LINE_NONE);
	f[1] = export_frame(&t, "/x/m.py", "python", 3);
	f[2] = export_frame(&t, "", "0xFFFFffff80001234", LINE_NONE);
	f[3] = export_frame(&t, "", "0x12g", LINE_NONE);
	f[4] = export_frame(&t, "/lib/libc.so.6", "libc.so.6+0x1234", LINE_NONE);
	f[5] = export_frame(&t, "/lib/libm.so.6", "libm.so.6+0x0", LINE_NONE);
	f[6] = export_frame(&t, "/lib/libm.so.6", "libc.so.6+0x10", LINE_NONE);
	f[7] = export_frame(&t, "/lib/libm.so.6", "libm.so.6+0xffffffffffffffff", LINE_NONE);
	export_begin(&t);
	export_event(&t, 7, 1, 2, 8, f);
	export_event(&t, 7, 1, 1, 1, &f[1]);
	b = export_close(&t);
	assert_words(&b, 14, (uint64_t[]){ 0, 3, 0, 10000, 0, 2, 4, 0xa0000, 0xffffffff80001234,
					   0x1000000000001234, 0x1000020000000000, 0, 1, 0 });
	assert_string_equal((char *)b.data + 14 * 8,
			    "1000000000000000-1000000000002000 r-xp 00000000 00:00 0 "
			    "/lib/libc.so.6\n"
			    "1000020000000000-1000020000001000 r-xp 00000000 00:00 0 "
			    "/lib/libm.so.6\n");
	buf_free(&b);
}

static void test_native_of_python(void **state)
{
	struct export_test t = { .meta = { .interval_us = 10000 } };
	uint32_t f;

	export_open(&t, &sink_gperftools_native);
	f = export_frame(&t, "/x/m.py", "python", 3);
	export_begin(&t);
	export_event(&t, 7, 1, 1, 1, &f);
	assert_int_equal(t.s->ops->end(t.s, NULL), 0);
	assert_int_equal(t.s->ops->close(t.s), SINK_REPORTED);
	close(t.args.fd);
	intern_free(t.in);
}

static void test_bytes_are_refused(void **state)
{
	static const struct sink_ops *const all[] = { &sink_gperftools, &sink_gperftools_perl,
						      &sink_pstats };
	struct export_test t = { .meta = { .unit = UNIT_BYTES } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		export_open(&t, all[i]);
		assert_int_equal(all[i]->begin(t.s, &t.meta, intern_tables(t.in)),
				 SINK_REPORTED);
		assert_int_equal(all[i]->close(t.s), SINK_REPORTED);
		close(t.args.fd);
		intern_free(t.in);
	}
}

/* Processes with different clocks: counts are in microseconds. */
static void test_intervals(void **state)
{
	struct export_test t = { .args = { .many = true },
				 .meta = { .interval_us = 1000, .tgid = 1, .comm = "a b" } };
	uint32_t f;
	struct buf b;

	export_open(&t, &sink_gperftools);
	f = export_frame(&t, "m.py", "f", 3);
	export_begin(&t);
	export_event(&t, 7, 1, 2, 1, &f);
	assert_int_equal(t.s->ops->end(t.s, NULL), 0);
	t.meta = (struct profile_meta){ .unit = UNIT_NANOSECONDS, .tgid = 2 };
	export_begin(&t);
	export_event(&t, 7, 1, 5999, 1, &f);
	b = export_close(&t);
	assert_words(&b, 16, (uint64_t[]){ 0, 3, 1, 1, 0, 2000, 2, 0x10000, 0x10010,
					   5, 2, 0x10000, 0x10020, 0, 1, 0 });
	assert_string_equal((char *)b.data + 16 * 8,
			    "  0x10000 m.f (m.py:3)\n"
			    "  0x10010 process 1 a b\n  0x10020 process 2\n");
	buf_free(&b);
}

static void test_hostile_names(void **state)
{
	struct export_test t = { .args = { .many = true }, .meta = { .tgid = 1, .comm = HOSTILE } };
	const char *line, *open_at;
	struct buf b, text;
	uint32_t f;

	export_open(&t, &sink_gperftools);
	f = export_frame(&t, HOSTILE, HOSTILE, 3);
	export_begin(&t);
	export_event(&t, 7, 1, 1, 1, &f);
	b = export_close(&t);
	text = (struct buf){ .data = b.data + 12 * 8, .len = b.len - 12 * 8 };
	assert_printable(&text);
	/* Two lines; " (" only where the file begins. */
	line = strchr((char *)text.data, '\n');
	assert_non_null(line);
	assert_ptr_equal(strchr(line + 1, '\n'), (char *)text.data + text.len - 1);
	open_at = strstr((char *)text.data, " (");
	assert_true(open_at && open_at < line && !strstr(open_at + 1, " ("));
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls), cmocka_unit_test(test_go),
		cmocka_unit_test(test_perl), cmocka_unit_test(test_native),
		cmocka_unit_test(test_native_of_python),
		cmocka_unit_test(test_bytes_are_refused), cmocka_unit_test(test_intervals),
		cmocka_unit_test(test_hostile_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
