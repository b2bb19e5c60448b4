// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_json_members.c - members by their keys: what is there, what is not, types, keys that
 * occur twice, numbers of any size, text that is no JSON.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json_members.h"

enum { A, B, C, CNT };

/* The text is copied to a place that ends with it: a read behind it is found. */
static char *copy;

static bool find(const char *text, struct json_member m[CNT], struct json_pull *j)
{
	static const char *const keys[CNT] = { "a", "b", "c" };
	size_t i, len = strlen(text);

	free(copy);
	copy = malloc(len + !len);
	assert_non_null(copy);
	memcpy(copy, text, len);
	for (i = 0; i < CNT; i++)
		m[i] = (struct json_member){ .key = keys[i] };
	json_pull_start(j, copy, len, 0);
	return json_members(j, m, CNT);
}

static void assert_string(const struct json_member *m, const char *want)
{
	struct buf s = { 0 };

	assert_true(json_member_string(m, &s));
	assert_int_equal(s.len, strlen(want));
	assert_string_equal((char *)s.data, want);
	buf_free(&s);
}

static void test_members(void **state)
{
	static const char text[] = "{\"z\":{\"a\":9},\"a\":\"\\u0062\\n\","
				   "\"c\":{\"x\":[1,\"two\"]}} tail";
	struct json_member m[CNT], inner[1] = { { .key = "x" } };
	struct json_pull j, list;
	struct buf s = { 0 };
	uint64_t v;

	assert_true(find(text, m, &j));
	assert_string(&m[A], "b\n");
	assert_false(json_member_count(&m[A], &v));
	/* What is not there is of no type. */
	assert_false(json_member_string(&m[B], &s) || json_member_count(&m[B], &v) ||
		     json_member_is(&m[B], JT_NULL) || json_member_enter(&m[B], JT_ARRAY, &list));
	assert_true(json_member_is(&m[C], JT_OBJECT));
	assert_true(json_member_object(&m[C], inner, 1));
	assert_true(json_member_enter(&inner[0], JT_ARRAY, &list));
	assert_true(json_pull_element(&list) && json_pull_uint(&list, &v) && v == 1);
	assert_true(json_pull_element(&list) && json_pull_string(&list, &s));
	assert_false(json_pull_element(&list));
	/* An object that is none has no members. */
	assert_false(json_member_object(&m[A], inner, 1));
	assert_null(inner[0].value.data);
	/* The reader stands behind the object. */
	assert_int_equal(json_pull_offset(&j), strlen(text) - strlen(" tail"));
	assert_false(json_pull_finish(&j));
	buf_free(&s);
}

static void test_a_key_twice(void **state)
{
	struct json_member m[CNT];
	struct json_pull j;

	assert_true(find("{\"a\":\"one\",\"b\":1,\"\\u0061\":\"two\"}", m, &j));
	assert_string(&m[A], "two");
}

static void test_counts(void **state)
{
	static const struct {
		const char *text;
		bool whole;
		uint64_t v;
	} cases[] = {
		{ "{\"a\":0}", true, 0 }, { "{\"a\":-0}", true, 0 }, { "{\"a\":-7}", true, 0 },
		{ "{\"a\":18446744073709551615}", true, UINT64_MAX },
		{ "{\"a\":18446744073709551616}", true, UINT64_MAX },
		{ "{\"a\":99999999999999999999999999999999}", true, UINT64_MAX },
		{ "{\"a\":-99999999999999999999999999999999}", true, 0 },
		{ "{\"a\":1.0}", false, 0 }, { "{\"a\":1e3}", false, 0 },
		{ "{\"a\":\"1\"}", false, 0 }, { "{\"a\":true}", false, 0 },
	};
	struct json_member m[CNT];
	struct json_pull j;
	uint64_t v;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_true(find(cases[i].text, m, &j));
		assert_int_equal(json_member_count(&m[A], &v), cases[i].whole);
		assert_true(!cases[i].whole || v == cases[i].v);
	}
}

static void test_what_is_no_object(void **state)
{
	static const char *const texts[] = {
		"", " ", "null", "7", "[]", "\"a\"", "{", "{\"a\"", "{\"a\":", "{\"a\":1",
		"{\"a\":1,", "{\"a\":1,}", "{\"a\":1 \"b\":2}", "{'a':1}", "{\"a\":\"\n\"}",
		"{\"a\":01}", "{\"a\":tru}", "{\"a\":[1,2}", "{\"a\":\"\\x\"}",
	};
	struct json_member m[CNT];
	struct json_pull j;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_false(find(texts[i], m, &j));
		assert_non_null(j.err);
		assert_null(m[A].value.data);
	}
}

static void test_depth_is_bounded(void **state)
{
	char text[2 * 100 + 16];
	struct json_member m[CNT];
	struct json_pull j;
	int depth;

	for (depth = JSON_PULL_DEPTH - 2; depth < 100; depth++) {
		strcpy(text, "{\"a\":");
		memset(text + 5, '[', depth);
		memset(text + 5 + depth, ']', depth);
		strcpy(text + 5 + 2 * depth, "}");
		assert_int_equal(find(text, m, &j), depth < JSON_PULL_DEPTH);
	}
}

/* Bytes that are no UTF-8 come out as they are: who shows them escapes them. */
static void test_invalid_utf8_and_nul(void **state)
{
	struct json_member m[CNT];
	struct buf s = { 0 };
	struct json_pull j;

	assert_true(find("{\"a\":\"\xff\xc0\xaf\",\"b\":\"x\\u0000y\"}", m, &j));
	assert_string(&m[A], "\xff\xc0\xaf");
	assert_true(json_member_string(&m[B], &s));
	assert_int_equal(s.len, 3);
	assert_memory_equal(s.data, "x\0y", 4);
	buf_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_a_key_twice),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_what_is_no_object),
		cmocka_unit_test(test_depth_is_bounded),
		cmocka_unit_test(test_invalid_utf8_and_nul),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	free(copy);
	return failed;
}
