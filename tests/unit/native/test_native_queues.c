// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_native_queues.c - whose file is next, and who pays for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "native/native_queues.h"

#define HOSTILE 1000
#define VICTIM 1001
#define FILES 200

static struct native *n;
static struct file files[FILES + 8];

static int setup(void **state)
{
	size_t i;

	n = calloc(1, sizeof(*n));
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		files[i] = (struct file){ .stage = FILE_READY };
	n->now = 100 * NS_PER_S;
	return n ? 0 : -1;
}

static int teardown(void **state)
{
	free(n);
	return 0;
}

static void want(struct file *f, uint32_t uid)
{
	file_wanted_by(n, f, uid);
	f->wanted_cnt++;
	file_push(n, QUEUE_NAMES, f);
}

/* The helper works at the next file for this time, as native_ask and native_answers do. */
static struct file *work(uint64_t ms)
{
	struct file *f = file_pop(n, QUEUE_NAMES);
	struct turn *t;

	if (!f)
		return NULL;
	t = f->turn;
	f->wanted_cnt = 0;
	turn_charge(t, TURN_HELPERS, ms * NS_PER_MS);
	return f;
}

static void test_first_in_first_out(void **state)
{
	int i;

	assert_null(file_pop(n, QUEUE_OPEN));
	assert_null(file_pop(n, QUEUE_NAMES));
	for (i = 0; i < 5; i++) {
		want(&files[i], VICTIM);
		file_push(n, QUEUE_OPEN, &files[i]);
		file_push(n, QUEUE_OPEN, &files[i]);
	}
	assert_true(file_waits(n, QUEUE_OPEN) && file_waits(n, QUEUE_NAMES));
	for (i = 0; i < 5; i++) {
		assert_ptr_equal(file_pop(n, QUEUE_OPEN), &files[i]);
		assert_ptr_equal(work(1), &files[i]);
	}
	assert_false(file_waits(n, QUEUE_OPEN) || file_waits(n, QUEUE_NAMES));
	assert_null(file_pop(n, QUEUE_NAMES));
}

/* However many files another user has: before each of the victim's comes one of them at most. */
static void test_many_files_of_one_user(void **state)
{
	int i;

	for (i = 0; i < FILES; i++)
		want(&files[i], HOSTILE);
	for (i = 0; i < 10; i++)
		assert_ptr_equal(work(5000), &files[i]);
	for (i = FILES; i < FILES + 5; i++)
		want(&files[i], VICTIM);
	for (i = FILES; i < FILES + 5; i++)
		assert_ptr_equal(work(10), &files[i]);
	assert_ptr_equal(work(5000), &files[10]);
	/* It may be short of the other's time by much: that cannot be saved. */
	want(&files[FILES], VICTIM);
	assert_ptr_equal(work(4000), &files[FILES]);
	want(&files[FILES], VICTIM);
	want(&files[FILES + 1], VICTIM);
	assert_ptr_equal(work(4000), &files[FILES]);
	assert_ptr_equal(work(1), &files[11]);
}

/* Who wanted nothing for long has nothing saved, either. */
static void test_a_user_who_comes_late(void **state)
{
	int i;

	for (i = 0; i < 20; i++)
		want(&files[i], HOSTILE);
	for (i = 0; i < 10; i++)
		work(1000);
	for (i = 20; i < 40; i++)
		want(&files[i], VICTIM);
	for (i = 0; i < 10; i++) {
		assert_ptr_equal(work(1000), &files[20 + i]);
		assert_ptr_equal(work(1000), &files[10 + i]);
	}
}

/* All wait for libc; who has used most does not keep it from the others, and does not lend it. */
static void test_a_file_of_several_users(void **state)
{
	struct file *libc = &files[FILES];
	struct turn *hostile;
	uint64_t used;
	int i;

	for (i = 0; i < 10; i++)
		want(&files[i], HOSTILE);
	hostile = files[0].turn;
	work(3000);
	want(libc, HOSTILE);
	want(libc, VICTIM);
	assert_ptr_equal(work(1), libc);
	assert_int_equal(hostile->used_ns[TURN_HELPERS], 3000 * NS_PER_MS);
	/* Its next request is its own. */
	want(libc, HOSTILE);
	assert_ptr_equal(libc->turn, hostile);
	used = hostile->used_ns[TURN_HELPERS];
	for (i = 1; i < 10; i++)
		assert_ptr_equal(work(1), &files[i]);
	assert_ptr_equal(work(1), libc);
	assert_int_equal(hostile->used_ns[TURN_HELPERS], used + 10 * NS_PER_MS);
}

/* Pops the first file of these queues, which must be this one, in this queue. */
static void pop_this(struct file *f, enum file_queue queue)
{
	static const enum file_queue order[] = { QUEUE_MATCH, QUEUE_NAMES, QUEUE_MATCH_LATER };
	enum file_queue which = QUEUES;

	assert_ptr_equal(file_pop_first(n, order, ARRAY_SIZE(order), &which), f);
	assert_int_equal(which, queue);
}

static void test_the_order_of_queues_is_that_of_one_user(void **state)
{
	int i;

	for (i = 0; i < 3; i++)
		files[i].stage = FILE_MATCHING;
	for (i = 0; i < 2; i++) {
		file_wanted_by(n, &files[0], HOSTILE);
		file_wanted_by(n, &files[2], HOSTILE);
		file_push(n, QUEUE_MATCH_LATER, &files[2]);
		want(&files[1], HOSTILE);
		file_push(n, QUEUE_MATCH, &files[0]);
		pop_this(&files[0], QUEUE_MATCH);
		if (i)
			break;
		pop_this(&files[1], QUEUE_NAMES);
		pop_this(&files[2], QUEUE_MATCH_LATER);
	}
	turn_charge(files[0].turn, TURN_HELPERS, NS_PER_S);
	file_push(n, QUEUE_MATCH, &files[0]);
	want(&files[3], VICTIM);
	pop_this(&files[3], QUEUE_NAMES);
	pop_this(&files[0], QUEUE_MATCH);
}

/* A server that is slow keeps a user from servers, not from the helpers. */
static void test_servers_work_beside_the_helpers(void **state)
{
	want(&files[0], VICTIM);
	want(&files[1], HOSTILE);
	file_push(n, QUEUE_DEBUG, &files[0]);
	file_push(n, QUEUE_DEBUG, &files[1]);
	turn_charge(files[0].turn, TURN_SERVERS, 60 * NS_PER_S);
	turn_charge(files[1].turn, TURN_HELPERS, NS_PER_MS);
	assert_ptr_equal(file_pop(n, QUEUE_NAMES), &files[0]);
	assert_ptr_equal(file_pop(n, QUEUE_DEBUG), &files[1]);
}

/* At whose file a helper ends, pauses: one second, then two; others do not. */
static void test_a_pause(void **state)
{
	int i;

	for (i = 0; i < 5; i++)
		want(&files[i], HOSTILE);
	turn_punish(n, files[0].turn);
	assert_null(file_pop(n, QUEUE_NAMES));
	assert_true(file_waits(n, QUEUE_NAMES));
	want(&files[FILES], VICTIM);
	assert_ptr_equal(work(1), &files[FILES]);
	n->now += NS_PER_S;
	assert_ptr_equal(work(1), &files[0]);
	turn_punish(n, files[0].turn);
	n->now += NS_PER_S;
	assert_null(file_pop(n, QUEUE_NAMES));
	n->now += NS_PER_S;
	assert_ptr_equal(work(1), &files[1]);
	n->now += 61 * NS_PER_S;
	turn_punish(n, files[0].turn);
	n->now += NS_PER_S;
	assert_ptr_equal(work(1), &files[2]);
}

/* More users than turns: all are served. */
static void test_too_many_users(void **state)
{
	int i, served = 0;

	for (i = 0; i < FILES; i++)
		want(&files[i], (uint32_t)i);
	for (i = 0; i < FILES; i++)
		want(&files[i], (uint32_t)i + 100000);
	while (work(1))
		served++;
	assert_int_equal(served, FILES);
	assert_true(n->turn_cnt <= TURNS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_first_in_first_out, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_files_of_one_user, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_user_who_comes_late, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_file_of_several_users, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_order_of_queues_is_that_of_one_user, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_servers_work_beside_the_helpers, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_pause, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_many_users, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
