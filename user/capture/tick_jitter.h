/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tick_jitter.h - changing periods for a clock, so that no program keeps in phase with it.
 *
 * A clock with a fixed period always hits a program with the same period at the same point: one of
 * its two halves gets all samples. So the period changes at random during a recording. This file
 * computes the next period of a CPU's clock, and when to change it; capture_ticks.c changes it.
 *
 * The kernel restarts the timer at each change, so the time since the last tick gets no tick. This
 * time is owed, and the next periods pay it back, so that the mean of all periods stays the nominal
 * one.
 */
#ifndef TACHBPF_TICK_JITTER_H
#define TACHBPF_TICK_JITTER_H

#include <stdint.h>

/*
 * The rate differs from the nominal one by at most the fraction TICK_JITTER, and by at most the
 * fraction TICK_JITTER_PAID_MAX to pay back what is owed. A program in phase with the clock gets
 * shares with a variance of 1 / (2 * TICK_JITTER) times the binomial one; a count of ticks between
 * two changes is wrong by TICK_JITTER / sqrt(3).
 */
#define TICK_JITTER 0.25
#define TICK_JITTER_PAID_MAX 0.15

/* Shared by all CPUs. */
struct tick_jitter {
	uint64_t period_ns;	/* the nominal period */
	uint64_t random;	/* state of the random generator; not 0 */
	uint64_t mean_wait_ns;	/* mean time between two changes */
	uint64_t wait_ns;	/* time from the last change to the next */
	int turn;		/* changes come in pairs; 0: the first of a pair, 1: the second */
};

/* The clock of one CPU. */
struct tick_clock {
	uint64_t since_ns;	/* when the timer was last restarted (CLOCK_MONOTONIC) */
	uint64_t period_ns;	/* its period since then; 0: it did not start yet */
	int64_t owed_ns;	/* time without ticks; negative: there were too many ticks */
	double faster;		/* the rate is higher by this fraction: at random for each pair */
	double pay;		/* by this fraction, to pay back what was owed before */
};

/* period_ns: the nominal period. seed: any number. cpus: number of clocks that will change. */
void tick_jitter_init(struct tick_jitter *j, uint64_t period_ns, uint64_t seed, unsigned int cpus);

/*
 * Changes the nominal period. The next turn begins a pair. What a clock owes stays owed: call
 * tick_clock_settle() with the previous jitter, and begin a period.
 */
void tick_jitter_set_period(struct tick_jitter *j, uint64_t period_ns, unsigned int cpus);

/*
 * Begins the next change. Returns the time until the change after it: 50 ms to 100 ms, at 99 Hz
 * 0.25 s to 0.5 s; the same time for both changes of a pair.
 */
uint64_t tick_jitter_turn(struct tick_jitter *j);

/*
 * Returns the factor for a CPU's rate in this change, 1 - TICK_JITTER to 1 + TICK_JITTER. In the
 * second change of a pair a clock is as much slower as it was faster in the first.
 */
double tick_clock_factor(struct tick_clock *c, struct tick_jitter *j);

/* Returns a clock's first period. The caller calls tick_clock_changed() when it has started. */
uint64_t tick_clock_first(struct tick_clock *c, struct tick_jitter *j);

/* Returns the clock's next period. The present one ends at now_ns. */
uint64_t tick_clock_next(struct tick_clock *c, struct tick_jitter *j, uint64_t now_ns);

/* Reports that the timer was restarted at now_ns with period_ns. Time without ticks is owed. */
void tick_clock_changed(struct tick_clock *c, const struct tick_jitter *j, uint64_t now_ns,
			uint64_t period_ns);

/*
 * Adds what the period since the last restart owes up to now_ns; the period goes on as if the timer
 * had been restarted at now_ns. For a clock that stops, or gets another nominal period.
 */
void tick_clock_settle(struct tick_clock *c, const struct tick_jitter *j, uint64_t now_ns);

#endif
