// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_asyncio_loop.c - event loops out of memory that stays, that changes, and that lies. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/unit/asyncio/fake_loop.h"

#define S 1000000000ull
#define EACH_BUILD(minor, big) \
	for (unsigned int minor = 8; minor <= 15; minor++) \
		for (unsigned int big = 0; big < 2; big++)

static struct fake_loop l;
static struct loop_states s;

/* Read at 101.5 s. */
static const struct loop_state *read_loop(void)
{
	assert_int_equal(loop_states_read(&l.f.target, &l.at, 101 * S + S / 2, &s), 0);
	assert_true(s.reads <= LOOP_READS_MAX);
	assert_int_equal(s.cnt, 1);
	return &s.loop[0];
}

static void test_a_busy_loop(void **state)
{
	EACH_BUILD(minor, big) {
		fake_loop_make(&l, minor, big);
		assert_int_equal(read_loop()->addr, l.loop);
		assert_int_equal(s.loop[0].ready, 3);
		assert_int_equal(s.loop[0].timers, 1);
		assert_int_equal(s.loop[0].busy_ns, 2 * S + S / 2);
		assert_int_equal(s.loop[0].turn_ns, 99 * S);
		assert_int_equal(s.loop[0].nth, 1);
		assert_int_equal(s.loop[0].late_ns, S + S / 2);
		assert_true(s.loop[0].main && !s.loop[0].in_task && !s.cut);
		assert_true(s.reads < 120);
	}
}

/* end_time is unset until select() has returned; 3.14 and later have a tag in an unset variable. */
static void test_a_waiting_loop(void **state)
{
	EACH_BUILD(minor, big) {
		fake_loop_make(&l, minor, big);
		fake_poke(&l.f, l.slots + 8, minor >= 14, 8);
		fake_set_real(&l, l.when, 200);
		assert_int_equal(read_loop()->busy_ns, 0);
		assert_int_equal(s.loop[0].late_ns, 0);
		assert_int_equal(s.loop[0].turn_ns, LOOP_UNKNOWN);
	}
}

static void test_no_loop(void **state)
{
	EACH_BUILD(minor, big) {
		fake_loop_make(&l, minor, big);
		if (minor >= 13)
			fake_poke(&l.f, l.state + FAKE_TS_LOOP, 0, 8);
		else
			fake_poke(&l.f, l.state + py_thread_dict(minor), 0, 8);
		assert_int_equal(loop_states_read(&l.f.target, &l.at, S, &s), 0);
		assert_true(!s.cnt && !s.cut);
	}
}

/* uvloop's loop has neither queues nor _run_once; its class may even have no attributes. */
static void test_a_foreign_loop(void **state)
{
	EACH_BUILD(minor, big) {
		fake_loop_make(&l, minor, big);
		l.loop = fake_instance(&l.f, &l.t, "Loop", "_closed", l.t.none, NULL, 0);
		if (minor >= 13)
			fake_poke(&l.f, l.state + FAKE_TS_LOOP, l.loop, 8);
		else
			continue;	/* the dict has the other one */
		assert_int_equal(read_loop()->addr, l.loop);
		assert_true(s.loop[0].ready == LOOP_UNKNOWN && s.loop[0].timers == LOOP_UNKNOWN);
		assert_true(s.loop[0].busy_ns == LOOP_UNKNOWN && s.loop[0].late_ns == LOOP_UNKNOWN);
	}
}

/* Without _asyncio threads do not say which loop runs in them: their frames do. */
static void test_pure_asyncio(void **state)
{
	for (unsigned int minor = 8; minor <= 13; minor++) {
		fake_loop_make(&l, minor, false);
		l.at.objects.ts_running_loop = 0;
		fake_poke(&l.f, l.state + py_thread_dict(minor), 0, 8);
		l.at.homes.cnt = 1;
		l.at.homes.home[0].pure = 1;
		assert_int_equal(read_loop()->addr, l.loop);
		assert_int_equal(s.loop[0].busy_ns, 2 * S + S / 2);
	}
}

static void test_which_runs_a_task(void **state)
{
	uint64_t tasks;

	fake_loop_make(&l, 11, false);
	tasks = fake_mapping(&l.f, &l.t, (const uint64_t[]){ l.loop, l.timer }, 1);
	l.at.homes.cnt = 1;
	l.at.homes.home[0].current = tasks;
	assert_true(read_loop()->in_task);
	fake_loop_make(&l, 15, false);
	fake_poke(&l.f, l.state + FAKE_TS_TASK, l.timer, 8);
	assert_true(read_loop()->in_task);
}

/* Times that are none, or not yet. */
static void test_hostile_times(void **state)
{
	static const double none[] = { -1, 0, -0.0, 1e300, 9e9, -HUGE_VAL, HUGE_VAL, NAN };
	size_t i;

	EACH_BUILD(minor, big)
		for (i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
			fake_loop_make(&l, minor, big);
			fake_set_real(&l, l.end_time, none[i]);
			fake_set_real(&l, l.when, none[i]);
			assert_int_equal(read_loop()->busy_ns, LOOP_UNKNOWN);
			assert_true(s.loop[0].late_ns == LOOP_UNKNOWN || !s.loop[0].late_ns);
		}
	fake_loop_make(&l, 12, false);
	fake_set_real(&l, l.end_time, 101.6);	/* a moment later than the clock was read */
	assert_int_equal(read_loop()->busy_ns, 1);
	fake_set_real(&l, l.end_time, 110);
	assert_int_equal(read_loop()->busy_ns, LOOP_UNKNOWN);
	fake_poke(&l.f, l.slots + 8, l.t.none, 8);	/* no float */
	assert_int_equal(read_loop()->busy_ns, LOOP_UNKNOWN);
}

static void test_hostile_queues(void **state)
{
	EACH_BUILD(minor, big) {
		fake_loop_make(&l, minor, big);
		fake_poke(&l.f, l.ready + l.f.head, 1ull << 60, 8);
		fake_poke(&l.f, l.timers + l.f.head, -1ull, 8);
		assert_int_equal(read_loop()->ready, LOOP_UNKNOWN);
		assert_int_equal(s.loop[0].timers, LOOP_UNKNOWN);
		assert_int_equal(s.loop[0].late_ns, LOOP_UNKNOWN);
		fake_poke(&l.f, l.timers + l.f.head, 0, 8);
		assert_int_equal(read_loop()->late_ns, 0);
	}
}

/* A float whose memory gets another number while it is read. */
static struct {
	uint64_t at;
	int reads;
} flips;

static int flipping(void *ctx, uint64_t addr, void *buf, size_t len)
{
	if (addr <= flips.at + 8 && addr + len >= flips.at + 16)
		fake_set_real(&l, l.end_time, flips.reads++ % 2 ? 99 : 0.5);
	return fake_threads_read(ctx, addr, buf, len);
}

static void test_an_alarming_time_must_last(void **state)
{
	fake_loop_make(&l, 14, false);
	flips.at = l.end_time + l.f.head - 8;
	flips.reads = 0;
	l.f.target.read = flipping;
	assert_int_equal(read_loop()->busy_ns, 0);
	assert_true(flips.reads > 1);
}

/* Threads, interpreters, frames that lead back into themselves; what cannot be read. */
static void test_endless_and_unreadable(void **state)
{
	EACH_BUILD(minor, big) {
		fake_loop_make(&l, minor, big);
		fake_poke(&l.f, l.state, l.state, 8);
		assert_int_equal(loop_states_read(&l.f.target, &l.at, 101 * S, &s), 0);
		assert_true(s.cut && s.cnt <= LOOPS_MAX && s.reads <= LOOP_READS_MAX);
		fake_loop_make(&l, minor, big);
		fake_poke(&l.f, l.interp + 8, l.interp, 8);
		assert_int_equal(loop_states_read(&l.f.target, &l.at, 101 * S, &s), 0);
		assert_true(s.cut && s.cnt <= LOOPS_MAX);
		fake_loop_make(&l, minor, big);
		fake_poke(&l.f, l.once.frame.addr + l.at.l.fr_previous, l.once.frame.addr, 8);
		assert_int_equal(read_loop()->busy_ns, LOOP_UNKNOWN);
		fake_loop_make(&l, minor, big);
		fake_poke(&l.f, l.at.interps, 1, 8);
		loop_states_read(&l.f.target, &l.at, 101 * S, &s);
		assert_true(!s.cnt && s.cut);
		l.at.interps = 1;
		assert_int_equal(loop_states_read(&l.f.target, &l.at, 101 * S, &s), -EFAULT);
	}
}

/* Whichever read fails, the answer is well-formed. */
static void test_each_read_fails(void **state)
{
	uint32_t all, i;

	for (unsigned int minor = 8; minor <= 15; minor++) {
		fake_loop_make(&l, minor, false);
		all = read_loop() ? l.f.reads : 0;
		for (i = 1; i <= all; i++) {
			l.f.reads = 0;
			l.f.fail_at = i;
			loop_states_read(&l.f.target, &l.at, 101 * S + S / 2, &s);
			assert_true(s.cnt <= 1);
			assert_true(!s.cnt || s.loop[0].busy_ns == LOOP_UNKNOWN ||
				    s.loop[0].busy_ns == 2 * S + S / 2);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_busy_loop),
		cmocka_unit_test(test_a_waiting_loop),
		cmocka_unit_test(test_no_loop),
		cmocka_unit_test(test_a_foreign_loop),
		cmocka_unit_test(test_pure_asyncio),
		cmocka_unit_test(test_which_runs_a_task),
		cmocka_unit_test(test_hostile_times),
		cmocka_unit_test(test_hostile_queues),
		cmocka_unit_test(test_an_alarming_time_must_last),
		cmocka_unit_test(test_endless_and_unreadable),
		cmocka_unit_test(test_each_read_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
