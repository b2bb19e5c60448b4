// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_burst.c - bursts, probability and budget together, on a capture that the test plays: the
 * functions of capture.h that agent_rate.c calls are here.
 */
#include "agent/agent_rate.h"
#include "agent/burst.h"
#include "agent/own_cpu.h"
#include "base/time.h"
#include "capture/capture.h"
#include "config/config.h"
#include "resolve/process.h"
#include "tests/unit/tach_test.h"

#include <math.h>
#include <signal.h>
#include <sys/wait.h>


/* ---- the capture that is played ---- */

static struct {
	uint32_t hz, refuse_above;
	bool paused;
	unsigned int every;
	capture_chosen_fn chosen;
	void *ctx;
	uint64_t walk_ns;
	uint64_t bpf[CNT_MAX];
} play;

int capture_set_rate(struct capture *s, uint32_t hz)
{
	if (play.refuse_above && hz > play.refuse_above)
		return -EINVAL;
	play.hz = hz;
	return 0;
}

uint32_t capture_rate(const struct capture *s)
{
	return play.hz;
}

void capture_pause(struct capture *s, bool pause)
{
	assert_int_not_equal(pause, play.paused);
	play.paused = pause;
}

int capture_thin(struct capture *s, unsigned int every, capture_chosen_fn chosen, void *ctx)
{
	play.every = every;
	play.chosen = chosen;
	play.ctx = ctx;
	return 0;
}

uint64_t capture_walk_ns(struct capture *s)
{
	return play.walk_ns;
}

void capture_counts(struct capture *s, struct capture_counts *out)
{
	*out = (struct capture_counts){ .bpf = play.bpf };
}

/* ---- */

static struct agent_config config(uint32_t hz, double cpu_percent, double probability)
{
	struct agent_config c = { .rate_hz = hz, .probability = probability };

	c.budget.cpu_percent = cpu_percent;
	c.budget.min_rate_hz = 1;
	return c;
}

static struct agent_rate *begin(const struct agent_config *c)
{
	struct agent_rate *r;

	memset(&play, 0, sizeof(play));
	play.hz = c->rate_hz;
	play.every = 1;
	r = agent_rate_new(NULL, c, 42);
	assert_non_null(r);
	return r;
}

static struct ctl_request of_pid(pid_t pid, uint32_t hz, uint64_t for_ns)
{
	return (struct ctl_request){ .what = CTL_BURST, .rate_hz = hz, .for_ns = for_ns,
				     .pids = { pid }, .pid_cnt = pid != 0 };
}

static void test_a_burst_comes_and_goes(void **state)
{
	struct agent_config c = config(19, 0, 1);
	struct agent_rate *r = begin(&c);
	struct ctl_request q = of_pid(getpid(), 999, 30 * NS_PER_S);
	struct buf out = { 0 };
	struct agent_rate_now now;

	assert_false(agent_rate_tick(r, NS_PER_S, 0));
	assert_int_equal(agent_rate_burst(r, &q, NS_PER_S, &out), 0);
	assert_int_equal(play.hz, 19);
	assert_true(agent_rate_tick(r, NS_PER_S, 0));		/* the window is cut */
	assert_int_equal(play.hz, 999);
	assert_int_equal(play.every, 52);
	assert_false(agent_rate_tick(r, 2 * NS_PER_S, 0));
	agent_rate_now(r, 11 * NS_PER_S, &now);
	assert_true(now.burst && now.burst_left_s == 20 && now.others_every == 52);
	assert_false(agent_rate_tick(r, 31 * NS_PER_S - 1, 0));
	assert_true(agent_rate_tick(r, 31 * NS_PER_S, 0));
	assert_int_equal(play.hz, 19);
	assert_int_equal(play.every, 1);
	assert_false(agent_rate_tick(r, 32 * NS_PER_S, 0));
	/* Stopped by hand; and one of all processes thins nothing. */
	q = of_pid(0, 99, 30 * NS_PER_S);
	assert_int_equal(agent_rate_burst(r, &q, 32 * NS_PER_S, &out), 0);
	assert_true(agent_rate_tick(r, 32 * NS_PER_S, 0));
	assert_int_equal(play.hz, 99);
	assert_int_equal(play.every, 1);
	assert_int_equal(agent_rate_burst_stop(r, &out), 0);
	assert_true(agent_rate_tick(r, 33 * NS_PER_S, 0));
	assert_int_equal(play.hz, 19);
	assert_int_equal(agent_rate_burst_stop(r, &out), 0);
	assert_false(agent_rate_tick(r, 33 * NS_PER_S, 0));
	agent_rate_free(r);
	buf_free(&out);
}

/* A second one replaces the first; a burst below the usual rate thins nothing. */
static void test_bursts_replace_each_other(void **state)
{
	struct agent_config c = config(99, 0, 1);
	struct agent_rate *r = begin(&c);
	struct ctl_request q = of_pid(1, 50000, 30 * NS_PER_S);
	struct buf out = { 0 };

	agent_rate_burst(r, &q, NS_PER_S, &out);
	agent_rate_tick(r, NS_PER_S, 0);
	assert_int_equal(play.every, THINNING_MAX);
	q = of_pid(2, 20, 5 * NS_PER_S);
	agent_rate_burst(r, &q, 2 * NS_PER_S, &out);
	assert_true(agent_rate_tick(r, 2 * NS_PER_S, 0));
	assert_int_equal(play.hz, 20);
	assert_int_equal(play.every, 1);
	assert_true(agent_rate_tick(r, 7 * NS_PER_S, 0));
	assert_int_equal(play.hz, 99);
	agent_rate_free(r);
	buf_free(&out);
}

/* Who is in it: by conditions, by pid, both, neither. */
static void test_who_is_chosen(void **state)
{
	struct burst b = { 0 };
	struct ctl_request q = of_pid(getpid(), 99, NS_PER_S);
	struct buf text = { 0 };

	assert_false(burst_chooses(&b, getpid()));
	assert_int_equal(burst_begin(&b, &q, 0), 0);
	assert_int_equal(q.pid_cnt, 0);			/* it was taken */
	assert_true(burst_chooses(&b, getpid()));
	assert_false(burst_chooses(&b, getppid()));
	q = of_pid(getpid(), 99, NS_PER_S);
	assert_int_equal(proc_filter_add(&q.filter, FILTER_COMM, false, "test_burs*"), 0);
	assert_int_equal(burst_begin(&b, &q, 0), 0);
	assert_true(burst_chooses(&b, getpid()));
	assert_int_equal(burst_text(&b, &text), 0);
	assert_int_equal(text.len, (size_t)snprintf(NULL, 0, "--comm test_burs* --pid %d",
						    getpid()));
	q = of_pid(getpid(), 99, NS_PER_S);
	assert_int_equal(proc_filter_add(&q.filter, FILTER_COMM, false, "another"), 0);
	assert_int_equal(burst_begin(&b, &q, 0), 0);
	assert_false(burst_chooses(&b, getpid()));
	assert_false(burst_chooses(&b, 0x7ffffff));	/* no such process */
	assert_false(burst_expired(&b, NS_PER_S - 1));
	assert_true(burst_expired(&b, NS_PER_S));
	assert_false(burst_expired(&b, 2 * NS_PER_S));
	q = of_pid(0, 99, NS_PER_S);
	assert_int_equal(burst_begin(&b, &q, 0), 0);
	assert_true(burst_is_of_all(&b) && burst_chooses(&b, getppid()));
	burst_end(&b);
	buf_free(&text);
}

/* The sum of weights is right; each host has other windows; parts of one window agree. */
static void test_probability(void **state)
{
	static const double ps[] = { 0.1, 0.5, 0.01, 0.333, 1 };
	uint64_t w, windows = 20000;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ps); i++) {
		struct agent_config c = config(19, 0, ps[i]);
		struct agent_rate *r = begin(&c);
		double weight = 0, profiled = 0, run = 0, longest = 0;
		struct agent_rate_now now;

		for (w = 0; w < windows; w++) {
			uint64_t start = 1790000000 * NS_PER_S + w * 15 * NS_PER_S;
			struct agent_weight a = agent_rate_window(r, start);
			struct agent_weight b = agent_rate_window(r, start);

			assert_int_equal(a.profiled, b.profiled);
			assert_int_equal(play.paused, !a.profiled);
			profiled += a.profiled;
			weight += a.profiled ? (double)a.mul / a.div : 0;
			run = a.profiled ? 0 : run + 1;
			longest = run > longest ? run : longest;
		}
		/* five standard deviations */
		if (fabs(profiled - windows * ps[i]) >
		    5 * sqrt(windows * ps[i] * (1 - ps[i])) + 1e-6)
			fail_msg("%g: %g of %llu", ps[i], profiled, (unsigned long long)windows);
		assert_true(fabs(weight / windows - profiled / windows / ps[i]) < 1e-4);
		assert_true(longest < 25 / ps[i]);
		agent_rate_now(r, NS_PER_S, &now);
		assert_true(now.windows_skipped == 2 * (windows - profiled));
		agent_rate_free(r);
	}
}

/* A burst is seen whatever the probability is, and counts 1. */
static void test_a_burst_in_a_window_that_is_not_profiled(void **state)
{
	struct agent_config c = config(19, 0, 1e-6);
	struct agent_rate *r = begin(&c);
	struct ctl_request q = of_pid(0, 99, 30 * NS_PER_S);
	struct buf out = { 0 };
	struct agent_weight w;

	assert_false(agent_rate_window(r, NS_PER_S).profiled);
	agent_rate_burst(r, &q, NS_PER_S, &out);
	assert_true(agent_rate_tick(r, NS_PER_S, 0));
	w = agent_rate_window(r, NS_PER_S);
	assert_true(w.profiled && w.mul == w.div && !play.paused);
	assert_int_equal(play.hz, 99);
	assert_true(agent_rate_tick(r, 40 * NS_PER_S, 0));
	assert_false(agent_rate_window(r, 30 * NS_PER_S).profiled);
	assert_true(play.paused);
	agent_rate_free(r);
	buf_free(&out);
}

/* The BPF side's time counts; a burst is not lowered; after it the old rate is in force. */
static void test_the_budget(void **state)
{
	struct agent_config c = config(99, 0.5, 1);
	struct agent_rate *r = begin(&c);
	struct ctl_request q = of_pid(0, 999, 60 * NS_PER_S);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct buf out = { 0 };
	uint32_t lowered, i;

	for (i = 0; i < 60; i++) {
		agent_rate_tick(r, i * NS_PER_S, 0);
		play.walk_ns += 10000000ull * cpus * play.hz / 99;	/* 1 % */
	}
	lowered = play.hz;
	assert_in_range(lowered, 20, 60);
	agent_rate_burst(r, &q, i * NS_PER_S, &out);
	for (; i < 110; i++) {
		agent_rate_tick(r, i * NS_PER_S, 0);
		play.walk_ns += 100000000ull * cpus;
		assert_int_equal(play.hz, 999);
	}
	for (; i < 140; i++)
		agent_rate_tick(r, i * NS_PER_S, 0);
	assert_in_range(play.hz, lowered, lowered + lowered / 2 + 1);
	c.rate_hz = 19;
	agent_rate_configure(r, &c);
	assert_int_equal(play.hz, 19);
	agent_rate_free(r);
	buf_free(&out);
}

/* Bytes alone limit, too. */
static void test_bytes(void **state)
{
	struct agent_config c = config(99, 0, 1);
	struct agent_rate *r;
	uint64_t bytes = 0;
	uint32_t i;

	c.budget.bytes_per_minute = 600000;
	r = begin(&c);
	for (i = 0; i < 1200; i++) {
		bytes += i % 15 ? 0 : 3000 * play.hz;	/* 1.2 MB a minute at 99 Hz */
		agent_rate_tick(r, i * NS_PER_S, bytes);
	}
	assert_in_range(play.hz, 25, 55);
	agent_rate_free(r);
}

/* What a child used counts while it lives and after it has ended. */
static void test_own_cpu(void **state)
{
	struct own_cpu own = { 0 };
	uint64_t before = own_cpu_ns(&own), with, after;
	int to[2], status;
	pid_t pid;
	char c;

	assert_int_equal(pipe(to), 0);
	pid = fork();
	if (!pid) {
		while (cpu_time_s() < 0.05)
			;
		write(to[1], "x", 1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(to[0], &c, 1), 1);
	with = own_cpu_ns(&own);
	assert_true(with - before >= 49000000);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	after = own_cpu_ns(&own);
	assert_true(after >= with && after - with < 50000000);
	assert_true(own_cpu_ns(&own) >= after);
	close(to[0]);
	close(to[1]);
}

static int quiet(void **state)
{
	log_set_level(LOG_QUIET);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_burst_comes_and_goes),
		cmocka_unit_test(test_bursts_replace_each_other),
		cmocka_unit_test(test_who_is_chosen),
		cmocka_unit_test(test_probability),
		cmocka_unit_test(test_a_burst_in_a_window_that_is_not_profiled),
		cmocka_unit_test(test_the_budget),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_own_cpu),
	};

	return cmocka_run_group_tests(tests, quiet, NULL);
}
