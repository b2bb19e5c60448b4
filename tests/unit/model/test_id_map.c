// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_id_map.c - numbers of ids, forgotten all at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/id_map.h"

static void test_set_and_forget(void **state)
{
	struct id_map m = { 0 };
	uint32_t v = 7, i;

	assert_false(id_map_get(&m, 0, &v) || id_map_get(&m, UINT32_MAX, &v));
	for (i = 0; i < 5000; i++) {
		assert_false(id_map_get(&m, i, &v));
		assert_int_equal(id_map_set(&m, i, i * 3), 0);
	}
	assert_true(id_map_get(&m, 4999, &v) && v == 4999 * 3);
	assert_true(id_map_get(&m, 0, &v) && v == 0);
	id_map_clear(&m);
	for (i = 0; i < 6000; i++)
		assert_false(id_map_get(&m, i, &v));
	assert_int_equal(id_map_set(&m, 5, UINT32_MAX), 0);
	assert_true(id_map_get(&m, 5, &v) && v == UINT32_MAX);
	assert_false(id_map_get(&m, 4, &v));
	id_map_free(&m);
	assert_false(id_map_get(&m, 5, &v));
	assert_int_equal(id_map_set(&m, 5, 1), 0);
	assert_true(id_map_get(&m, 5, &v) && v == 1);
	id_map_free(&m);
}

/* After four billion rounds a number of the first one is not there again. */
static void test_rounds_end(void **state)
{
	struct id_map m = { 0 };
	uint32_t v;

	assert_int_equal(id_map_set(&m, 1, 10), 0);
	m.round = UINT32_MAX - 2;
	assert_int_equal(id_map_set(&m, 2, 20), 0);
	assert_true(id_map_get(&m, 2, &v) && v == 20);
	id_map_clear(&m);
	assert_int_equal(m.round, 0);
	assert_false(id_map_get(&m, 1, &v) || id_map_get(&m, 2, &v));
	id_map_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set_and_forget), cmocka_unit_test(test_rounds_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
