// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_u64map.c - the hash table against a plain array. */
#include "base/u64map.h"
#include "tests/unit/tach_test.h"

#define KEYS 3000

static char values[KEYS];	/* only their addresses are used */

static uint64_t key_of(uint32_t i, int kind)
{
	/* dense (tgids), strided (addresses), spread */
	return kind == 0 ? i : kind == 1 ? 0x7f0000000000 + i * 4096ull : hash_u64(i) << 20;
}

static void test_empty(void **state)
{
	struct u64map m = { 0 };
	size_t pos = 0;

	assert_null(u64map_get(&m, 0));
	assert_null(u64map_remove(&m, 0));
	assert_null(u64map_next(&m, &pos));
	assert_null(u64map_next(&m, &pos));
	assert_int_equal(u64map_put(&m, 0, &values[0]), 0);
	assert_ptr_equal(u64map_get(&m, 0), &values[0]);
	assert_int_equal(u64map_put(&m, 0, &values[1]), 0);
	assert_ptr_equal(u64map_remove(&m, 0), &values[1]);
	assert_int_equal(m.cnt, 0);
	pos = 0;
	assert_null(u64map_next(&m, &pos));
	u64map_free(&m);
	u64map_free(&m);
}

static void compare(const struct u64map *m, char *const *model, int kind)
{
	size_t i, cnt = 0;

	for (i = 0; i < KEYS; i++) {
		assert_ptr_equal(u64map_get(m, key_of(i, kind)), model[i]);
		cnt += model[i] != NULL;
	}
	assert_int_equal(m->cnt, cnt);
	assert_true(m->cnt * 2 <= m->table.cap);
}

static void test_random(void **state)
{
	uint64_t seed = 42;
	int kind, step;

	for (kind = 0; kind < 3; kind++) {
		struct u64map m = { 0 };
		char *model[KEYS] = { NULL };

		for (step = 0; step < 60000; step++) {
			uint32_t i = rnd(&seed) % (step / 20000 * 1450 + 50);
			char *v = &values[rnd(&seed) % KEYS];

			if (rnd(&seed) % 2) {
				assert_int_equal(u64map_put(&m, key_of(i, kind), v), 0);
				model[i] = v;
			} else {
				assert_ptr_equal(u64map_remove(&m, key_of(i, kind)), model[i]);
				model[i] = NULL;
			}
			if (step % 3000 == 0)
				compare(&m, model, kind);
		}
		compare(&m, model, kind);
		u64map_free(&m);
	}
}

/* Every entry comes once, whichever of those that came are removed at once. */
static void iterate_removing(uint32_t cnt, uint64_t *seed, unsigned int remove_of_4)
{
	struct u64map m = { 0 };
	bool seen[KEYS] = { false }, gone[KEYS] = { false };
	uint64_t keys[KEYS];
	uint32_t i, n = 0;
	size_t pos = 0;
	char *v;

	for (i = 0; i < cnt; i++) {
		do
			keys[i] = rnd(seed) >> rnd(seed) % 50;
		while (u64map_get(&m, keys[i]));
		assert_int_equal(u64map_put(&m, keys[i], &values[i]), 0);
	}
	while ((v = u64map_next(&m, &pos))) {
		i = v - values;
		assert_false(seen[i]);
		seen[i] = true;
		n++;
		if (rnd(seed) % 4 < remove_of_4) {
			assert_ptr_equal(u64map_remove(&m, keys[i]), v);
			gone[i] = true;
		}
	}
	assert_int_equal(n, cnt);
	assert_null(u64map_next(&m, &pos));
	for (i = 0; i < cnt; i++)
		assert_ptr_equal(u64map_get(&m, keys[i]), gone[i] ? NULL : &values[i]);
	u64map_free(&m);
}

static void test_remove_while_iterating(void **state)
{
	uint64_t seed = 7;
	int round;

	/* Half-full tables of 16 and 32 slots, where clusters often wrap around the end. */
	for (round = 0; round < 30000; round++)
		iterate_removing(round % 2 ? 8 : 16, &seed, 1 + round % 4);
	for (round = 0; round < 300; round++)
		iterate_removing(rnd(&seed) % 1000, &seed, round % 5);
}

/* A cluster over the end of the table, its head at the last slots. */
static void test_wrapped_cluster(void **state)
{
	struct u64map m = { 0 };
	uint64_t key = 0;
	uint32_t n = 0;
	size_t pos = 0;
	const struct u64map_slot *slots;
	char *v;

	/* 8 entries, all at home in the last but one of 16 slots: they reach slot 5. */
	while (n < 8) {
		if ((hash_u64(++key) & 15) != 14)
			continue;
		assert_int_equal(u64map_put(&m, key, &values[key % KEYS]), 0);
		n++;
	}
	assert_int_equal(m.table.cap, 16);
	slots = (const void *)m.table.slots;
	assert_non_null(slots[15].value);
	assert_non_null(slots[5].value);
	for (n = 0; (v = u64map_next(&m, &pos)); n++) {
		for (key = 0; key < 16; key++)
			if (slots[key].value == v)
				break;
		assert_in_range(key, 0, 15);
		assert_ptr_equal(u64map_remove(&m, slots[key].key), v);
	}
	assert_int_equal(n, 8);
	assert_int_equal(m.cnt, 0);
	u64map_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_remove_while_iterating),
		cmocka_unit_test(test_wrapped_cluster),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
