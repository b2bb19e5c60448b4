// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_inspect_schedule.c - when a process is inspected again. */
#include "target/inspect_schedule.h"
#include "tests/unit/tach_test.h"

#define MS 1000000ull
#define S (1000 * MS)

/* 2 ms, doubled up to 64 s; nothing wraps around, however many inspections there are. */
static void test_backoff(void **state)
{
	struct inspect_schedule s = { 0 };
	uint64_t wait, now = 5 * S;
	int i;

	for (i = 0; i < 200; i++) {
		wait = i < 15 ? (2 * MS) << i : 64 * S;
		if (wait > 64 * S)
			wait = 64 * S;
		inspect_backoff(&s, now);
		assert_int_equal(s.next_ns - now, wait);
		assert_int_equal(s.tries, i + 1);
		now = s.next_ns;
	}
	s.tries = UINT32_MAX - 1;
	inspect_backoff(&s, now);
	assert_int_equal(s.next_ns - now, 64 * S);
}

static void test_wait(void **state)
{
	struct inspect_schedule s = { 0 };

	assert_int_equal(inspect_wait_ns(&s, 1, S), 0);	/* new: due at once */
	inspect_backoff(&s, 100 * MS);	/* 102 */
	assert_int_equal(inspect_wait_ns(&s, 101 * MS, S), MS);
	assert_int_equal(inspect_wait_ns(&s, 101 * MS, MS / 2), MS / 2);
	assert_int_equal(inspect_wait_ns(&s, 102 * MS, S), 0);
	assert_int_equal(inspect_wait_ns(&s, 200 * MS, S), 0);
	inspect_no_more(&s);	/* there is no next inspection to wait for */
	assert_int_equal(inspect_wait_ns(&s, 101 * MS, S), S);
}

/* Only young processes wake us up; others are inspected when we are awake anyway. */
static void test_old(void **state)
{
	struct inspect_schedule s = { 0 };
	int i;

	for (i = 0; i < INSPECT_YOUNG_TRIES; i++) {
		assert_true(inspect_is_young(&s));
		assert_true(inspect_wait_ns(&s, 0, 100 * S) < 100 * S);
		inspect_backoff(&s, 0);
	}
	assert_false(inspect_is_young(&s));
	assert_int_equal(inspect_wait_ns(&s, 0, 100 * S), 100 * S);
	assert_int_equal(inspect_wait_ns(&s, s.next_ns + 1, 100 * S), 100 * S);
}

static void test_restart(void **state)
{
	struct inspect_schedule s = { 0 };
	int i;

	for (i = 0; i < 12; i++)
		inspect_backoff(&s, 50 * S);
	inspect_restart(&s);
	assert_int_equal(s.tries, 0);
	assert_int_equal(s.next_ns, 0);
	inspect_backoff(&s, 0);
	assert_int_equal(s.next_ns, 2 * MS);
}

/* A change causes an inspection after the gap, which doubles while no new files are mapped. */
static void test_changed(void **state)
{
	struct inspect_schedule s = { 0 };
	uint64_t now = 100 * S, gap = 10 * MS;
	int i;

	for (i = 0; i < 12; i++)
		inspect_backoff(&s, now);
	inspect_done(&s, now, 20000, false);
	assert_int_equal(s.gap_ns, gap);	/* no change caused this inspection: it stays */
	for (i = 0; i < 12; i++) {
		inspect_changed(&s);
		assert_int_equal(s.next_ns, now + gap);
		assert_int_equal(inspect_wait_ns(&s, now, 100 * S), gap);
		now = s.next_ns;
		inspect_done(&s, now, 20000, false);
		inspect_backoff(&s, now);
		assert_false(s.changed);
		gap = gap * 2 < S ? gap * 2 : S;
		assert_int_equal(s.gap_ns, gap);
	}
	/* New files: there may soon be more of them, so the gap is short. */
	inspect_changed(&s);
	inspect_done(&s, now, 900 * MS, true);
	assert_int_equal(s.gap_ns, 10 * MS);
	/* Slow inspections are rare. */
	inspect_done(&s, now, 3 * MS, false);
	assert_int_equal(s.gap_ns, 300 * MS);
	inspect_no_more(&s);	/* a refused process is inspected after a change only */
	inspect_changed(&s);
	assert_int_equal(s.next_ns, now + 300 * MS);
	inspect_restart(&s);
	assert_int_equal(s.gap_ns, 0);
	assert_false(s.changed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_backoff),
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_old),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
