// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_table.c - the counters of a struct: written, added and subtracted by their description. */
#include "base/table.h"

#include "base/util.h"
#include "tests/unit/tach_test.h"

struct counts {
	uint64_t reads;
	uint32_t files;
	uint64_t ends[2];
	uint64_t hidden;
};

static const struct column columns[] = {
	COLUMN("files", struct counts, files), COLUMN("reads", struct counts, reads),
	COLUMN(NULL, struct counts, ends), COLUMN(NULL, struct counts, hidden),
};
static const struct counts some = { 5, UINT32_MAX, { 1, UINT64_MAX - 1 }, 9 };

static void test_json(void **state)
{
	char text[128] = "";
	FILE *f = fmemopen(text, sizeof(text), "w");
	struct json j;

	assert_non_null(f);
	json_start(&j, f, false);
	json_object(&j, NULL);
	table_json(&j, columns, ARRAY_SIZE(columns), &some);
	json_object_end(&j);
	fclose(f);
	assert_string_equal(text, "{\"files\":4294967295,\"reads\":5}");
}

static void test_add(void **state)
{
	struct counts sum = { 1, 0, { 2, 1 }, 3 };

	table_add(columns, ARRAY_SIZE(columns), &sum, &some);
	assert_true(sum.reads == 6 && sum.files == UINT32_MAX && sum.hidden == 12);
	assert_true(sum.ends[0] == 3 && sum.ends[1] == UINT64_MAX);
}

/* What was counted before is not more than now, but for what is counted again from 0. */
static void test_subtract(void **state)
{
	const struct counts before = { 4, UINT32_MAX - 1, { 2, 1 }, 9 };
	struct counts now = some;

	table_subtract(columns, ARRAY_SIZE(columns), &now, &before);
	assert_true(now.reads == 1 && now.files == 1 && !now.hidden);
	assert_true(!now.ends[0] && now.ends[1] == UINT64_MAX - 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json), cmocka_unit_test(test_add),
		cmocka_unit_test(test_subtract),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
