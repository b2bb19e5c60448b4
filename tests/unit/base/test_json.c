// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_json.c - what the writer writes, hostile strings above all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/util.h"
#include "model/thread_names.h"

static char *text;
static size_t text_len;

static struct json begin(bool pretty)
{
	struct json j;

	free(text);
	json_start(&j, open_memstream(&text, &text_len), pretty);
	return j;
}

static const char *finish(struct json *j)
{
	assert_int_equal(j->depth, 0);
	fclose(j->to);
	return text;
}

static void test_shapes(void **state)
{
	struct json j = begin(false);

	json_object(&j, NULL);
	json_array(&j, "a");
	json_int(&j, NULL, -1);
	json_uint(&j, NULL, UINT64_MAX);
	json_object(&j, NULL);
	json_object_end(&j);
	json_array_end(&j);
	json_bool(&j, "b", true);
	json_null(&j, "n");
	json_string(&j, "none", NULL);
	json_ref(&j, "ref", &(struct string_ref){ "abc", 2 });
	json_uint_known(&j, "id", 7);
	json_uint_known(&j, "no_id", 0);
	json_array(&j, "empty");
	json_array_end(&j);
	json_object_end(&j);
	assert_string_equal(finish(&j), "{\"a\":[-1,18446744073709551615,{}],\"b\":true,"
					"\"n\":null,\"none\":null,\"ref\":\"ab\",\"id\":7,"
					"\"no_id\":null,\"empty\":[]}");
}

static void test_pretty(void **state)
{
	struct json j = begin(true);

	json_object(&j, NULL);
	json_array(&j, "a");
	json_int(&j, NULL, 1);
	json_int(&j, NULL, 2);
	json_array_end(&j);
	json_object_end(&j);
	assert_string_equal(finish(&j), "{\n  \"a\": [\n    1,\n    2\n  ]\n}\n");
}

static void test_doubles(void **state)
{
	static const double values[] = { 0, 0.1, 1e300, 5e-324, 1.0 / 3, 499.97574122387863 };
	struct json j;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		j = begin(false);
		json_double(&j, NULL, values[i]);
		assert_true(strtod(finish(&j), NULL) == values[i]);
	}
	j = begin(false);
	json_array(&j, NULL);
	json_double(&j, NULL, 0.1);
	json_double(&j, NULL, NAN);
	json_double(&j, NULL, -INFINITY);
	json_array_end(&j);
	assert_string_equal(finish(&j), "[0.1,null,null]");
}

#define FFFD "\xef\xbf\xbd"

static void test_strings(void **state)
{
	static const struct {
		const char *in;
		size_t len;
		const char *out;
	} cases[] = {
		{ "", 0, "\"\"" },
		{ "plain", 5, "\"plain\"" },
		{ "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x90\x8d", 15,
		  "\"na\xc3\xafve \xe2\x82\xac \xf0\x9f\x90\x8d\"" },
		{ "q\" b\\ n\n t\t", 11, "\"q\\\" b\\\\ n\\n t\\t\"" },
		{ "nul\0in", 6, "\"nul\\u0000in\"" },
		{ "\x1b[31m\x7f", 6, "\"\\u001b[31m\\u007f\"" },
		{ "c1 \xc2\x9b", 5, "\"c1 \\u009b\"" },
		{ "bidi \xe2\x80\xae", 8, "\"bidi \\u202e\"" },
		{ "\xe2\x80\x8b\xf3\xa0\x81\x81", 7, "\"\\u200b\\udb40\\udc41\"" },
		{ "\xff\xfe", 2, "\"" FFFD FFFD "\"" },
		{ "\xc3", 1, "\"" FFFD "\"" },
		{ "\xc0\xaf", 2, "\"" FFFD FFFD "\"" },
		{ "\xed\xa0\x80", 3, "\"" FFFD FFFD FFFD "\"" },
		{ "\xf4\x90\x80\x80", 4, "\"" FFFD FFFD FFFD FFFD "\"" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json j = begin(false);

		json_string_n(&j, NULL, cases[i].in, cases[i].len);
		assert_string_equal(finish(&j), cases[i].out);
	}
}

/*
 * Any bytes, as key and as value: printable UTF-8, and four quotes that end
 * strings. (tests/e2e/files/test_commands.py has Python's parser read hostile names.)
 */
static void test_noise(void **state)
{
	unsigned int seed = 1, round, i, quotes;
	char noise[65];
	uint32_t cp;
	size_t n;

	for (round = 0; round < 5000; round++) {
		struct json j = begin(false);
		const char *s;

		for (i = 0; i < sizeof(noise) - 1; i++)
			noise[i] = rand_r(&seed) % 255 + 1;
		noise[i] = '\0';
		json_object(&j, NULL);
		json_string(&j, noise, noise);
		json_object_end(&j);
		finish(&j);
		for (s = text, quotes = 0; *s; s += n) {
			n = utf8_char(s, text + text_len - s, &cp);
			assert_true(n && utf8_printable(cp));
			quotes += cp == '"';
			if (cp == '\\')
				n = 2;
		}
		assert_int_equal(s - text, text_len);
		assert_int_equal(quotes, 4);
	}
}

static void test_thread_names(void **state)
{
	struct thread_names *t = thread_names_new();
	struct json j = begin(false);

	thread_names_set(t, 3, "w");
	thread_names_set(t, 4, "gone");
	thread_names_set(t, 4, "");
	thread_names_set(t, 5, "\"\xff\x1b");
	json_array(&j, NULL);
	json_object(&j, NULL);
	thread_names_json(&j, t);
	json_object_end(&j);
	json_object(&j, NULL);
	thread_names_json(&j, NULL);
	json_object_end(&j);
	json_array_end(&j);
	assert_string_equal(finish(&j), "[{\"thread_names\":{\"3\":\"w\","
					"\"5\":\"\\\"\xef\xbf\xbd\\u001b\"}},{}]");
	thread_names_drop(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes), cmocka_unit_test(test_pretty),
		cmocka_unit_test(test_doubles), cmocka_unit_test(test_strings),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_thread_names),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	free(text);
	return failed;
}
