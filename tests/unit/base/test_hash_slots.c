// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_hash_slots.c - the hash table against a plain array, with hashes from good to one for
 * all records; the index of an array, whose elements it finds by what is in them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash_index.h"
#include "base/hash_slots.h"
#include "base/util.h"

#define KEYS 500

struct record {
	uint32_t key, value;	/* value 0: free */
	char rest[24];
};

static bool record_used(const void *slot)
{
	return ((const struct record *)slot)->value;
}

/* ctx: of how many hashes there are. */
static uint64_t record_hash(const void *record, const void *ctx)
{
	return hash_u64(((const struct record *)record)->key) % *(const uint64_t *)ctx;
}

static bool record_same(const void *slot, const void *key, const void *ctx)
{
	return ((const struct record *)slot)->key == ((const struct record *)key)->key;
}

static const struct hash_kind kind = {
	.bytes = sizeof(struct record), .cap_min = 8,
	.used = record_used, .hash = record_hash, .same = record_same,
};

/* How many slots behind its first one a slot is. */
static size_t steps(const struct hash_slots *t, const struct record *slot, uint64_t hash)
{
	return ((size_t)((const uint8_t *)slot - t->slots) / sizeof(*slot) - hash) & (t->cap - 1);
}

static void check_all(const struct hash_slots *t, const uint32_t values[KEYS],
		      const uint64_t *hashes)
{
	struct record key = { 0 }, *found, *near;
	size_t cnt = 0;

	for (; key.key < KEYS; key.key++) {
		near = hash_slots_near(t, &kind, &key, hashes);
		assert_true((uint8_t *)near >= t->slots &&
			    (uint8_t *)(near + 1) <= t->slots + t->cap * sizeof(*near));
		found = hash_slots_find(t, &kind, &key, hashes);
		assert_int_equal(found->value, values[key.key]);
		assert_true(!found->value || found->rest[23] == 'r');
		if (near->value && near->key == key.key)
			assert_ptr_equal(near, found);
		else if (found->value)	/* it is at neither of its first two slots */
			assert_true(steps(t, found, record_hash(&key, hashes)) > 1);
		cnt += !!values[key.key];
	}
	assert_int_equal(t->cnt, cnt);
}

static void put(struct hash_slots *t, uint32_t key, uint32_t value, const uint64_t *hashes)
{
	const struct record wanted = { .key = key };
	struct record *slot;

	assert_int_equal(hash_slots_reserve(t, &kind, hashes), 0);
	slot = hash_slots_find(t, &kind, &wanted, hashes);
	t->cnt += !slot->value;
	*slot = (struct record){ .key = key, .value = value, .rest[23] = 'r' };
}

static void drop(struct hash_slots *t, uint32_t key, const uint64_t *hashes)
{
	const struct record wanted = { .key = key };
	struct record *slot = hash_slots_find(t, &kind, &wanted, hashes);

	if (slot->value)
		hash_slots_remove(t, &kind, slot, hashes);
}

static void test_against_an_array(void **state)
{
	static const uint64_t hashes[] = { UINT64_MAX, 64, 7, 1 };
	uint32_t values[KEYS], round, key;
	unsigned int seed = 1;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(hashes); i++) {
		struct hash_slots t = { 0 };

		memset(values, 0, sizeof(values));
		for (round = 1; round < 6000; round++) {
			key = rand_r(&seed) % KEYS;
			/* It grows, shrinks and grows again. */
			if (rand_r(&seed) % 4 < (round / 1500 % 2 ? 1 : 3)) {
				values[key] = round;
				put(&t, key, round, &hashes[i]);
			} else if (t.cap) {
				values[key] = 0;
				drop(&t, key, &hashes[i]);
			}
			assert_true(t.cnt <= t.cap / 2);
			if (round % 250 == 0)
				check_all(&t, values, &hashes[i]);
		}
		memset(values, 0, sizeof(values));
		hash_slots_clear(&t, &kind);
		check_all(&t, values, &hashes[i]);
		hash_slots_free(&t);
		assert_int_equal(t.cap, 0);
	}
}

static bool number_equal(const void *array, uint32_t number, const void *key)
{
	return ((const uint64_t *)array)[number] == *(const uint64_t *)key;
}

static void test_index(void **state)
{
	static uint64_t array[3000];
	/* Good hashes; few, so that equal ones are of different elements. */
	static const uint32_t masks[] = { UINT32_MAX, 15, 0 };
	uint32_t number = 0, hash, cnt;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		struct hash_index x = { 0 };
		struct hash_index_slot *slot;
		uint64_t key = 5;

		assert_false(hash_index_find(&x, 1, number_equal, array, &key, &number));
		for (cnt = 0; cnt < ARRAY_SIZE(array) >> 2 * i; cnt++) {
			array[cnt] = cnt * 3;
			hash = (uint32_t)hash_u64(array[cnt]) & masks[i];
			assert_int_equal(hash_index_reserve(&x), 0);
			slot = hash_index_slot_of(&x, hash, number_equal, array, &array[cnt]);
			assert_int_equal(slot->number_1, 0);
			hash_index_fill(&x, slot, hash, cnt);
		}
		for (key = 0; key < 3 * cnt; key++) {
			hash = (uint32_t)hash_u64(key) & masks[i];
			assert_int_equal(hash_index_find(&x, hash, number_equal, array, &key,
							 &number), key % 3 == 0);
			assert_true(key % 3 || number == key / 3);
		}
		hash_index_free(&x);
	}
}

static void test_full_index(void **state)
{
	struct hash_index x = { 0 };

	x.table.cnt = HASH_INDEX_MAX;
	assert_int_equal(hash_index_reserve(&x), -ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_an_array),
		cmocka_unit_test(test_index),
		cmocka_unit_test(test_full_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
