// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * tick_jitter.c - the arithmetic of a clock whose period changes. See tick_jitter.h.
 *
 * It has no perf events and reads no clock, so a test can play an hour in a second.
 */
#include "capture/tick_jitter.h"

#define MS_NS 1000000ull

/* Least mean time between two changes; the actual time differs by up to a third. */
#define MEAN_WAIT_NS (75 * MS_NS)
/*
 * A change wakes user space, so clocks below 499 Hz keep a period for this many ticks, half of
 * those of 999 Hz; but no longer than SLOW_WAIT_NS. Up to (sqrt(3) / TICK_JITTER)^2 = 48 ticks,
 * their count is nearer to the mean than that of as many independent samples would be by chance.
 */
#define MEAN_WAIT_TICKS 37
#define SLOW_WAIT_NS (375 * MS_NS)
/* A change costs half a period on average: the slowest clocks are changed after this many ticks. */
#define LEAST_WAIT_TICKS 8
/*
 * A change is a system call and an interrupt on its CPU: 3 us, in virtual machines 30 us. At most
 * 500 a second on all CPUs together.
 */
#define CPU_WAIT_NS (2 * MS_NS)
/* A pair pays back 1 / PAY_BACK of what is owed. */
#define PAY_BACK 4

void tick_jitter_set_period(struct tick_jitter *j, uint64_t period_ns, unsigned int cpus)
{
	tick_jitter_init(j, period_ns, j->random, cpus);
}

void tick_jitter_init(struct tick_jitter *j, uint64_t period_ns, uint64_t seed, unsigned int cpus)
{
	uint64_t wait = MEAN_WAIT_TICKS * period_ns;

	if (wait > SLOW_WAIT_NS)
		wait = SLOW_WAIT_NS;
	if (wait < MEAN_WAIT_NS)
		wait = MEAN_WAIT_NS;
	if (wait < LEAST_WAIT_TICKS * period_ns)
		wait = LEAST_WAIT_TICKS * period_ns;
	if (wait < cpus * CPU_WAIT_NS)
		wait = cpus * CPU_WAIT_NS;
	*j = (struct tick_jitter){
		.period_ns = period_ns,
		.random = seed ? seed : 1,
		.mean_wait_ns = wait,
		.turn = 1,	/* the next one begins a pair */
	};
}

/* 0 <= random number < 1, by xorshift64* (Vigna 2016). */
static double next_random(struct tick_jitter *j)
{
	j->random ^= j->random >> 12;
	j->random ^= j->random << 25;
	j->random ^= j->random >> 27;
	return ((j->random * 0x2545f4914f6cdd1dull) >> 11) / 9007199254740992.0;
}

/*
 * The second change of a pair is half a period out of phase with the first. If a program has about
 * the same period, the ticks of one change see its first half, those of the other its second.
 */
uint64_t tick_jitter_turn(struct tick_jitter *j)
{
	uint64_t wait;

	j->turn = !j->turn;
	if (j->turn)
		return j->wait_ns;
	wait = j->mean_wait_ns * (1 + (2 * next_random(j) - 1) / 3);
	j->wait_ns = wait / j->period_ns * j->period_ns + j->period_ns / 2;
	return j->wait_ns;
}

/* A random number from -TICK_JITTER to TICK_JITTER. */
static double next_deviation(struct tick_jitter *j)
{
	return TICK_JITTER * (2 * next_random(j) - 1);
}

double tick_clock_factor(struct tick_clock *c, struct tick_jitter *j)
{
	c->faster = j->turn ? -c->faster : next_deviation(j);
	return 1 + c->faster;
}

uint64_t tick_clock_first(struct tick_clock *c, struct tick_jitter *j)
{
	*c = (struct tick_clock){ .faster = next_deviation(j) };
	return j->period_ns / (1 + c->faster);
}

static double clamp_abs(double x, double max)
{
	return x > max ? max : x < -max ? -max : x;
}

/* Time since the timer's restart minus one nominal period for each tick since then. */
static int64_t unpaid_ns(const struct tick_clock *c, const struct tick_jitter *j, uint64_t now_ns)
{
	uint64_t passed = now_ns - c->since_ns;

	if (!c->period_ns)
		return 0;
	return (int64_t)(passed - passed / c->period_ns * j->period_ns);
}

uint64_t tick_clock_next(struct tick_clock *c, struct tick_jitter *j, uint64_t now_ns)
{
	double owed = c->owed_ns + unpaid_ns(c, j, now_ns);

	/* In the middle of a pair most of what is owed is its deviation, which cancels out. */
	if (!j->turn)
		c->pay = clamp_abs(owed / PAY_BACK / j->mean_wait_ns, TICK_JITTER_PAID_MAX);
	return j->period_ns / (tick_clock_factor(c, j) + c->pay);
}

void tick_clock_changed(struct tick_clock *c, const struct tick_jitter *j, uint64_t now_ns,
			uint64_t period_ns)
{
	c->owed_ns += unpaid_ns(c, j, now_ns);
	c->since_ns = now_ns;
	c->period_ns = period_ns;
}

void tick_clock_settle(struct tick_clock *c, const struct tick_jitter *j, uint64_t now_ns)
{
	tick_clock_changed(c, j, now_ns, c->period_ns);
}
