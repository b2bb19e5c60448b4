/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tick_jitter.h - periods for a clock that no program can keep step with.
 *
 * A clock with a fixed period sees a program with the same period always at the same point:
 * one of its two halves gets all samples. So the period changes at random while we record.
 * This file computes the next period of a CPU's clock, and when to change it; sampler.c changes it.
 *
 * The kernel restarts the timer at each change: the time since the last tick is lost to the
 * clock. The next period pays it back, so that the mean of all periods stays the nominal one.
 */
#ifndef TACHBPF_TICK_JITTER_H
#define TACHBPF_TICK_JITTER_H

#include <stdint.h>

/*
 * The rate differs from the nominal one by at most this part, and by what is paid back. A
 * program in step with the clock gets shares with a variance of 1 / (2 * TICK_JITTER) times
 * the binomial one; a count of ticks over 75 ms is wrong by TICK_JITTER / sqrt(3).
 */
#define TICK_JITTER 0.25
#define TICK_JITTER_PAID_MAX 0.15

/* What all CPUs share. */
struct tick_jitter {
	uint64_t period_ns;	/* the nominal one */
	uint64_t random;	/* state of the generator; not 0 */
	uint64_t mean_wait_ns;	/* between two changes */
	uint64_t wait_ns;	/* the last one */
	int turn;		/* changes come in pairs: 0 the first of one, 1 the second */
};

/* The clock of one CPU. */
struct tick_clock {
	uint64_t since_ns;	/* CLOCK_MONOTONIC: the timer began with period_ns */
	uint64_t period_ns;	/* 0: it did not begin yet */
	int64_t owed_ns;	/* time without the ticks that belong to it; may be negative */
	double faster;		/* than nominal, by this part: chosen at random for a pair */
	double pay;		/* and by this one, because of what was owed before the pair */
};

/* period_ns is the nominal period. seed is any number. cpus: how many clocks will be changed. */
void tick_jitter_init(struct tick_jitter *j, uint64_t period_ns, uint64_t seed, unsigned int cpus);

/*
 * Begin the next change. Returns how long its periods are to last: 50 ms to 100 ms, longer for
 * slow clocks. The two changes of a pair last equally long.
 */
uint64_t tick_jitter_turn(struct tick_jitter *j);

/*
 * The factor for the rate of a CPU in this change, 1 - TICK_JITTER to 1 + TICK_JITTER. In the
 * second change of a pair a clock is as much slower as it was faster in the first.
 */
double tick_clock_factor(struct tick_clock *c, struct tick_jitter *j);

/* The period that a clock begins with; tick_clock_changed() says when it does. */
uint64_t tick_clock_first(struct tick_clock *c, struct tick_jitter *j);

/* The period that the clock shall have next. The present one ends at now_ns. */
uint64_t tick_clock_next(struct tick_clock *c, struct tick_jitter *j, uint64_t now_ns);

/* The timer began anew at now_ns, with period_ns: what the old period leaves is owed. */
void tick_clock_changed(struct tick_clock *c, const struct tick_jitter *j, uint64_t now_ns,
			uint64_t period_ns);

#endif
