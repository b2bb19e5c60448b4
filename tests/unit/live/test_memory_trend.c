// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_memory_trend.c - which memory is said to grow, and how quickly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "live/memory_trend.h"

#define S 1000000000ull
#define MIB (1ull << 20)

/* Adds a reading each second: `bytes` of each of them. */
static struct memory_trend trend_of(uint64_t (*bytes)(unsigned int second), unsigned int seconds)
{
	struct memory_trend t = { .recent_cnt = 0 };
	unsigned int i;

	for (i = 0; i < seconds; i++)
		memory_trend_add(&t, (1000 + i) * S, bytes(i));
	return t;
}

static void assert_steady(const struct memory_trend *t, bool since_start, double mib_per_min,
			  double error)
{
	struct memory_growth g = memory_trend_growth(t, since_start);

	assert_true(g.steady);
	if (fabs(g.bytes_per_min / MIB - mib_per_min) > error)
		fail_msg("%g MiB a minute instead of %g", g.bytes_per_min / MIB, mib_per_min);
}

static void assert_none(const struct memory_trend *t, bool since_start)
{
	struct memory_growth g = memory_trend_growth(t, since_start);

	assert_false(g.steady);
	assert_true(g.bytes_per_min == 0 && g.span_ns == 0);
}

static uint64_t grows(unsigned int s)
{
	return 100 * MIB + s * MIB;
}

static uint64_t shrinks(unsigned int s)
{
	return 1000 * MIB - s * MIB / 2;
}

static uint64_t stays(unsigned int s)
{
	return 100 * MIB;
}

static void test_growth_is_that_of_the_program(void **state)
{
	struct memory_trend t = trend_of(grows, 30);

	assert_steady(&t, false, 60, 1e-6);
	assert_steady(&t, true, 60, 1e-6);
	assert_true(memory_trend_growth(&t, false).span_ns == 29 * S);
	t = trend_of(shrinks, 30);
	assert_steady(&t, false, -30, 1e-6);
	t = trend_of(stays, 300);
	assert_none(&t, false);
	assert_none(&t, true);
}

static void test_too_few_readings_say_nothing(void **state)
{
	struct memory_trend t = { .recent_cnt = 0 };
	unsigned int i;

	assert_none(&t, false);
	for (i = 1; i <= MEMORY_TREND_LEAST; i++) {
		assert_none(&t, false);
		memory_trend_add(&t, i * S, grows(i));
		/* Less than a second later. */
		memory_trend_add(&t, i * S + S / 2, 7);
	}
	assert_steady(&t, false, 60, 1e-6);
}

/* What a program loads once, or frees and makes again. */
static uint64_t jumps(unsigned int s)
{
	return s < 20 ? 100 * MIB : 900 * MIB + s * 4096;
}

static uint64_t jumps_early(unsigned int s)
{
	return s < 3 ? 100 * MIB : 900 * MIB + s * 4096;
}

static uint64_t saws(unsigned int s)
{
	return 100 * MIB + s % 7 * 50 * MIB + s * MIB / 16;
}

static uint64_t trembles(unsigned int s)
{
	return 100 * MIB + s * 2654435761u % (3 * MIB);
}

static uint64_t creeps(unsigned int s)
{
	return 100 * MIB + s * 16384;
}

static void test_noise_is_no_growth(void **state)
{
	uint64_t (*const noises[])(unsigned int) = { jumps, jumps_early, saws, trembles, creeps };
	unsigned int i, seconds;

	for (i = 0; i < sizeof(noises) / sizeof(*noises); i++)
		for (seconds = 0; seconds < 60; seconds++) {
			struct memory_trend t = trend_of(noises[i], seconds);

			assert_none(&t, false);
		}
}

/* Allocators take memory from the kernel in steps. */
static uint64_t steps(unsigned int s)
{
	return 100 * MIB + s / 5 * MIB;
}

static void test_growth_in_steps(void **state)
{
	struct memory_trend t = trend_of(steps, 60);

	assert_steady(&t, false, 12, 1);
}

static uint64_t stopped_growing(unsigned int s)
{
	return 100 * MIB + (s < 3000 ? s : 3000) * MIB;
}

/* The last minute, and all of it, however long that is. */
static void test_the_last_minute_and_since_the_start(void **state)
{
	struct memory_trend t = trend_of(stopped_growing, 3000);
	unsigned int seconds;

	assert_steady(&t, false, 60, 1e-6);
	assert_true(memory_trend_growth(&t, false).span_ns == 59 * S);
	t = trend_of(stopped_growing, 3100);
	assert_none(&t, false);
	assert_steady(&t, true, 60, 5);
	assert_true(memory_trend_growth(&t, true).span_ns > 2900 * S);
	for (seconds = 60; seconds < 3000; seconds += 7) {
		t = trend_of(creeps, seconds);
		if (seconds > 120)
			assert_steady(&t, true, 60.0 / 64, 0.01);
		t = trend_of(stopped_growing, seconds);
		assert_steady(&t, true, 60, 1e-6);
		assert_true(memory_trend_growth(&t, true).span_ns >= (seconds - 1) / 2 * S);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_growth_is_that_of_the_program),
		cmocka_unit_test(test_too_few_readings_say_nothing),
		cmocka_unit_test(test_noise_is_no_growth),
		cmocka_unit_test(test_growth_in_steps),
		cmocka_unit_test(test_the_last_minute_and_since_the_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
