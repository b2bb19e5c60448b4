// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_json_pull.c - what RFC 8259 allows and nothing else, with offsets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/json_pull.h"

/* Is all of text one value? An exact copy, so that reads behind the end are seen. */
static bool whole(const char *text, size_t len, size_t *off)
{
	char *copy = malloc(len ? len : 1);
	struct json_pull j;
	bool ok;

	memcpy(copy, text, len);
	json_pull_start(&j, copy, len, 0);
	ok = json_pull_skip(&j) && json_pull_finish(&j);
	*off = json_pull_offset(&j);
	assert_int_equal(ok, !j.err);
	free(copy);
	return ok;
}

static void test_grammar(void **state)
{
	static const char *const good[] = {
		"0", "-0", "1.5e+10", "1E5", "12345678901234567890", "true", "false", "null",
		"\"\"", "\"\\u0041\\ud83d\\ude00\\ud800\\n\\/\"", "[]", "{}", "[1,2,[]]",
		" { \"a\" : [ ] } \r\n", "{\"a\":1,\"a\":2}", "\xef\xbb\xbf{}", "\"\xff\"",
		"[[[[[[[[[[]]]]]]]]]]",
	};
	static const struct {
		const char *text;
		size_t off;
	} bad[] = {
		{ "", 0 }, { "  ", 2 }, { "01", 0 }, { "-", 0 }, { "+1", 0 }, { ".5", 0 },
		{ "1.", 2 }, { "1e", 2 }, { "nul", 0 }, { "True", 0 }, { "'a'", 0 }, { "\"a", 2 },
		{ "\"\n\"", 1 }, { "\"\\x\"", 2 }, { "\"\\u12\"", 3 }, { "\"\\u12G4\"", 3 },
		{ "\"\\", 2 }, { "[", 1 }, { "[1", 2 }, { "[1,]", 3 }, { "[,1]", 1 },
		{ "[1 2]", 3 }, { "[1}", 2 }, { "{", 1 }, { "{1:2}", 1 }, { "{\"a\"}", 4 },
		{ "{\"a\":}", 5 }, { "{\"a\":1,}", 7 }, { "{\"a\" 1}", 5 }, { "{} {}", 3 },
		{ "1 2", 2 }, { "/* */1", 0 }, { "NaN", 0 }, { "Infinity", 0 }, { "\xef\xbb", 0 },
		{ "\"\\ud800\\u12\"", 9 },
	};
	size_t i, off;

	for (i = 0; i < ARRAY_SIZE(good); i++)
		if (!whole(good[i], strlen(good[i]), &off))
			fail_msg("refused at %zu: %s", off, good[i]);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (whole(bad[i].text, strlen(bad[i].text), &off) || off != bad[i].off)
			fail_msg("%s: at %zu", bad[i].text, off);
	assert_false(whole("1\0", 2, &off));
	assert_int_equal(off, 1);
}

static void test_depth(void **state)
{
	char text[1000];
	size_t off;

	memset(text, '[', 500);
	memset(text + 500, ']', 500);
	assert_true(whole(text + 500 - JSON_PULL_DEPTH, 2 * JSON_PULL_DEPTH, &off));
	assert_false(whole(text, 1000, &off));
	assert_int_equal(off, JSON_PULL_DEPTH);
}

static void test_values(void **state)
{
	static const char text[] = "{\"k\\u00e9y\":\"a\\u0000b\\ud83d\\ude00\\udc00x\","
				   "\"n\":18446744073709551615,\"m\":18446744073709551616}";
	struct buf key = { 0 }, s = { 0 };
	struct json_pull j;
	uint64_t v;

	json_pull_start(&j, text, strlen(text), 1000);
	assert_true(json_pull_enter(&j, JT_OBJECT));
	assert_true(json_pull_key(&j, &key));
	assert_true(json_key_is(&key, "kéy"));
	assert_true(json_pull_string(&j, &s));
	assert_int_equal(s.len, 11);
	assert_memory_equal(s.data, "a\0b\xf0\x9f\x98\x80\xef\xbf\xbdx", 11);
	assert_true(json_pull_key(&j, &key) && json_key_is(&key, "n"));
	assert_true(json_pull_uint(&j, &v) && v == UINT64_MAX);
	assert_true(json_pull_key(&j, &key));
	assert_false(json_pull_uint(&j, &v));
	assert_int_equal(json_pull_offset(&j), 1000 + strlen(text) - 21);
	/* After an error nothing moves any more. */
	assert_false(json_pull_key(&j, &key) || json_pull_skip(&j) || json_pull_finish(&j));
	buf_free(&key);
	buf_free(&s);
}

/* Strings that are asked for have a limit, skipped ones have none. */
static void test_string_max(void **state)
{
	static const char text[] = "[\"12345678\",\"1234\\u00e956789\",\"12345678\"]";
	struct json_pull j;
	struct buf s = { 0 };

	json_pull_start(&j, text, strlen(text), 0);
	j.string_max = 8;
	assert_true(json_pull_enter(&j, JT_ARRAY) && json_pull_element(&j));
	assert_true(json_pull_string(&j, &s) && s.len == 8);
	assert_true(json_pull_element(&j) && json_pull_skip(&j));
	assert_true(json_pull_element(&j));
	j.string_max = 7;
	assert_false(json_pull_string(&j, &s));
	assert_non_null(j.err);
	assert_true(s.cap <= 256);
	buf_free(&s);
}

/* How many of the pages are in memory, of this mapping and not of the file. */
static size_t resident_kib(const void *map)
{
	char line[256];
	size_t kib = 0, start;
	bool here = false;
	FILE *f = fopen("/proc/self/smaps", "r");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%zx-", &start) == 1 && strchr(line, '-'))
			here = start == (size_t)map;
		else if (here && sscanf(line, "Rss: %zu", &kib) == 1)
			break;
	}
	fclose(f);
	return kib;
}

/* Of a mapped text only what is near the position stays; a copy of the position can go back. */
static void test_mapped(void **state)
{
	const size_t size = 32 << 20;
	char path[] = "/tmp/test_json_pull.XXXXXX", *text = malloc(size);
	struct json_pull j, back;
	struct buf s = { 0 };
	int fd = mkstemp(path);
	void *map;

	assert_non_null(text);
	memset(text, 'a', size);
	memcpy(text, "[\"first\",\"", 10);
	memcpy(text + size / 2, "\",[", 3);
	memset(text + size / 2 + 3, ' ', size / 2 - 5);
	memcpy(text + size - 2, "]]", 2);
	assert_int_equal(write_all(fd, text, size), 0);
	free(text);
	map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(map != MAP_FAILED);
	json_pull_start(&j, map, size, 0);
	j.mapped = true;
	assert_true(json_pull_enter(&j, JT_ARRAY) && json_pull_element(&j));
	back = j;
	assert_true(json_pull_skip(&j) && json_pull_element(&j) && json_pull_skip(&j));
	assert_true(resident_kib(map) < 4096);
	assert_true(json_pull_element(&j) && json_pull_skip(&j));
	assert_true(resident_kib(map) < 4096);
	assert_false(json_pull_element(&j) || !json_pull_finish(&j));
	assert_true(json_pull_string(&back, &s) && json_key_is(&s, "first"));
	munmap(map, size);
	close(fd);
	unlink(path);
	buf_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grammar), cmocka_unit_test(test_depth),
		cmocka_unit_test(test_values), cmocka_unit_test(test_string_max),
		cmocka_unit_test(test_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
