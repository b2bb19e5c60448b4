// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_lru.c - the order in which items go, and the part that one owner may have. */
#include "user/base/lru.c"
#include "tests/unit/tach_test.h"

struct thing {
	int number;
	struct lru_item lru;
};

static struct thing things[64];
static struct lru l;

static void begin(size_t max, size_t owner_max)
{
	int i;

	lru_init(&l, max, owner_max);
	for (i = 0; i < 64; i++)
		things[i] = (struct thing){ .number = i };
}

/* Make room as a table does, and add the thing. Returns the number of what went; -1: nothing. */
static int add(int number, uint32_t owner)
{
	struct thing *gone = LRU_STRUCT(lru_excess(&l, owner), struct thing, lru);

	if (gone)
		lru_remove(&l, &gone->lru);
	assert_int_equal(lru_add(&l, &things[number].lru, owner), 0);
	return gone ? gone->number : -1;
}

static void test_the_oldest_goes(void **state)
{
	begin(3, 3);
	assert_null(lru_oldest(&l));
	assert_int_equal(add(0, 1), -1);
	assert_int_equal(add(1, 2), -1);
	assert_int_equal(add(2, 3), -1);
	lru_use(&l, &things[0].lru);
	assert_int_equal(add(3, 1), 1);
	assert_int_equal(add(4, 1), 2);
	assert_int_equal(add(5, 9), 0);
	assert_int_equal(l.cnt, 3);
	lru_free(&l);
}

/* An owner who has his part loses his own, however long ago the others' were used. */
static void test_quota(void **state)
{
	int i;

	begin(16, 4);
	for (i = 0; i < 4; i++)
		assert_int_equal(add(i, 1000), -1);
	for (; i < 40; i++)
		assert_int_equal(add(i, 1001), i < 8 ? -1 : i - 4);
	assert_int_equal(l.cnt, 8);
	for (i = 0; i < 4; i++)
		assert_int_equal(things[i].lru.owner->uid, 1000);
	lru_free(&l);
}

/* Root has no part of its own; an unknown owner has one. */
static void test_root_and_unknown(void **state)
{
	int i;

	begin(8, 2);
	for (i = 0; i < 8; i++)
		assert_int_equal(add(i, LRU_OWNER_ROOT), -1);
	assert_int_equal(add(8, LRU_OWNER_ROOT), 0);
	lru_remove(&l, &things[1].lru);
	lru_remove(&l, &things[2].lru);
	assert_int_equal(add(9, LRU_OWNER_UNKNOWN), -1);
	assert_int_equal(add(10, LRU_OWNER_UNKNOWN), -1);
	assert_int_equal(add(11, LRU_OWNER_UNKNOWN), 9);
	lru_free(&l);
}

/* Who has most gives his oldest, until he has no more than the other; root gives nothing. */
static void test_who_has_most_gives_way(void **state)
{
	int i;

	begin(40, 40);
	for (i = 0; i < 10; i++)
		add(i, i < 8 ? LRU_OWNER_ROOT : 1000);	/* 8 and 2 */
	assert_null(lru_give_way(&l, 1000));
	assert_ptr_equal(lru_give_way(&l, 1001), &things[8].lru);
	assert_null(lru_give_way(&l, LRU_OWNER_ROOT));
	for (; i < 15; i++)
		add(i, 1001);
	assert_ptr_equal(lru_give_way(&l, 1000), &things[10].lru);
	assert_ptr_equal(lru_give_way(&l, LRU_OWNER_UNKNOWN), &things[10].lru);
	lru_remove(&l, &things[10].lru);
	add(15, 1000);		/* 3 and 4: neither would gain */
	assert_null(lru_give_way(&l, 1000));
	assert_null(lru_give_way(&l, 1001));
	lru_free(&l);
}

/* Owners without items are forgotten; removing twice and using what is in no list is allowed. */
static void test_owners_go(void **state)
{
	uint32_t uid;

	begin(4, 2);
	for (uid = 1; uid <= 10000; uid++) {
		add(0, uid);
		lru_remove(&l, &things[0].lru);
		lru_remove(&l, &things[0].lru);
		lru_use(&l, &things[0].lru);
		assert_null(things[0].lru.owner);
	}
	assert_int_equal(l.owners.cnt, 0);
	assert_int_equal(l.cnt, 0);
	lru_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_oldest_goes),
		cmocka_unit_test(test_quota),
		cmocka_unit_test(test_root_and_unknown),
		cmocka_unit_test(test_who_has_most_gives_way),
		cmocka_unit_test(test_owners_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
