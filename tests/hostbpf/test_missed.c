// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_missed.c - missed ticks: with a fixed period, and with one that user space changes between
 * two ticks of the same thread.
 */
#include "world.h"

#define US 1000ull
#define PERIOD (1000 * US)

static struct world w;

/* A thread is sampled at then. No CPU has a period of its own. */
static void begin(u64 then)
{
	unsigned int period = PERIOD;

	world_init(&w, 12);
	world_recurse(&w, 3);
	host_set(&cfg_period_ns, &period, sizeof(period));
	memset(tick_periods, 0, sizeof(tick_periods));
	host.now_ns = then;
	host_tick();
	assert_int_equal(host_counter(CNT_SAMPLE), 1);
	assert_int_equal(host_counter(CNT_MISSED), 0);
}

/* Runs a tick at now. Returns how many missed ticks it counts. */
static u64 missed_at(u64 now)
{
	u64 before = host_counter(CNT_MISSED);

	host.now_ns = now;
	host_tick();
	return host_counter(CNT_MISSED) - before;
}

static void set_period(u64 since, u64 before, u64 period)
{
	tick_periods[host.cpu] = (struct tick_period){
		.since_ns = since, .before_ns = before, .period_ns = period,
	};
}

static void test_fixed_period(void **state)
{
	begin(10 * PERIOD);
	assert_int_equal(missed_at(11 * PERIOD), 0);
	assert_int_equal(missed_at(12 * PERIOD + 400 * US), 0);
	assert_int_equal(missed_at(14 * PERIOD + 400 * US), 1);
	assert_int_equal(missed_at(24 * PERIOD + 400 * US), 9);
}

/* The CPU's own period counts, not cfg_period_ns. */
static void test_own_period(void **state)
{
	begin(10 * PERIOD);
	set_period(5 * PERIOD, 0, 1500 * US);
	assert_int_equal(missed_at(11 * PERIOD + 500 * US), 0);
	assert_int_equal(missed_at(13 * PERIOD), 0);
	assert_int_equal(missed_at(16 * PERIOD), 1);
	set_period(5 * PERIOD, 0, 600 * US);
	assert_int_equal(missed_at(17 * PERIOD + 800 * US), 2);
}

/* The timer was restarted 900 us after a tick: the next tick comes 1,300 us after the restart. */
static void test_changed_in_between(void **state)
{
	begin(10 * PERIOD);
	set_period(10 * PERIOD + 900 * US, PERIOD, 1300 * US);
	assert_int_equal(missed_at(12 * PERIOD + 200 * US), 0);
	/* The ticks after that are one new period apart. */
	assert_int_equal(missed_at(13 * PERIOD + 500 * US), 0);
}

/* Ticks are missed before the change, and after it. */
static void test_missed_around_a_change(void **state)
{
	begin(10 * PERIOD);
	set_period(13 * PERIOD + 500 * US, PERIOD, 800 * US);
	assert_int_equal(missed_at(14 * PERIOD + 300 * US), 3);
	begin(10 * PERIOD);
	set_period(10 * PERIOD + 500 * US, PERIOD, 800 * US);
	assert_int_equal(missed_at(10 * PERIOD + 500 * US + 4 * 800 * US), 3);
}

/* The timer was started between the ticks: there was no period before. */
static void test_began_in_between(void **state)
{
	begin(10 * PERIOD);
	set_period(15 * PERIOD, 0, PERIOD);
	assert_int_equal(missed_at(16 * PERIOD), 0);
}

/* User space is changing the period: missed ticks are not counted. */
static void test_while_it_changes(void **state)
{
	begin(10 * PERIOD);
	set_period(10 * PERIOD, PERIOD, TICK_PERIOD_CHANGES);
	assert_int_equal(missed_at(20 * PERIOD), 0);
	set_period(10 * PERIOD, PERIOD, PERIOD);
	assert_int_equal(missed_at(22 * PERIOD), 1);
}

static void test_other_threads_and_cpus(void **state)
{
	begin(10 * PERIOD);
	host.task.nvcsw++;
	assert_int_equal(missed_at(20 * PERIOD), 0);
	host.cpu = 1;
	assert_int_equal(missed_at(40 * PERIOD), 0);
	set_period(30 * PERIOD, 0, 2 * PERIOD);
	assert_int_equal(missed_at(42 * PERIOD), 0);
	host.cpu = 0;
	assert_int_equal(missed_at(42 * PERIOD), 21);
}

/* A sample says the rate of its CPU at this moment, and that it stands for one tick. */
static void test_samples_say_their_rate(void **state)
{
	static const unsigned int rates[] = { 19, 999, 50000, 0 };
	const struct raw_sample *s;
	size_t i;

	begin(10 * PERIOD);
	for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		tick_periods[host.cpu].rate_hz = rates[i];
		host.now_ns += PERIOD;
		host_tick();
		s = world_sample();
		assert_int_equal(s->h.rate_hz, rates[i]);
		assert_int_equal(s->h.every, 1);
	}
}

/* One tick at now with this random number. Returns its sample; NULL: it was not walked. */
static const struct raw_sample *tick_with(u64 now, u32 random)
{
	int i = 0;

	host.now_ns = now;
	host.random = random;
	host_tick();
	return host_record(RAW_SAMPLE, &i, NULL);
}

/* In a burst others are walked at one tick of so many, which counts for all; none is missed. */
static void test_thinned_ticks(void **state)
{
	u32 tgid;
	u64 start, thinned, missed;

	begin(10 * PERIOD);
	tgid = host.task.tgid;
	start = host.leader.start_boottime;
	assert_int_equal(tick_with(11 * PERIOD, 7)->h.every, 1);
	tick_thinning = 10;
	thinned = host_counter(CNT_THINNED);
	missed = host_counter(CNT_MISSED);
	assert_null(tick_with(12 * PERIOD, 7));
	assert_null(tick_with(13 * PERIOD, 19));
	assert_int_equal(tick_with(14 * PERIOD, 20)->h.every, 10);
	assert_int_equal(host_counter(CNT_THINNED), thinned + 2);
	assert_int_equal(host_counter(CNT_MISSED), missed);
	/*
	 * A process of the burst; then one that has its pid, but is another one; one that is none.
	 */
	bpf_map_update_elem(&burst_procs, &tgid, &start, BPF_ANY);
	assert_int_equal(tick_with(15 * PERIOD, 7)->h.every, 1);
	start++;
	bpf_map_update_elem(&burst_procs, &tgid, &start, BPF_ANY);
	assert_null(tick_with(16 * PERIOD, 7));
	start = 0;
	bpf_map_update_elem(&burst_procs, &tgid, &start, BPF_ANY);
	assert_null(tick_with(17 * PERIOD, 7));
	tick_thinning = 0;
	assert_int_equal(tick_with(18 * PERIOD, 7)->h.every, 1);
	assert_int_equal(host_counter(CNT_MISSED), missed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixed_period),
		cmocka_unit_test(test_own_period),
		cmocka_unit_test(test_changed_in_between),
		cmocka_unit_test(test_missed_around_a_change),
		cmocka_unit_test(test_began_in_between),
		cmocka_unit_test(test_while_it_changes),
		cmocka_unit_test(test_other_threads_and_cpus),
		cmocka_unit_test(test_samples_say_their_rate),
		cmocka_unit_test(test_thinned_ticks),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
