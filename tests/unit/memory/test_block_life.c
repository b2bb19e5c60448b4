// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_block_life.c - lives that are known: blocks that stay, that are turned over, and both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "memory/block_life.h"

#define BURST 10000u		/* ticks: 100 ms */
#define BLOCKS 4000u

static struct block_life life;

static int set_up(void **state)
{
	memset(&life, 0, sizeof(life));
	return 0;
}

/*
 * Blocks whose addresses are turned over: each use lasts `mean` ticks on average, exponentially
 * distributed, and they are watched for `most`. share of them stay.
 */
static void watch(double mean, uint64_t most, double share)
{
	double quantile;
	uint64_t ticks;
	unsigned int i;

	for (i = 0; i < BLOCKS; i++) {
		quantile = (i * 2654435761u % BLOCKS + 0.5) / BLOCKS;
		ticks = (uint64_t)(-log(1 - quantile) * mean);
		if (i < share * BLOCKS || ticks >= most)
			block_life_left(&life, most);
		else
			block_life_freed(&life, ticks);
	}
	life.looked = life.used = 1000;	/* no free is noticed by looking */
	block_life_close(&life);
}

static void near(double found, double expected, double error)
{
	if (fabs(found - expected) > error)
		print_error("%f instead of %f\n", found, expected);
	assert_true(fabs(found - expected) <= error);
}

static void test_nothing_is_freed(void **state)
{
	watch(1e12, 20 * BURST, 1);
	near(block_life_first_use(&life, 1000 * BURST, BURST, false), 1, 0);
	near(block_life_first_use(&life, 1000 * BURST, BURST, true), 1, 0);
}

static void test_nothing_is_known(void **state)
{
	block_life_close(&life);
	near(block_life_first_use(&life, 1000 * BURST, BURST, false), 1, 0);
}

/* Within what was watched: S(age) / S(watched). */
static void test_an_age_that_was_watched(void **state)
{
	watch(5 * BURST, 20 * BURST, 0);
	near(block_life_first_use(&life, 6 * BURST, BURST, false), exp(-1), 0.03);
	near(block_life_first_use(&life, 12 * BURST, 2 * BURST, false), exp(-2), 0.03);
	near(block_life_first_use(&life, BURST, BURST, false), 1, 0);
}

/* Beyond it: the hazard stays the same, so nothing is left. */
static void test_an_age_that_was_not_watched(void **state)
{
	watch(5 * BURST, 8 * BURST, 0);
	assert_true(block_life_first_use(&life, 100 * BURST, 4 * BURST, false) < 0.01);
	assert_true(block_life_first_use(&life, 100 * BURST, 4 * BURST, true) > 0.1);
}

/* Some stay: their share among those that are still there. */
static void test_some_stay(void **state)
{
	watch(BURST / 10.0, 16 * BURST, 0.25);
	near(block_life_first_use(&life, 1000 * BURST, 2 * BURST, false), 1, 0.01);
	watch(BURST, 16 * BURST, 0.5);
	near(block_life_first_use(&life, 200 * BURST, 10 * BURST, false), 1, 0.05);
}

/* Looking notices each free: what looks in use is in its first use. */
static void test_looking_notices(void **state)
{
	watch(5 * BURST, 20 * BURST, 0);
	life.looked = 100000;
	life.used = 0;
	assert_true(block_life_first_use(&life, 12 * BURST, 2 * BURST, false) > 0.999);
	life.used = 50000;
	near(block_life_first_use(&life, 12 * BURST, 2 * BURST, false),
	     exp(-2) / (exp(-2) + (1 - exp(-2)) / 2), 0.03);
}

/* What is watched on counts again later, from the beginning. */
static void test_a_block_goes_on(void **state)
{
	struct block_life before;

	watch(5 * BURST, 20 * BURST, 0);
	before = life;
	block_life_left(&life, 777);
	block_life_left(&life, 0);
	block_life_goes_on(&life, 777);
	block_life_goes_on(&life, 0);
	assert_memory_equal(&life, &before, sizeof(life));
}

static void test_the_longest_lives(void **state)
{
	block_life_freed(&life, UINT64_MAX);
	block_life_left(&life, UINT64_MAX);
	block_life_close(&life);
	assert_true(isfinite(block_life_first_use(&life, UINT64_MAX, 0, false)));
}

/* The sum is right to half a block, whatever their sizes. */
static void test_which_are_over(void **state)
{
	double over = 0, expected = 0, first;
	unsigned int i;

	for (i = 0; i < BLOCKS; i++) {
		uint64_t bytes = 512 + i * 7919 % 4096;

		first = i % 10 / 10.0;
		expected += (double)bytes * (1 - first);
		over += block_life_is_over(&life, bytes, first) ? (double)bytes : 0;
		near(over, expected, 4608);
	}
	assert_false(block_life_is_over(&life, UINT64_MAX / 4, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_nothing_is_freed, set_up),
		cmocka_unit_test_setup(test_nothing_is_known, set_up),
		cmocka_unit_test_setup(test_an_age_that_was_watched, set_up),
		cmocka_unit_test_setup(test_an_age_that_was_not_watched, set_up),
		cmocka_unit_test_setup(test_some_stay, set_up),
		cmocka_unit_test_setup(test_looking_notices, set_up),
		cmocka_unit_test_setup(test_a_block_goes_on, set_up),
		cmocka_unit_test_setup(test_the_longest_lives, set_up),
		cmocka_unit_test_setup(test_which_are_over, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
