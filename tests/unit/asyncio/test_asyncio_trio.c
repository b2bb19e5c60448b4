// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_asyncio_trio.c - trio's tasks in 3.8 to 3.13, in memory that stays, changes, and lies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "asyncio/task_read.h"
#include "tests/unit/asyncio/fake_trio.h"

#define EACH_TRIO(minor, big) \
	for (unsigned int minor = 8; minor <= 13; minor++) \
		for (unsigned int big = 0; big < 2; big++)

static struct fake_trio f;
static struct task_lists lists;
static struct tasks_batch batch;

static void make(unsigned int minor, bool big)
{
	assert_true(fake_trio_make(&f, minor, big));
}

static int read_lists(void)
{
	return task_lists_read(&f.h.target, &f.h.at, &lists);
}

static int read_tasks(uint64_t node)
{
	f.h.at.node = node;
	return tasks_read(&f.h.target, &f.h.at, UINT64_MAX, &batch);
}

static const struct task_row *row_of(uint64_t task)
{
	uint32_t i;

	for (i = 0; i < batch.row_cnt; i++)
		if (batch.rows[i].addr == task)
			return &batch.rows[i];
	fail();
	return NULL;
}

/* One of the two interpreters has trio: one thread runs it. */
static void test_the_list(void **state)
{
	EACH_TRIO(minor, big) {
		uint64_t task;

		make(minor, big);
		task = fake_trio_task(&f, 3, "a", 0);
		fake_add(&f.h.t, f.of_thread, fake_str(&f.h.t, &f.h.types, "task"), task);
		assert_int_equal(read_lists(), 0);
		assert_true(lists.cnt == 1 && !lists.cut);
		assert_true(lists.list[0].head == f.set && lists.list[0].running == task);
		assert_int_equal(lists.list[0].tid, FAKE_TID);
	}
}

static void test_tasks(void **state)
{
	EACH_TRIO(minor, big) {
		uint64_t root, one, two, nursery;

		make(minor, big);
		root = fake_trio_task(&f, 60, "<init>", 0);
		nursery = fake_nursery(&f, root);
		one = fake_trio_task(&f, 7, "one", nursery);
		two = fake_trio_task(&f, 5, "two", fake_nursery(&f, one));
		assert_int_equal(read_tasks(0), 0);
		assert_true(batch.end == TASKS_DONE && batch.row_cnt == 3);
		assert_string_equal(row_of(root)->name, "<init>");
		assert_string_equal(row_of(one)->name, "one");
		assert_true(!row_of(root)->waiter_cnt && !row_of(root)->flags);
		assert_true(row_of(one)->waiter_cnt == 1 && row_of(two)->waiter_cnt == 1);
		assert_true(batch.waiters[row_of(one)->waiter_at] == root);
		assert_true(batch.waiters[row_of(two)->waiter_at] == one);
		assert_true(row_of(root)->order == 1 && row_of(two)->order == 3);
	}
}

/* Each task is read once, whatever the size of a batch. */
static void test_in_batches(void **state)
{
	uint64_t seen = 0, node = 0;
	uint32_t i, calls = 0;

	make(12, false);
	for (i = 0; i < 7; i++)
		fake_trio_task(&f, i * 9, "t", 0);
	f.h.at.max = 2;
	do {
		assert_int_equal(read_tasks(node), 0);
		assert_true(batch.row_cnt <= 2 && batch.end != TASKS_LOST);
		for (i = 0; i < batch.row_cnt; i++)
			seen |= 1ull << batch.rows[i].order;
		node = batch.next;
	} while (batch.end == TASKS_MORE && ++calls < 10);
	assert_true(seen == 0xfe && calls == 3);
	f.h.at.count = 1;
	assert_int_equal(read_tasks(0), 0);
	assert_int_equal(batch.counted, 7);
}

static void test_not_loaded(void **state)
{
	make(12, false);
	fake_put(&f.h, f.h.interp + 64, fake_dict(&f.h.t, fake_keys(&f.h.t, false), 0));
	assert_int_equal(read_lists(), -ENOENT);
	f.h.at.objects.interp_modules = 0;
	assert_int_equal(read_lists(), -EOPNOTSUPP);
}

/* It is imported, but no thread runs it. */
static void test_not_running(void **state)
{
	make(12, false);
	fake_put(&f.h, f.of_thread + 24, 0);		/* dk_nentries */
	assert_int_equal(read_lists(), 0);
	assert_true(!lists.cnt && !lists.cut);
}

/* The circle is the tree's concern: see test_task_tree.c. */
static void test_circle(void **state)
{
	uint64_t a, b;

	make(12, false);
	a = fake_trio_task(&f, 1, "a", 0);
	b = fake_trio_task(&f, 2, "b", fake_nursery(&f, a));
	fake_put(&f.h, a + f.h.t.head + FAKE_TASK_NURSERY, fake_nursery(&f, b));
	assert_int_equal(read_tasks(0), 0);
	assert_true(batch.row_cnt == 2 && batch.waiters[row_of(a)->waiter_at] == b);
}

static void test_no_set(void **state)
{
	uint64_t mask = 0;

	make(12, false);
	mask = f.set + f.h.t.head + 16;
	fake_put(&f.h, mask, 62);
	assert_int_equal(read_tasks(0), -EBADMSG);
	fake_put(&f.h, mask, UINT64_MAX >> 8);
	assert_int_equal(read_tasks(0), -EBADMSG);
	fake_put(&f.h, mask, 63);
	fake_put(&f.h, f.set + f.h.t.head + 8, 64);
	assert_int_equal(read_tasks(0), -EBADMSG);
	assert_true(batch.end == TASKS_LOST && !batch.row_cnt);
}

/* 2^32 slots, of which some are there: the reads are limited. */
static void test_endless_set(void **state)
{
	make(12, false);
	fake_put(&f.h, f.set + f.h.t.head + 16, UINT32_MAX);
	f.h.t.reads = 0;
	read_tasks(0);
	assert_true(f.h.t.reads <= TASK_READS_MAX && batch.end == TASKS_LOST);
}

static uint64_t other_table;
static void move_table(struct fake_homes *h, uint64_t addr)
{
	if (h->t.reads == 4)
		fake_put(h, f.set + h->t.head + 24, other_table);
}

static void test_table_moves(void **state)
{
	make(12, false);
	fake_trio_task(&f, 1, "a", 0);
	other_table = fake_take(&f.h.t, 1024);
	f.h.before = move_table;
	f.h.t.reads = 0;
	assert_int_equal(read_tasks(0), 0);
	assert_int_equal(batch.end, TASKS_LOST);
}

static void test_lying_slots(void **state)
{
	uint64_t at, keys, member, entry;

	make(12, false);
	fake_trio_task(&f, 1, "a", 0);
	keys = fake_see(&f.h, fake_see(&f.h, f.task_type + f.h.t.head + 248) + f.h.t.head + 16);
	entry = fake_see(&f.h, keys + 32 + FAKE_KEYS_MAX + 8);
	member = fake_see(&f.h, entry + f.h.t.head + 24);
	for (at = 0; at < 4; at++) {
		static const uint64_t lies[] = { 0, 9, PY_SLOT_MAX + 8, UINT64_MAX - 7 };

		fake_put(&f.h, member + 16, lies[at]);
		assert_int_equal(read_tasks(0), 0);
		assert_true(batch.row_cnt == 0 && batch.end == TASKS_DONE);
	}
	fake_put(&f.h, member + 16, f.h.t.head);
	assert_int_equal(read_tasks(0), 0);
	assert_int_equal(batch.row_cnt, 1);
	fake_poke(&f.h.t, member + 8, 6, 4);		/* no object */
	assert_int_equal(read_tasks(0), 0);
	assert_int_equal(batch.row_cnt, 0);
}

/* Whichever read fails: what is said is well-formed. */
static void test_each_read_fails(void **state)
{
	uint32_t all, i;

	make(11, false);
	fake_trio_task(&f, 1, "a", fake_nursery(&f, fake_trio_task(&f, 2, "b", 0)));
	f.h.t.reads = 0;
	assert_int_equal(read_lists(), 0);
	assert_int_equal(read_tasks(0), 0);
	all = f.h.t.reads;
	for (i = 1; i <= all; i++) {
		f.h.t.reads = 0;
		f.h.t.fail_at = i;
		read_lists();
		assert_true(lists.cnt <= 1);
		read_tasks(0);
		assert_true(batch.row_cnt <= 2 && batch.frame_cnt == 0 && batch.waiter_cnt <= 2);
	}
}

static void test_subclasses(void **state)
{
	uint64_t base, below, last, keys, out[8];
	struct py_walk w;
	uint32_t cnt;

	make(12, false);
	base = fake_class(&f.h, "Base", true, NULL, 0);
	below = fake_class(&f.h, "Below", true, &base, 1);
	last = fake_class(&f.h, "Last", true, &below, 1);
	keys = fake_keys(&f.h.t, true);
	fake_add(&f.h.t, keys, f.h.types.none, fake_ref(&f.h, below));
	fake_put(&f.h, base + f.h.t.head + 344, fake_dict(&f.h.t, keys, 0));
	keys = fake_keys(&f.h.t, true);
	fake_add(&f.h.t, keys, f.h.types.none, fake_ref(&f.h, last));
	fake_add(&f.h.t, keys, f.h.types.none, fake_ref(&f.h, base));	/* a circle */
	fake_put(&f.h, below + f.h.t.head + 344, fake_dict(&f.h.t, keys, 0));
	py_walk_init(&w, &f.h.target, &f.h.at.objects, 1000);
	assert_int_equal(py_subclasses(&w, base, out, 8, &cnt), 0);
	assert_true(cnt == 3 && out[0] == base && out[1] == below && out[2] == last);
	assert_int_equal(py_subclasses(&w, base, out, 2, &cnt), 0);
	assert_int_equal(cnt, 2);
	assert_int_equal(py_subclasses(&w, f.set, out, 2, &cnt), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_list),
		cmocka_unit_test(test_tasks),
		cmocka_unit_test(test_in_batches),
		cmocka_unit_test(test_not_loaded),
		cmocka_unit_test(test_not_running),
		cmocka_unit_test(test_circle),
		cmocka_unit_test(test_no_set),
		cmocka_unit_test(test_endless_set),
		cmocka_unit_test(test_table_moves),
		cmocka_unit_test(test_lying_slots),
		cmocka_unit_test(test_each_read_fails),
		cmocka_unit_test(test_subclasses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
