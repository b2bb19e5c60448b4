// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_asyncio_loop_health.c - what looks at event loops add up to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "asyncio/loop_health.h"

#define MS 1000000ull
#define S (1000 * MS)

static struct loop_health h;
static struct loop_states s;
static struct loop_figures f;

static int begin(void **state)
{
	memset(&h, 0, sizeof(h));
	s = (struct loop_states){ .cnt = 1, .loop[0] = { .addr = 1, .tid = 10, .nth = 0 } };
	return 0;
}

/* A look at now: the turn began at since (0: in select()), its nth callback runs. */
static void look(uint64_t now, uint64_t since, uint64_t nth, uint64_t ready)
{
	s.loop[0].busy_ns = since ? now - since : 0;
	s.loop[0].turn_ns = since ? since : LOOP_UNKNOWN;
	s.loop[0].nth = since ? nth : LOOP_UNKNOWN;
	s.loop[0].ready = ready;
	loop_health_add(&h, now, &s);
}

static const struct loop_figures *figures(uint64_t now, uint32_t seconds)
{
	loop_health_figures(&h, now, seconds, &f);
	return &f;
}

static void test_nothing_was_seen(void **state)
{
	assert_int_equal(figures(100 * S, 60)->looks, 0);
	assert_true(f.ready_max == LOOP_UNKNOWN && f.longest_ns == LOOP_UNKNOWN &&
		    f.lag_ns == LOOP_UNKNOWN);
}

static void test_idle(void **state)
{
	look(100 * S, 0, 0, 0);
	look(100 * S + 100 * MS, 0, 0, 4);
	assert_int_equal(figures(100 * S + 200 * MS, 10)->looks, 2);
	assert_true(f.loops == 1 && f.ready_max == 4 && f.ready_mean > 1.9 && f.ready_mean < 2.1);
	assert_true(f.longest_ns == 0 && f.lag_ns == 0);
}

/* The first callback of a turn began with it; others when they were first seen. */
static void test_the_longest_callback(void **state)
{
	look(100 * S, 99 * S + 900 * MS, 0, 0);
	assert_int_equal(figures(100 * S, 10)->longest_ns, 100 * MS);
	begin(NULL);
	look(100 * S, 99 * S + 900 * MS, 3, 0);
	assert_int_equal(figures(100 * S, 10)->longest_ns, 0);
	assert_int_equal(f.lag_ns, 100 * MS);
	look(100 * S + 100 * MS, 99 * S + 900 * MS, 3, 0);
	look(100 * S + 200 * MS, 99 * S + 900 * MS, 3, 0);
	assert_int_equal(figures(101 * S, 10)->longest_ns, 200 * MS);
	look(100 * S + 300 * MS, 99 * S + 900 * MS, 4, 0);	/* the next one */
	assert_int_equal(figures(101 * S, 10)->longest_ns, 200 * MS);
	assert_int_equal(f.lag_ns, 400 * MS);
	look(100 * S + 400 * MS, 99 * S + 900 * MS, LOOP_UNKNOWN, 0);
	look(100 * S + 500 * MS, 99 * S + 900 * MS, LOOP_UNKNOWN, 0);
	assert_int_equal(figures(101 * S, 10)->longest_ns, 200 * MS);
}

/* The loop waited, or was in another turn, when this one is said to have begun. */
static void test_contradictions(void **state)
{
	look(100 * S, 0, 0, 0);
	look(100 * S + 100 * MS, 5 * S, 0, 0);
	assert_int_equal(figures(101 * S, 10)->longest_ns, 0);
	assert_int_equal(h.contradicted, 1);
	look(100 * S + 200 * MS, 100 * S + 150 * MS, 0, 0);
	look(100 * S + 300 * MS, 1, 0, 0);
	assert_int_equal(h.contradicted, 2);
	assert_int_equal(figures(101 * S, 10)->longest_ns, 50 * MS);
	/* What no look before contradicts is believed. */
	look(100 * S + 400 * MS, 100 * S + 100 * MS, 0, 0);
	assert_int_equal(figures(101 * S, 10)->longest_ns, 300 * MS);
	/* A time before the clock began */
	s.loop[0].addr = 2;
	s.loop[0].busy_ns = 1000 * S;
	s.loop[0].late_ns = 1000 * S;
	loop_health_add(&h, 101 * S, &s);
	assert_int_equal(h.contradicted, 3);
	assert_int_equal(figures(101 * S, 10)->lag_ns, 300 * MS);
}

static void test_lag_of_a_timer(void **state)
{
	s.loop[0].late_ns = 700 * MS;		/* it does not come out of select(): no CPU */
	look(100 * S, 0, 0, 0);
	assert_int_equal(figures(100 * S, 10)->lag_ns, 700 * MS);
	assert_int_equal(f.longest_ns, 0);
	s.loop[0].late_ns = LOOP_UNKNOWN;
	look(100 * S + 100 * MS, 0, 0, 0);
	assert_int_equal(figures(100 * S + 100 * MS, 10)->lag_ns, 700 * MS);
}

static void test_windows(void **state)
{
	uint64_t now;

	look(100 * S, 99 * S, 0, 7);
	for (now = 101 * S; now < 170 * S; now += 100 * MS)
		look(now, 0, 0, 1);
	/* The slot of its second has been used again. */
	assert_int_equal(figures(109 * S, 10)->ready_max, 1);
	begin(NULL);
	look(100 * S, 99 * S, 0, 7);
	look(101 * S, 0, 0, 1);
	assert_int_equal(figures(110 * S, 10)->ready_max, 7);
	assert_int_equal(figures(111 * S, 10)->ready_max, 1);
	assert_int_equal(figures(160 * S, LOOP_HEALTH_SECONDS)->longest_ns, S);
	assert_int_equal(figures(300 * S, LOOP_HEALTH_SECONDS)->looks, 0);
}

static void test_several_loops(void **state)
{
	uint32_t i;

	s.cnt = LOOPS_MAX;
	for (i = 0; i < LOOPS_MAX; i++)
		s.loop[i] = (struct loop_state){ .addr = i + 1, .tid = i, .ready = 2,
						 .busy_ns = i * MS, .turn_ns = 100 * S - i * MS };
	s.loop[1].ready = LOOP_UNKNOWN;
	loop_health_add(&h, 100 * S, &s);
	assert_int_equal(figures(100 * S, 10)->loops, LOOPS_MAX);
	assert_int_equal(f.ready_max, 2 * (LOOP_HEALTH_LOOPS - 1));
	assert_int_equal(f.longest_ns, (LOOP_HEALTH_LOOPS - 1) * MS);
}

static void test_uvloop(void **state)
{
	s.loop[0].ready = s.loop[0].busy_ns = s.loop[0].late_ns = LOOP_UNKNOWN;
	loop_health_add(&h, 100 * S, &s);
	assert_int_equal(figures(100 * S, 10)->looks, 1);
	assert_true(f.ready_max == LOOP_UNKNOWN && f.longest_ns == LOOP_UNKNOWN &&
		    f.lag_ns == LOOP_UNKNOWN && !h.contradicted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_nothing_was_seen, begin),
		cmocka_unit_test_setup(test_idle, begin),
		cmocka_unit_test_setup(test_the_longest_callback, begin),
		cmocka_unit_test_setup(test_contradictions, begin),
		cmocka_unit_test_setup(test_lag_of_a_timer, begin),
		cmocka_unit_test_setup(test_windows, begin),
		cmocka_unit_test_setup(test_several_loops, begin),
		cmocka_unit_test_setup(test_uvloop, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
