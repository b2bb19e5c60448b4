// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_util.c - varints to the last bit, text that cannot harm a terminal, and
 * buffers.
 */
#include "tests/unit/tach_test.h"

static void assert_varint(uint64_t v, size_t bytes)
{
	uint8_t raw[VARINT_MAX];
	uint8_t *end = varint_put(raw, v);
	uint64_t got = ~v;
	size_t cut;

	assert_int_equal(end - raw, bytes);
	assert_ptr_equal(varint_get(raw, end, &got), end);
	assert_true(got == v);
	for (cut = 0; cut < bytes; cut++)
		assert_null(varint_get(raw, raw + cut, &got));
}

static void test_varint(void **state)
{
	unsigned int bit;

	assert_varint(0, 1);
	assert_varint(UINT64_MAX, 10);
	for (bit = 1; bit < 64; bit++) {
		assert_varint((1ULL << bit) - 1, (bit + 6) / 7);
		assert_varint(1ULL << bit, bit / 7 + 1);
	}
}

static void test_varint_too_big(void **state)
{
	const uint8_t over[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02 };
	const uint8_t endless[] = { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
				    0x80, 0x80, 0x80, 0x80, 0x00 };
	const uint8_t long_zero[] = { 0x80, 0x80, 0x00 };
	uint64_t v = 1;

	assert_null(varint_get(over, over + sizeof(over), &v));
	assert_null(varint_get(endless, endless + sizeof(endless), &v));
	assert_non_null(varint_get(long_zero, long_zero + sizeof(long_zero), &v));
	assert_int_equal(v, 0);
}

static void test_svarint(void **state)
{
	const int64_t values[] = { 0, -1, 1, -64, 63, -65, 64, INT32_MIN, INT32_MAX, INT64_MIN,
				   INT64_MAX };
	uint8_t raw[VARINT_MAX], *end;
	int64_t got;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		end = svarint_put(raw, values[i]);
		assert_ptr_equal(svarint_get(raw, end, &got), end);
		assert_true(got == values[i]);
	}
	/* docs: 0, -1, 1, -2 become 0, 1, 2, 3. */
	svarint_put(raw, -2);
	assert_int_equal(raw[0], 3);
}

static void assert_escaped(const char *s, size_t len, const char *want)
{
	char out[128];

	assert_string_equal(escape_text(s, len, out, sizeof(out)), want);
}

/* Between characters, or all of it. */
static void test_cut(void **state)
{
	static const size_t fit[] = { 0, 0, 1, 1, 3, 3, 3, 6 };	/* by the size of out */
	static const char text[] = "a\xc3\xa4\xe2\x82\xac";
	char out[8];
	size_t size;

	for (size = 1; size < ARRAY_SIZE(fit); size++) {
		utf8_copy(out, size, text, strlen(text));
		assert_int_equal(strlen(out), fit[size]);
		assert_memory_equal(out, text, fit[size]);
	}
	assert_int_equal(utf8_cut("\x80\x80", 2, 1), 0);
}

/* Bytes that are not UTF-8: single, surrogates, beyond Unicode, overlong, cut short. */
static void test_repair(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "a\xff\xfez", "a??z" }, { "\xed\xa0\x80", "???" }, { "\xf4\x90\x80\x80", "????" },
		{ "\xc0\x80", "??" }, { "\x80\xc3\xa9", "?\xc3\xa9" }, { "caf\xc3", "caf?" },
		{ "\xe2\x82\xac\x1b", "\xe2\x82\xac\x1b" }, { "", "" },
		{ "1234567\xc3\xa9", "1234567?" },
	};
	char text[9];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		memset(text, 'x', sizeof(text));
		memcpy(text, cases[i].text, strnlen(cases[i].text, sizeof(text) - 1) + 1);
		utf8_repair(text, sizeof(text));
		assert_string_equal(text, cases[i].want);
	}
	text[0] = '\xc3';
	utf8_repair(text, 1);
	assert_string_equal(text, "");
}

static void test_escape(void **state)
{
	char tiny[6];

	const char *plain = "plain na\xc3\xafve \xf0\x9f\x90\x8d";

	assert_escaped(plain, strlen(plain), plain);
	assert_escaped("\x1b[2J\n\0x", 7, "\\x1b[2J\\x0a\\x00x");
	/* Invalid, overlong, surrogate, C1, bidirectional override, cut short. */
	assert_escaped("\xff", 1, "\\xff");
	assert_escaped("\xc0\xaf", 2, "\\xc0\\xaf");
	assert_escaped("\xed\xa0\x80", 3, "\\xed\\xa0\\x80");
	assert_escaped("\xc2\x9b", 2, "\\xc2\\x9b");
	assert_escaped("\xe2\x80\xae", 3, "\\xe2\\x80\\xae");
	/* Zero width, byte order mark, hidden filler, tag; but not an emoji's selector. */
	assert_escaped("a\xe2\x80\x8b\xef\xbb\xbf", 7, "a\\xe2\\x80\\x8b\\xef\\xbb\\xbf");
	assert_escaped("\xe3\x85\xa4\xf3\xa0\x81\x81", 7, "\\xe3\\x85\\xa4\\xf3\\xa0\\x81\\x81");
	assert_escaped("\xe2\x9d\xa4\xef\xb8\x8f", 6, "\xe2\x9d\xa4\xef\xb8\x8f");
	assert_escaped("\xe2\x82", 2, "\\xe2\\x82");
	/* Too small: whole characters only. */
	escape_text("ab\ncd", 5, tiny, sizeof(tiny));
	assert_string_equal(tiny, "ab");
}

/* Unicode's list of what is never printed, as in Python (categories Cf, Zl, Zp), and fillers. */
static void test_unseen(void **state)
{
	static const uint32_t unseen[] = {
		0xad, 0x61c, 0x180e, 0x200b, 0x200d, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e,
		0x2060, 0x2064, 0x2066, 0x206f, 0x3164, 0xfeff, 0xffa0, 0xfff9, 0xfffb, 0x1d173,
		0xe0001, 0xe007f, 0xe01ef, 0, 0x1f, 0x7f, 0x9f,
	};
	static const uint32_t seen[] = { 0x20, 0x7e, 0xa0, 0xae, 0xe9, 0x600, 0x2010, 0x2027,
					 0x202f, 0x2070, 0x65e5, 0xfe0f, 0xfffc, 0xfffd, 0x1f40d,
					 0x10ffff };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(unseen); i++)
		assert_false(utf8_printable(unseen[i]));
	for (i = 0; i < ARRAY_SIZE(seen); i++)
		assert_true(utf8_printable(seen[i]));
}

static void test_buf(void **state)
{
	struct buf b = { 0 };
	uint32_t i;

	for (i = 0; i < 10000; i++)
		assert_int_equal(buf_add(&b, &i, sizeof(i)), 0);
	assert_int_equal(b.len, 40000);
	for (i = 0; i < 10000; i++)
		assert_memory_equal(b.data + i * 4, &i, 4);
	assert_int_equal(buf_reserve(&b, SIZE_MAX), -ENOMEM);
	buf_free(&b);
	assert_null(b.data);
}

static void test_array_add(void **state)
{
	struct pair { int a, b; } *list = NULL;
	size_t cnt = 0, cap = 0;
	int i;

	for (i = 0; i < 1000; i++)
		assert_int_equal(array_add(list, cnt, cap, (struct pair){ i, -i }), 0);
	assert_true(cnt == 1000 && cap >= cnt);
	for (i = 0; i < 1000; i++)
		assert_true(list[i].a == i && list[i].b == -i);
	free(list);
}

static void test_write_all(void **state)
{
	int fd = open("/dev/full", O_WRONLY);

	assert_int_equal(write_all(fd, "x", 1), -ENOSPC);
	close(fd);
	assert_int_equal(write_all(-1, "x", 1), -EBADF);
	assert_int_equal(write_all(-1, "x", 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_varint),	  cmocka_unit_test(test_varint_too_big),
		cmocka_unit_test(test_svarint),	  cmocka_unit_test(test_cut),
		cmocka_unit_test(test_repair),
		cmocka_unit_test(test_escape),
		cmocka_unit_test(test_unseen),
		cmocka_unit_test(test_buf),	  cmocka_unit_test(test_write_all),
		cmocka_unit_test(test_array_add),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
