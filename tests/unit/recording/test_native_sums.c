// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_native_sums.c - sums over processes, and what session.json and the summary say of them. */
#include "recording/sums.h"

#include "base/json.h"
#include "recording/capture_counts.h"
#include "resolve/process.h"
#include "tests/unit/tach_test.h"

static const struct process_stats one = {
	.native_frames = 100, .native_unnamed = 10, .merge_uncertain = 1,
	.native_changed = 2,
	.native_ends = { [NATIVE_WHOLE] = 15, [NATIVE_JIT] = 4, [NATIVE_NO_ROW] = 1 },
};

static char text[4096];

static void begin(FILE **f)
{
	memset(text, 0, sizeof(text));
	*f = fmemopen(text, sizeof(text), "w");
	assert_non_null(*f);
}

static void assert_has(const char *part)
{
	if (!strstr(text, part))
		fail_msg("no %s in\n%s", part, text);
}

static void test_sums(void **state)
{
	struct native_sums sum = { .frames = 1 };

	native_sums_add(&sum, &one);
	native_sums_add(&sum, &one);
	assert_true(sum.frames == 201 && sum.unnamed == 20 && sum.uncertain == 2 &&
		    sum.changed == 4);
	assert_int_equal(native_sums_stacks(&sum), 40);
	assert_int_equal(native_sums_cut(&sum), 10);
}

static void test_a_part_of_a_process(void **state)
{
	struct process_stats s = one;

	stats_add(&s, &one);
	stats_since(&s, &one);
	assert_memory_equal(&s, &one, sizeof(s));
}

/* Each end has a key of its own, and a text. */
static void test_ends_have_names(void **state)
{
	int i, k;

	for (i = 0; i < NATIVE_END_CNT; i++) {
		assert_true(*native_end_names[i].key && *native_end_names[i].text);
		assert_int_equal(strspn(native_end_names[i].key, "abcdefghijklmnopqrstuvwxyz_"),
				 strlen(native_end_names[i].key));
		for (k = 0; k < i; k++)
			assert_string_not_equal(native_end_names[i].key, native_end_names[k].key);
	}
}

static void test_json(void **state)
{
	const struct capture_counts c = { .native = { .files = 3, .tables = 2, .stuck = 1 } };
	struct native_sums sum = { .frames = 0 };
	struct json j;
	FILE *f;

	native_sums_add(&sum, &one);
	begin(&f);
	json_start(&j, f, false);
	json_object(&j, NULL);
	native_json(&j, &sum, &c);
	json_object_end(&j);
	fclose(f);
	assert_has("\"frames\":100,\"unnamed\":10,\"uncertain\":1,\"changed\":2,"
		   "\"ends\":{\"whole\":15,");
	assert_has("\"no_unwind_information\":1,\"unsupported\":0,");
	assert_has("\"files\":3,\"tables\":2,");
	begin(&f);
	json_start(&j, f, false);
	json_object(&j, NULL);
	native_json_process(&j, &one);
	json_object_end(&j);
	fclose(f);
	assert_string_equal(text, "{\"native\":{\"frames\":100,\"unnamed\":10,\"uncertain\":1,"
			    "\"changed\":2,\"ends\":{\"whole\":15,\"jit\":4,"
			    "\"no_unwind_information\":1}}}");
}

static void test_summary(void **state)
{
	const struct capture_counts none = { .received = 0 };
	const struct capture_counts all = { .native = { .tables_evicted = 1, .processes_cut = 2,
							.stuck = 3, .helper_restarts = 4 } };
	struct native_sums sum = { .frames = 0 };
	FILE *f;

	native_sums_add(&sum, &one);
	begin(&f);
	native_print(&sum, &none, 400, f);
	fclose(f);
	assert_has("native frames               100   25.000 % of the frames\n");
	assert_has("without a symbol             10   10.000 % of these");
	assert_has("partly unwound                5   25.000 % of the native stacks\n");
	assert_has("               4  JIT code\n");
	assert_has("uncertain order               1    5.000 %");
	assert_has("changed code                  2   10.000 %");
	assert_null(strstr(text, "helper"));
	assert_null(strstr(text, "time limit"));
	begin(&f);
	native_print(&sum, &all, 400, f);
	fclose(f);
	assert_has("tables dropped                1  ");
	assert_has("too many mappings             2  ");
	assert_has("stuck libraries               3  ");
	assert_has("helper restarts               4  ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums), cmocka_unit_test(test_a_part_of_a_process),
		cmocka_unit_test(test_ends_have_names), cmocka_unit_test(test_json),
		cmocka_unit_test(test_summary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
