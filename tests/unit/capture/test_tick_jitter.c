// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_tick_jitter.c - clocks whose periods change: the mean is exact, no program keeps step. */
#include "capture/tick_jitter.h"
#include "tests/unit/tach_test.h"

#include <math.h>

#define MS 1000000ull
#define S (1000 * MS)
#define SEED 20261121

/* A CPU's clock as the kernel runs it, and a program whose period has two halves. */
struct play {
	struct tick_jitter j;
	struct tick_clock c;
	uint64_t now_ns, ticks, in_first;	/* in_first: ticks in the first half */
	uint64_t shortest_ns, longest_ns;	/* periods */
	uint64_t changes;
};

static void play_begin(struct play *p, uint64_t period_ns, uint64_t seed, unsigned int cpus)
{
	*p = (struct play){ .shortest_ns = UINT64_MAX };
	tick_jitter_init(&p->j, period_ns, seed, cpus);
	tick_clock_changed(&p->c, &p->j, p->now_ns, tick_clock_first(&p->c, &p->j));
}

/* Play until the next change, which is late_ns late. The program's period is program_ns. */
static void play_turn(struct play *p, double program_ns, uint64_t late_ns)
{
	uint64_t end = p->now_ns + tick_jitter_turn(&p->j) + late_ns, t, period;

	for (t = p->now_ns + p->c.period_ns; t <= end; t += p->c.period_ns) {
		p->ticks++;
		p->in_first += fmod(t, program_ns) < program_ns / 2;
	}
	period = tick_clock_next(&p->c, &p->j, end);
	tick_clock_changed(&p->c, &p->j, end, period);
	p->shortest_ns = period < p->shortest_ns ? period : p->shortest_ns;
	p->longest_ns = period > p->longest_ns ? period : p->longest_ns;
	p->now_ns = end;
	p->changes++;
}

/* Up to 30 ms, as on a busy machine. */
static uint64_t some_lateness(const struct play *p)
{
	return p->changes * 7919 % 30 * MS + p->changes * 104729 % MS;
}

static void test_the_mean_is_exact(void **state)
{
	static const unsigned int rates[] = { 1, 10, 99, 999, 4999, 20000 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		uint64_t period = S / rates[i];
		struct play p;
		double off;

		play_begin(&p, period, SEED + i, 4);
		while (p.now_ns < 3600 * S && p.ticks < 4000000)
			play_turn(&p, 1e9, some_lateness(&p));
		off = (double)p.ticks - (double)p.now_ns / period;
		/* At any time, at most the deviation of some pairs is owed. */
		if (fabs(off) > 20 + TICK_JITTER * 2 * p.j.mean_wait_ns / period)
			fail_msg("%u Hz: %.1f ticks off after %.0f s", rates[i], off,
				 p.now_ns / 1e9);
		assert_true(p.shortest_ns >= period / (1 + TICK_JITTER + TICK_JITTER_PAID_MAX) - 1);
		assert_true(p.longest_ns <= period / (1 - TICK_JITTER - TICK_JITTER_PAID_MAX) + 1);
	}
}

/*
 * Over many recordings, the variance of the first half's share is at most the one that
 * tick_jitter.h promises. Seeds are fixed, so the result is always the same.
 */
static void test_no_program_keeps_step(void **state)
{
	static const double factors[] = { 0.5, 1, 1.001, 1.07, 2, 3 };
	static const unsigned int rates[] = { 99, 999, 4999 };
	size_t r, f;

	for (r = 0; r < ARRAY_SIZE(rates); r++)
		for (f = 0; f < ARRAY_SIZE(factors); f++) {
			double sum = 0, squares = 0;
			int run, runs = 100;

			for (run = 0; run < runs; run++) {
				struct play p;
				double z;

				play_begin(&p, S / rates[r], SEED * (run + 1), 4);
				p.now_ns = p.c.since_ns = run * 977 * S / rates[r] / 1000;
				while (p.now_ns < 10 * S)
					play_turn(&p, factors[f] * S / rates[r], 0);
				z = (p.in_first - p.ticks / 2.0) / sqrt(p.ticks / 4.0);
				sum += z;
				squares += z * z;
			}
			/* 1.5: a hundred runs estimate a variance with an error of about a fifth */
			if (squares / runs > 1.5 / (2 * TICK_JITTER) || fabs(sum / runs) > 0.7)
				fail_msg("%u Hz, %.3f periods: mean %.2f, variance %.2f of the "
					 "binomial one", rates[r], factors[f], sum / runs,
					 squares / runs);
		}
}

/* The second change of a pair has the opposite deviation of the first. */
static void test_pairs_cancel(void **state)
{
	struct play p;
	int i;

	play_begin(&p, MS, SEED, 1);
	for (i = 0; i < 100; i++) {
		double first;

		play_turn(&p, 1e9, 0);	/* its end chooses the next period */
		if (p.j.turn)
			continue;
		first = p.c.faster;
		assert_true(fabs(first) <= TICK_JITTER);
		play_turn(&p, 1e9, 0);
		assert_true(p.c.faster == -first);
	}
}

/* Changes interrupt their CPUs: the more CPUs, the fewer changes on each. */
static void test_changes_are_few(void **state)
{
	static const unsigned int cpus[] = { 1, 2, 16, 128, 1024 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cpus); i++) {
		struct play p;
		double each;

		play_begin(&p, S / 999, SEED, cpus[i]);
		while (p.now_ns < 60 * S)
			play_turn(&p, 1e9, 0);
		each = p.changes / 60.0;
		assert_true(each <= 15);
		assert_true(each * cpus[i] <= 525);
		assert_true(each >= (cpus[i] <= 16 ? 12 : 450.0 / cpus[i]));
	}
}

/*
 * Each turn wakes user space: slow clocks keep a period longer, but not so long that a count of
 * ticks would be off by more than that of as many independent samples.
 */
static void test_slow_clocks_change_seldom(void **state)
{
	static const unsigned int rates[] = { 19, 49, 99, 199, 400 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		struct play p;
		double ticks;

		play_begin(&p, S / rates[i], SEED, 2);
		while (p.now_ns < 600 * S)
			play_turn(&p, 1e9, 0);
		ticks = (double)p.ticks / p.changes;
		assert_true(p.changes / 600.0 <= (rates[i] <= 99 ? 3 : 11));
		assert_true(ticks >= 7 && ticks <= 40);
		assert_true(TICK_JITTER / sqrt(3) * ticks < sqrt(ticks));
	}
}

/* Change the rate late_ns after a tick, as sampler_set_rate() does. */
static void play_rate(struct play *p, uint64_t period_ns, uint64_t late_ns)
{
	struct tick_jitter before = p->j;
	uint64_t end = p->now_ns + late_ns, t, period;

	for (t = p->now_ns + p->c.period_ns; t <= end; t += p->c.period_ns)
		p->ticks += before.period_ns;	/* here: the time that ticks stand for */
	tick_jitter_set_period(&p->j, period_ns, 4);
	tick_clock_settle(&p->c, &before, end);
	period = tick_clock_next(&p->c, &p->j, end);
	tick_clock_changed(&p->c, &before, end, period);
	p->now_ns = end;
}

/*
 * However often the rate changes, and even if it changes before a period of the old rate is over:
 * the time that all ticks stand for stays the time that passed.
 */
static void test_the_rate_changes(void **state)
{
	static const unsigned int rates[] = { 19, 999, 99, 1, 19, 2, 999, 50000, 99, 4999, 19 };
	uint64_t i, turn, whole;
	struct play p;
	double off;

	play_begin(&p, S / 19, SEED, 4);
	for (i = 0; i < 3000; i++) {
		uint64_t period = S / rates[i % ARRAY_SIZE(rates)];

		play_rate(&p, period, i * 104729 * 977 % (p.j.period_ns * 3));
		for (turn = 0; turn < i % 5 * 40; turn++) {
			uint64_t before = p.ticks;

			play_turn(&p, 1e9, 0);
			p.ticks = before + (p.ticks - before) * period;
		}
	}
	whole = p.now_ns;
	off = (double)p.ticks - (double)whole;
	assert_true(whole > 3600 * S);
	/* At most some seconds are owed of the 1 Hz rate: its pairs last 16 s. */
	if (fabs(off) > 20e9)
		fail_msg("%.3f s of %.3f s", p.ticks / 1e9, whole / 1e9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_mean_is_exact),
		cmocka_unit_test(test_no_program_keeps_step),
		cmocka_unit_test(test_pairs_cancel),
		cmocka_unit_test(test_changes_are_few),
		cmocka_unit_test(test_slow_clocks_change_seldom),
		cmocka_unit_test(test_the_rate_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
