// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_shared_names.c - who shares a table, how long it lives, and whose budget has it. */
#define JOIN_BYTES_MAX ((size_t)64 << 10)
#include "user/resolve/shared_names.c"
#include "tests/unit/tach_test.h"

/* Only compared. */
static const struct cpython_image *image(uintptr_t number)
{
	return (const struct cpython_image *)(number * 16);
}

static void test_who_shares(void **state)
{
	struct shared_names *a = shared_names_join(image(1), 1000);
	struct shared_names *same = shared_names_join(image(1), 1000);
	struct shared_names *other_image = shared_names_join(image(2), 1000);
	struct shared_names *other_user = shared_names_join(image(1), 1001);
	uint32_t id;

	assert_ptr_equal(a, same);
	assert_ptr_not_equal(a, other_image);
	assert_ptr_not_equal(a, other_user);
	assert_int_equal(intern_string(shared_names_table(a), "f", 1, &id), 0);
	assert_true(intern_find_string(shared_names_table(same), "f", 1, &id));
	assert_false(intern_find_string(shared_names_table(other_user), "f", 1, &id));
	shared_names_leave(a);
	/* It lives as long as somebody has it. */
	assert_true(intern_find_string(shared_names_table(same), "f", 1, &id));
	shared_names_leave(other_user);
	shared_names_leave(same);
	shared_names_leave(other_image);
	shared_names_leave(NULL);
	assert_null(first);
}

static void fill(struct shared_names *s)
{
	char text[32];
	uint32_t id, i;

	for (i = 0; intern_bytes(shared_names_table(s)) <= JOIN_BYTES_MAX; i++) {
		snprintf(text, sizeof(text), "name %u", i);
		assert_int_equal(intern_string(shared_names_table(s), text, strlen(text), &id), 0);
	}
}

/* A long-lived process does not keep the names of all that come and go beside it. */
static void test_large_tables(void **state)
{
	struct shared_names *stays = shared_names_join(image(1), 1000), *next, *last;

	fill(stays);
	next = shared_names_join(image(1), 1000);
	assert_ptr_not_equal(next, stays);
	last = shared_names_join(image(1), 1000);
	assert_ptr_equal(last, next);
	shared_names_leave(last);
	shared_names_leave(stays);
	shared_names_leave(next);
	assert_null(first);
}

/* What a process charged stays charged until the table goes. */
static void test_budget(void **state)
{
	struct budget *b = budget_join(1000);
	struct shared_names *one = shared_names_join(image(1), 1000);
	struct shared_names *two = shared_names_join(image(1), 1000);

	b->names += 100;
	shared_names_take(one, 100);
	shared_names_leave(one);
	assert_int_equal(b->names, 100);
	shared_names_leave(two);
	assert_int_equal(b->names, 0);
	budget_leave(b);
	/* Root has none. */
	one = shared_names_join(image(1), 0);
	shared_names_take(one, 100);
	shared_names_leave(one);
}

/* Of many tables only the last ones are looked at. */
static void test_many(void **state)
{
	struct shared_names *all[LOOKS_MAX + 1], *again;
	uint32_t i;

	for (i = 0; i <= LOOKS_MAX; i++)
		all[i] = shared_names_join(image(1), 1000 + i);
	again = shared_names_join(image(1), 1001);
	assert_ptr_equal(again, all[1]);
	shared_names_leave(again);
	again = shared_names_join(image(1), 1000);
	assert_ptr_not_equal(again, all[0]);
	shared_names_leave(again);
	for (i = 0; i <= LOOKS_MAX; i++)
		shared_names_leave(all[i]);
	assert_null(first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_shares),
		cmocka_unit_test(test_large_tables),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
