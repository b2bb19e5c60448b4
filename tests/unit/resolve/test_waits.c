// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_waits.c - the off-CPU time of threads becomes samples. */
#include "resolve/waits.h"
#include "tests/unit/tach_test.h"

#define MS 1000000ull
#define S (1000 * MS)

static struct wait_stretch got[64];
static struct raw_head heads[64];
static size_t got_cnt;
static uint64_t total;
static uint32_t out_lost;	/* for the next come(): its switch-out was lost */

static int take(void *ctx, const struct wait_stretch *s)
{
	assert_true(got_cnt < 64);
	heads[got_cnt] = *s->head;
	got[got_cnt++] = *s;
	total += s->cnt;
	return 0;
}

static struct waits *new_waits(uint64_t min_ns, bool runnable)
{
	struct wait_rules rules = { .interval_ns = MS, .min_ns = min_ns, .runnable = runnable };
	struct waits *w = waits_new(&rules, take, NULL);

	assert_non_null(w);
	got_cnt = 0;
	total = 0;
	return w;
}

static void leave(struct waits *w, uint32_t tid, uint64_t at, int why, int status, int flags)
{
	struct raw_head s = { .h = { .time_ns = at, .why = why }, .tid = tid, .interp_id = 1,
				.status = status, .flags = flags };

	assert_int_equal(waits_switch_out(w, &s), 0);
}

static void come(struct waits *w, uint32_t tid, uint64_t at, uint64_t out, uint64_t wake)
{
	struct raw_switch_in r = { .h = { .time_ns = at }, .tid = tid, .out_ns = out,
				   .wake_ns = wake, .out_lost = out_lost };
	out_lost = 0;

	assert_int_equal(waits_switch_in(w, &r), 0);
}

static void tick(struct waits *w, uint32_t tid, uint64_t at)
{
	struct raw_head s = { .h = { .time_ns = at }, .tid = tid, .interp_id = 1, .nframes = 3 };

	assert_int_equal(waits_tick(w, &s), 0);
}

static void expect(size_t i, enum wait_kind kind, uint64_t time_ns, uint64_t cnt)
{
	assert_true(i < got_cnt);
	assert_int_equal(got[i].kind, kind);
	assert_int_equal(got[i].time_ns, time_ns);
	assert_int_equal(got[i].cnt, cnt);
}

static void test_one_wait(void **state)
{
	struct waits *w = new_waits(0, true);

	leave(w, 5, 10 * MS, WHY_BLOCKED, 0, 0);
	come(w, 5, 20 * MS + MS / 2, 10 * MS, 0);
	assert_int_equal(got_cnt, 1);
	expect(0, WAIT_BLOCKED, 11 * MS, 10);
	assert_int_equal(heads[0].tid, 5);
	/* half an interval is left from the first wait */
	leave(w, 5, 30 * MS, WHY_BLOCKED, 0, 0);
	come(w, 5, 30 * MS + MS / 2, 30 * MS, 0);
	expect(1, WAIT_BLOCKED, 30 * MS + MS / 2, 1);
	waits_free(w);
}

/* The samples of many short waits add up to their total time. */
static void test_short_waits(void **state)
{
	struct waits *w = new_waits(0, true);
	uint64_t at = S, i;

	for (i = 0; i < 10000; i++, at += 50000) {
		leave(w, 5, at, WHY_BLOCKED, 0, 0);
		come(w, 5, at + 12345, at, 0);
		got_cnt = 0;
	}
	assert_int_equal(total, 123450000 / MS);
	waits_free(w);
}

/* A tick without a Python stack ends a wait whose switch-in was lost; its stack stays. */
static void test_no_stack(void **state)
{
	struct waits *w = new_waits(0, true);

	assert_int_equal(waits_no_stack(w, 5, 5 * MS), 0);	/* nobody knows the thread */
	leave(w, 5, 10 * MS, WHY_BLOCKED, 0, 0);
	assert_int_equal(waits_no_stack(w, 5, 20 * MS), 0);
	assert_int_equal(waits_no_stack(w, 5, 25 * MS), 0);
	come(w, 5, 30 * MS, 10 * MS, 0);
	expect(0, WAIT_BLOCKED, 11 * MS, 10);
	assert_int_equal(got_cnt, 1);
	waits_free(w);
}

static void test_runnable(void **state)
{
	struct waits *w = new_waits(0, true);

	leave(w, 5, 10 * MS, WHY_BLOCKED, 0, 0);
	come(w, 5, 30 * MS, 10 * MS, 25 * MS);
	expect(0, WAIT_BLOCKED, 11 * MS, 15);
	expect(1, WAIT_CPU, 26 * MS, 5);
	leave(w, 5, 40 * MS, WHY_RUNNABLE, 0, 0);
	come(w, 5, 50 * MS, 40 * MS, 40 * MS);
	expect(2, WAIT_CPU, 41 * MS, 10);
	assert_int_equal(got_cnt, 3);
	waits_free(w);
	w = new_waits(0, false);
	leave(w, 5, 10 * MS, WHY_BLOCKED, 0, 0);
	come(w, 5, 30 * MS, 10 * MS, 25 * MS);
	leave(w, 5, 40 * MS, WHY_RUNNABLE, 0, 0);
	come(w, 5, 50 * MS, 40 * MS, 40 * MS);
	assert_int_equal(got_cnt, 1);
	expect(0, WAIT_BLOCKED, 11 * MS, 15);
	waits_free(w);
}

/* A thread that was woken waits for the GIL until it runs. */
static void test_gil(void **state)
{
	struct waits *w = new_waits(0, false);

	leave(w, 5, 10 * MS, WHY_BLOCKED, STATUS_GIL_REQUESTED, 0);
	come(w, 5, 30 * MS, 10 * MS, 25 * MS);
	assert_int_equal(got_cnt, 1);
	expect(0, WAIT_GIL, 11 * MS, 20);
	waits_free(w);
}

static void test_min(void **state)
{
	struct waits *w = new_waits(10 * MS, true);

	leave(w, 5, 10 * MS, WHY_BLOCKED, 0, 0);
	come(w, 5, 19 * MS, 10 * MS, 0);
	leave(w, 5, 20 * MS, WHY_BLOCKED, 0, 0);
	assert_int_equal(waits_emit_open(w, 29 * MS), 0);
	assert_int_equal(got_cnt, 0);
	assert_int_equal(waits_emit_open(w, 31 * MS), 0);
	expect(0, WAIT_BLOCKED, 21 * MS, 11);
	come(w, 5, 33 * MS, 20 * MS, 0);
	expect(1, WAIT_BLOCKED, 32 * MS, 2);
	waits_free(w);
	/* it was blocked for 9 ms; the time after its wake-up does not count */
	w = new_waits(10 * MS, false);
	leave(w, 5, 10 * MS, WHY_BLOCKED, 0, 0);
	come(w, 5, 90 * MS, 10 * MS, 19 * MS);
	assert_int_equal(got_cnt, 0);
	waits_free(w);
}

/* A wait of an hour needs only some calls of fn. */
static void test_emit_open(void **state)
{
	struct waits *w = new_waits(0, true);
	uint32_t interp_id;

	leave(w, 5, S, WHY_BLOCKED, 0, 0);
	leave(w, 6, S, WHY_BLOCKED, 0, 0);
	assert_int_equal(waits_emit_open(w, S / 2), 0);
	assert_int_equal(got_cnt, 0);
	assert_int_equal(waits_emit_open(w, 1801 * S), 0);
	assert_int_equal(waits_emit_open(w, 1801 * S), 0);
	assert_int_equal(got_cnt, 2);
	assert_true(waits_exit(w, 6, &interp_id));
	assert_int_equal(interp_id, 1);
	assert_false(waits_exit(w, 6, &interp_id));
	assert_int_equal(waits_emit_open(w, 3601 * S), 0);
	assert_int_equal(got_cnt, 3);
	assert_int_equal(total, 3 * 1800000);
	waits_free(w);
}

static void test_lost_records(void **state)
{
	struct waits *w = new_waits(0, true);
	struct wait_stats stats;

	/* the switch-in */
	leave(w, 5, 10 * MS, WHY_BLOCKED, 0, 0);
	tick(w, 5, 15 * MS);
	expect(0, WAIT_BLOCKED, 11 * MS, 5);
	/* the switch-out: the wait has the last stack, and its status is unknown */
	out_lost = 1;
	come(w, 5, 30 * MS, 20 * MS, 0);
	expect(1, WAIT_BLOCKED, 21 * MS, 10);
	assert_int_equal(heads[1].nframes, 3);
	assert_int_equal(heads[1].status, STATUS_UNKNOWN);
	/* a switch-in, between two switch-outs */
	leave(w, 5, 40 * MS, WHY_BLOCKED, 0, 0);
	leave(w, 5, 50 * MS, WHY_BLOCKED, 0, 0);
	expect(2, WAIT_BLOCKED, 41 * MS, 10);
	/* a switch-in and the next switch-out: two waits; the second one's status is unknown */
	out_lost = 1;
	come(w, 5, 70 * MS, 60 * MS, 0);
	expect(3, WAIT_BLOCKED, 51 * MS, 10);
	expect(4, WAIT_BLOCKED, 61 * MS, 10);
	assert_int_equal(heads[3].status, 0);
	assert_int_equal(heads[4].status, STATUS_UNKNOWN);
	waits_stats(w, &stats);
	assert_int_equal(stats.repaired, 3);
	assert_int_equal(stats.guessed, 2);
	assert_int_equal(stats.waits, 5);
	/* threads without an earlier stack get no samples */
	got_cnt = 0;
	out_lost = 1;
	come(w, 9, 30 * MS, 20 * MS, 0);
	leave(w, 8, 10 * MS, WHY_BLOCKED, STATUS_UNKNOWN, RAW_NOT_WALKED);
	come(w, 8, 30 * MS, 10 * MS, 0);
	assert_int_equal(got_cnt, 0);
	waits_free(w);
}

static void test_guessed(void **state)
{
	struct waits *w = new_waits(0, true);

	tick(w, 5, 5 * MS);
	leave(w, 5, 10 * MS, WHY_BLOCKED, STATUS_UNKNOWN, RAW_NOT_WALKED);
	come(w, 5, 20 * MS, 10 * MS, 0);
	expect(0, WAIT_BLOCKED, 11 * MS, 10);
	assert_int_equal(heads[0].nframes, 3);
	assert_int_equal(heads[0].status, STATUS_UNKNOWN);
	waits_free(w);
}

/* Times of two CPUs may differ a little: a switch-in may be earlier than its switch-out. */
static void test_backwards(void **state)
{
	struct waits *w = new_waits(0, true);

	leave(w, 5, 10 * MS, WHY_BLOCKED, 0, 0);
	come(w, 5, 9 * MS, 10 * MS, 0);
	leave(w, 5, 20 * MS, WHY_BLOCKED, 0, 0);
	come(w, 5, 30 * MS, 20 * MS, 19 * MS);
	come(w, 5, 31 * MS, 20 * MS, 99 * MS);
	assert_int_equal(total, 10);
	waits_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_wait),     cmocka_unit_test(test_short_waits),
		cmocka_unit_test(test_no_stack),
		cmocka_unit_test(test_runnable),     cmocka_unit_test(test_gil),
		cmocka_unit_test(test_min),	     cmocka_unit_test(test_emit_open),
		cmocka_unit_test(test_lost_records), cmocka_unit_test(test_guessed),
		cmocka_unit_test(test_backwards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
