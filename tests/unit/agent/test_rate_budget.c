// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_rate_budget.c - the controller against simulated hosts: steps, noise, costs that hardly
 * depend on the rate.
 */
#include "agent/rate_budget.h"
#include "base/time.h"
#include "tests/unit/tach_test.h"

#include <math.h>

#define MINUTE (60 * NS_PER_S)
#define HOUR (60 * MINUTE)

/* A host: what a second costs at a rate. */
struct plant {
	struct budget b;
	double fixed, per_hz;		/* CPU seconds a second */
	double bytes, exponent;		/* bytes a second: bytes * rate^exponent */
	double noise;			/* a cost is wrong by up to this part */
	uint64_t random, now_ns;
	uint32_t changes, rises, lowest, highest;
	double worst;			/* the highest true CPU cost */
};

static double next_random(struct plant *p)
{
	p->random ^= p->random >> 12;
	p->random ^= p->random << 25;
	p->random ^= p->random >> 27;
	return ((p->random * 0x2545f4914f6cdd1dull) >> 11) / 9007199254740992.0;
}

static double noisy(struct plant *p, double x)
{
	return x * (1 + p->noise * (2 * next_random(p) - 1));
}

static double cost(const struct plant *p)
{
	return p->fixed + p->per_hz * p->b.rate_hz;
}

static void count_from_now(struct plant *p)
{
	p->changes = p->rises = p->highest = 0;
	p->lowest = UINT32_MAX;
	p->worst = 0;
}

/* Two CPUs; half a percent of them is 10 ms a second. */
static struct plant plant(double cpu_share, uint64_t bytes_per_minute, uint32_t max_hz)
{
	struct budget_targets targets = {
		.cpu_share = cpu_share, .cpus = 2, .bytes_per_minute = bytes_per_minute,
		.min_hz = 1, .max_hz = max_hz,
	};
	struct plant p = { .random = 20261122 };

	budget_init(&p.b, &targets);
	count_from_now(&p);
	return p;
}

static void play(struct plant *p, uint64_t ns)
{
	uint64_t end = p->now_ns + ns;

	while (p->now_ns < end) {
		uint32_t before = p->b.rate_hz, after;
		double c = cost(p), bytes = p->bytes * pow(before, p->exponent);
		struct budget_used used = {
			.elapsed_ns = BUDGET_STEP_NS,
			.cpu_ns = noisy(p, c) * BUDGET_STEP_NS,
			.bytes = noisy(p, bytes) * BUDGET_STEP_NS / 1e9,
		};

		after = budget_step(&p->b, &used);
		p->now_ns += BUDGET_STEP_NS;
		p->worst = c > p->worst ? c : p->worst;
		p->changes += after != before;
		p->rises += after > before;
		p->lowest = after < p->lowest ? after : p->lowest;
		p->highest = after > p->highest ? after : p->highest;
	}
}

static void test_nothing_limits(void **state)
{
	struct plant p = plant(0, 0, 999);

	p.per_hz = 1;
	p.bytes = 1e9;
	play(&p, HOUR);
	assert_int_equal(p.changes, 0);
	assert_int_equal(p.b.rate_hz, 999);
	assert_int_equal(p.b.why, BUDGET_FREE);
	p = plant(0.005, 1 << 20, 99);
	p.per_hz = 0.00005;
	p.noise = 0.5;
	play(&p, HOUR);
	assert_int_equal(p.changes, 0);
	assert_int_equal(p.b.rate_hz, 99);
}

/* A cost in proportion, four times too high: half a minute later it is right, and stays. */
static void test_a_load_in_proportion(void **state)
{
	struct plant p = plant(0.005, 0, 99);

	p.per_hz = 0.0004;
	play(&p, 30 * NS_PER_S);
	assert_true(cost(&p) <= 0.010);
	assert_true(cost(&p) >= 0.0070);
	assert_int_equal(p.b.why, BUDGET_CPU);
	assert_true(p.lowest >= 0.70 * 0.010 / p.per_hz);
	count_from_now(&p);
	play(&p, 24 * HOUR);
	/* Tries of a higher rate, once an hour at last, for some seconds. */
	assert_true(p.worst <= 0.010 * BUDGET_RISE);
	assert_true(p.changes <= 2 * 28);
}

/* Load comes, and goes: the rate falls in seconds, and comes back in minutes, all of it. */
static void test_a_load_comes_and_goes(void **state)
{
	struct plant p = plant(0.005, 0, 99);

	p.per_hz = 0.00005;
	play(&p, 10 * MINUTE);
	assert_int_equal(p.b.rate_hz, 99);
	p.per_hz = 0.0005;
	play(&p, 20 * NS_PER_S);
	assert_true(cost(&p) <= 0.010 * 1.3);
	play(&p, 2 * MINUTE);
	assert_true(cost(&p) <= 0.010);
	assert_true(p.b.rate_hz >= 12);
	play(&p, 20 * MINUTE);
	p.per_hz = 0.00005;
	count_from_now(&p);
	play(&p, MINUTE);
	assert_true(p.highest <= 99 / 2);	/* not at once */
	play(&p, 10 * MINUTE);
	assert_int_equal(p.b.rate_hz, 99);
	assert_int_equal(p.changes, p.rises);	/* it never had to fall again */
	assert_int_equal(p.b.why, BUDGET_FREE);
}

/* Measurements that are wrong by up to a half move the rate by a third at most, and not often. */
static void test_noise(void **state)
{
	struct plant p = plant(0.005, 0, 99);

	p.per_hz = 0.0004;
	p.noise = 0.5;
	play(&p, 10 * MINUTE);
	count_from_now(&p);
	play(&p, 24 * HOUR);
	if (p.worst > 0.0125 || p.lowest * p.per_hz < 0.0055 || p.changes > 200)
		fail_msg("worst %f, %u to %u Hz, %u changes", p.worst, p.lowest, p.highest,
			 p.changes);
}

/* Most of the cost is fixed, but there is room: the rate is not held down for ever. */
static void test_a_fixed_cost_below_the_target(void **state)
{
	struct plant p = plant(0.005, 0, 99);

	p.fixed = 0.0085;
	p.per_hz = 0.000001;
	budget_step(&p.b, &(struct budget_used){ .elapsed_ns = MINUTE,
						 .cpu_ns = 40 * MINUTE / 99 });
	play(&p, NS_PER_S);
	count_from_now(&p);
	assert_true(p.b.rate_hz < 10);
	play(&p, 2 * HOUR);
	assert_int_equal(p.b.rate_hz, 99);
	assert_int_equal(p.changes, p.rises);
	count_from_now(&p);
	play(&p, 24 * HOUR);
	assert_int_equal(p.changes, 0);
}

/* The fixed cost alone is too much: the lowest rate, and the answer says so; later it recovers. */
static void test_a_fixed_cost_above_the_target(void **state)
{
	struct plant p = plant(0.005, 0, 99);

	p.fixed = 0.012;
	p.per_hz = 0.00001;
	play(&p, 20 * MINUTE);
	assert_int_equal(p.b.rate_hz, 1);
	assert_int_equal(p.b.why, BUDGET_CPU_OVER);
	count_from_now(&p);
	play(&p, 24 * HOUR);
	assert_int_equal(p.changes, 0);
	p.fixed = 0.001;
	play(&p, 20 * MINUTE);
	assert_int_equal(p.b.rate_hz, 99);
}

/* Between the bounds tries come, less and less often, and cost a quarter too much at most. */
static void test_tries_become_rare(void **state)
{
	struct plant p = plant(0.005, 0, 99);

	p.fixed = 0.004;
	p.per_hz = 0.0001;	/* 60 Hz are just right */
	play(&p, 30 * MINUTE);
	assert_true(p.b.rate_hz >= 40 && p.b.rate_hz <= 60);
	count_from_now(&p);
	play(&p, 24 * HOUR);
	assert_true(p.worst <= 0.010 * BUDGET_RISE);
	assert_true(p.changes <= 60);
	assert_true(p.b.rate_hz >= 40 && p.b.rate_hz <= 60);
}

/* Bytes grow with the root of the rate, in windows of 15 s: it takes some steps of minutes. */
static void test_bytes(void **state)
{
	struct plant p = plant(0, 6000000, 99);
	double now;

	p.bytes = 20000;
	p.exponent = 0.5;		/* at 99 Hz 199 kB/s; 100 kB/s are allowed: 25 Hz */
	p.noise = 0.2;
	play(&p, 30 * MINUTE);
	now = p.bytes * sqrt(p.b.rate_hz);
	assert_true(now <= 100000 && now >= 65000);
	assert_int_equal(p.b.why, BUDGET_BYTES);
	count_from_now(&p);
	play(&p, 24 * HOUR);
	assert_true(p.changes <= 120);
	assert_true(p.highest <= 36);
	/* Bytes that do not depend on the rate at all. */
	p.exponent = 0;
	p.bytes = 150000;
	play(&p, 2 * HOUR);
	assert_int_equal(p.b.rate_hz, 1);
	assert_int_equal(p.b.why, BUDGET_BYTES_OVER);
	p.bytes = 50000;
	play(&p, 24 * HOUR);
	assert_int_equal(p.b.rate_hz, 99);
}

/* Both limits: the lower one counts, and the other does not hold the rate. */
static void test_both(void **state)
{
	struct plant p = plant(0.005, 6000000, 99);

	p.per_hz = 0.0002;		/* 50 Hz */
	p.bytes = 4000;
	p.exponent = 1;			/* 25 Hz */
	play(&p, HOUR);
	assert_true(p.b.rate_hz <= 25 && p.b.rate_hz >= 18);
	assert_int_equal(p.b.why, BUDGET_BYTES);
	p.bytes = 100;
	play(&p, 2 * HOUR);
	assert_true(p.b.rate_hz <= 50 && p.b.rate_hz >= 38);
	assert_int_equal(p.b.why, BUDGET_CPU);
}

static void test_other_targets(void **state)
{
	struct plant p = plant(0.005, 0, 99);
	struct budget_targets t = p.b.targets;

	p.per_hz = 0.00001;
	play(&p, MINUTE);
	t.max_hz = 999;
	assert_int_equal(budget_retarget(&p.b, &t), 999);	/* nothing had lowered it */
	t.max_hz = 19;
	assert_int_equal(budget_retarget(&p.b, &t), 19);
	p.per_hz = 0.001;
	play(&p, 5 * MINUTE);
	assert_true(p.b.rate_hz < 11);
	t.max_hz = 99;
	assert_true(budget_retarget(&p.b, &t) < 11);	/* what was learned stays */
	t.min_hz = 50;
	assert_int_equal(budget_retarget(&p.b, &t), 50);
	t.min_hz = 0;
	t.max_hz = 0;
	assert_int_equal(budget_retarget(&p.b, &t), 1);
}

/* No time, no cost, absurd costs: always a rate within the bounds. */
static void test_odd_steps(void **state)
{
	static const struct budget_used odd[] = {
		{ 0, 1, 1 }, { 1, 0, 0 }, { 1, UINT64_MAX, UINT64_MAX }, { UINT64_MAX, 0, 0 },
		{ UINT64_MAX / 4, UINT64_MAX, UINT64_MAX }, { NS_PER_S, 0, 0 }, { 1, 1, 0 },
	};
	struct plant p = plant(0.005, 1, 99);
	size_t i;

	for (i = 0; i < 1000; i++) {
		uint32_t hz = budget_step(&p.b, &odd[i * 7919 % ARRAY_SIZE(odd)]);

		assert_in_range(hz, 1, 99);
		assert_non_null(budget_why_name(p.b.why));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_limits),
		cmocka_unit_test(test_a_load_in_proportion),
		cmocka_unit_test(test_a_load_comes_and_goes),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_a_fixed_cost_below_the_target),
		cmocka_unit_test(test_a_fixed_cost_above_the_target),
		cmocka_unit_test(test_tries_become_rare),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_both),
		cmocka_unit_test(test_other_targets),
		cmocka_unit_test(test_odd_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
