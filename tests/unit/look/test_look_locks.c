// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_look_locks.c - circles of threads that wait for each other, and which answers stand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

/* What a scan has found, and whether it stands still, is ours to say. */
#define capture_scanned fake_scanned
#define capture_check_scanned fake_check_scanned
#include "look/look_locks.c"

#define NO LOOK_NO_HOLDER
#define MANY 100000u

static struct scanned_thread found[4];
static unsigned int checks;

const struct scanned_thread *fake_scanned(const struct capture *s, uint32_t tid)
{
	return tid < sizeof(found) / sizeof(*found) ? &found[tid] : NULL;
}

void fake_check_scanned(struct capture *s)
{
	checks++;
}

/* Of a thread that has run since the scan, the answer's lock must be confirmed in /proc. */
static void test_a_lock_of_a_thread_that_moved(void **state)
{
	static struct look_locks s;
	struct look_thread list[4] = { 0 };
	struct look_thread *threads[] = { &list[0], &list[1], &list[2], &list[3] };
	uint32_t i;

	for (i = 0; i < 4; i++) {
		list[i] = (struct look_thread){ .tid = i, .futex_scanned = i != 1 };
		s.threads[i].lock = i != 2;
		found[i].still = i == 0 || i == 3;
	}
	assert_false(scanned_moved(NULL, threads, 4, &s));	/* 1: seen in /proc; 2: no lock */
	assert_int_equal(checks, 1);
	found[3].still = false;
	assert_true(scanned_moved(NULL, threads, 4, &s));
	found[3].still = true;
	list[3].tid = 4;	/* no scan has found it */
	assert_true(scanned_moved(NULL, threads, 4, &s));
}

static void test_no_circle(void **state)
{
	const uint32_t next[] = { NO, 0, 1, 0 };
	uint32_t circle[4];

	assert_int_equal(look_circles(next, 0, circle), 0);
	assert_int_equal(look_circles(next, 4, circle), 0);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(circle[i], 0);
}

/* Who waits for a thread of a circle is not in it. */
static void test_circles_and_who_leads_to_them(void **state)
{
	const uint32_t next[] = { 1, 2, 1, 0, 5, 4, 6, NO, 99 };
	const uint32_t want[] = { 0, 1, 1, 0, 2, 2, 3, 0, 0 };
	uint32_t circle[9];

	assert_int_equal(look_circles(next, 9, circle), 3);
	assert_memory_equal(circle, want, sizeof(want));
}

/* In linear time, also if all walks lead the same way. */
static void test_one_circle_of_all(void **state)
{
	uint32_t *next = calloc(MANY, sizeof(*next)), *circle = calloc(MANY, sizeof(*circle)), i;

	for (i = 0; i < MANY; i++)
		next[i] = i ? i - 1 : MANY - 1;
	assert_int_equal(look_circles(next, MANY, circle), 1);
	for (i = 0; i < MANY; i++)
		assert_int_equal(circle[i], 1);
	next[0] = NO;
	assert_int_equal(look_circles(next, MANY, circle), 0);
	free(next);
	free(circle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_lock_of_a_thread_that_moved),
		cmocka_unit_test(test_no_circle),
		cmocka_unit_test(test_circles_and_who_leads_to_them),
		cmocka_unit_test(test_one_circle_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
