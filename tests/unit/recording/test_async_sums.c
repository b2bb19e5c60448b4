// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_async_sums.c - what a recording with --async says of the stacks of tasks. */
#include "tests/unit/tach_test.h"

#include "recording/sums.c"
#include "resolve/process.h"

static const struct async_stats some = {
	.shown = 90, .several = 4, .eager = 5, .no_end = 1,
	.ends = { [ASYNC_DEPTH] = 2, [ASYNC_FOREIGN] = 7 },
};

static void test_sums(void **state)
{
	struct process_stats sum = { .async = some }, one = { .async = some };

	async_stats_add(&sum.async, &some);
	assert_int_equal(sum.async.shown, 180);
	assert_int_equal(async_stats_kept(&sum.async), 20);
	assert_int_equal(async_stats_stacks(&sum.async), 210);
	stats_since(&sum, &one);
	assert_memory_equal(&sum.async, &some, sizeof(some));
	stats_since(&sum, &one);
	assert_int_equal(async_stats_stacks(&sum.async) + sum.async.several, 0);
}

/* What async_print() writes, to be freed. */
static char *printed(const struct async_stats *s, const struct async_others *others)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	async_print(s, others, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void test_summary(void **state)
{
	char *text = printed(&some, NULL);

	assert_non_null(strstr(text, "in asyncio tasks"));
	assert_non_null(strstr(text, "105"));
	assert_non_null(strstr(text, "more than 16 awaiting tasks"));
	assert_non_null(strstr(text, "not Python's"));
	assert_non_null(strstr(text, "run in their creator"));
	assert_non_null(strstr(text, "show the first one"));
	assert_null(strstr(text, "could not be read"));
	assert_null(strstr(text, "no known task"));
	free(text);
	text = printed(&(struct async_stats){ .shown = 1, .unfound = 3 }, NULL);
	assert_non_null(strstr(text, "75.000 % of these stacks"));
	assert_non_null(strstr(text, "3  coroutines of no known task"));
	free(text);
	text = printed(&(struct async_stats){ .shown = 1 }, NULL);
	assert_null(strstr(text, "eager"));
	assert_null(strstr(text, "several"));
	free(text);
}

/* A process has what occurred, the recording all. */
static void test_json(void **state)
{
	static const struct async_stats none = { .shown = 1 }, s = { .shown = 1, .unfound = 3 };
	struct json j;
	size_t len;
	char *text;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	json_start(&j, out, false);
	json_object(&j, NULL);
	async_json(&j, &none, NULL, false);
	async_json(&j, &s, NULL, false);
	json_object_end(&j);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text, "\"eager\":0}"));
	assert_non_null(strstr(text, "\"eager\":0,\"async_unfound\":3}"));
	free(text);
}

/* Callbacks that may be awaiters' have their names, which the program has chosen. */
static void test_others(void **state)
{
	static const struct async_stats s = { .shown = 9, .ends = { [ASYNC_SHAPE] = 6 } };
	static const struct async_others others = {
		.cnt = 2, .rest = 1, .other = { { "Waker.\033[31mwake", 3 }, { "others", 2 } },
	};
	char *text = printed(&s, &others);
	struct json j;
	size_t len;
	FILE *out;

	assert_non_null(strstr(text, "3  Waker."));
	assert_null(strchr(text, '\033'));
	assert_non_null(strstr(text, "2  others\n"));
	assert_non_null(strstr(text, "1  (further names)"));
	free(text);
	out = open_memstream(&text, &len);
	assert_non_null(out);
	json_start(&j, out, false);
	json_object(&j, NULL);
	async_json(&j, &s, &others, true);
	json_object_end(&j);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text, "\"async_other\":6"));
	assert_non_null(strstr(text, "\"async_other_names\":{\"Waker.\\u001b[31mwake\":3,"
				     "\"others\":2},\"async_other_rest\":1"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_summary),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
