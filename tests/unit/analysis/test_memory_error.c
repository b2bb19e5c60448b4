// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_memory_error.c - errors of three bursts, worked out by hand: for the sums x of a row in n
 * bursts, the variance of their sum X is n times that of one burst:
 * (x² + ... - X² / n) n / (n - 1).
 */
#include <math.h>

#include "analysis/memory_error.h"
#include "tests/unit/mlyze_test.h"

#define START 1000000ull
#define BURST 100ull		/* µs from one to the next */

static struct mlyze_test m;
static struct mlyze_notes notes;
static struct memory_errors *errors;

/* A block of a row, in a burst from 1 on. */
static void add_block(unsigned int burst, uint16_t row, uint64_t addr, uint64_t bytes)
{
	const struct string_ref file = { "/a.py", 5 }, func = { "f", 1 };
	uint32_t frame = mlyze_test_frame(&m, &file, &func, 1);

	assert_int_equal(mlyze_stream_alloc(m.stream, START + burst * BURST + row, addr, bytes, 0,
					    &frame, 1, row), 0);
}

static void begin_burst(unsigned int burst)
{
	const uint64_t time_us = START + burst * BURST;

	mlyze_test_mark(&m, time_us, "burst", 5);
	assert_int_equal(buf_add(&notes.bursts, &time_us, sizeof(time_us)), 0);
	notes.sampled.bursts++;
}

/* Rows are threads here. */
static int row_of(void *ctx, const struct mlyze_event *alloc, uint32_t *row)
{
	*row = alloc->thread;
	return 0;
}

static void read_range(uint64_t from_us, uint64_t to_us)
{
	memory_errors_free(errors);
	assert_int_equal(memory_errors_read(m.file, &notes, from_us, to_us, row_of, NULL,
					    &errors), 0);
}

static void assert_near(double x, double wanted)
{
	if (!(fabs(x - wanted) < 1e-9))
		fail_msg("%.12f is not %.12f", x, wanted);
}

static int setup(void **state)
{
	m = mlyze_test_new(START);
	return 0;
}

static int teardown(void **state)
{
	memory_errors_free(errors);
	errors = NULL;
	mlyze_notes_free(&notes);
	memset(&notes, 0, sizeof(notes));
	mlyze_test_free(&m);
	return 0;
}

/*
 * Row 0 touches 100, 200 and 300 bytes, and frees the first 100; row 1 touches 60 in the second
 * burst, in two blocks; row 2 touches 70 in each; row 3 nothing.
 */
static void write_three_bursts(void)
{
	unsigned int burst;

	for (burst = 1; burst <= 3; burst++) {
		begin_burst(burst);
		add_block(burst, 0, 0x1000 * burst, 100 * burst);
		if (burst == 2) {
			add_block(burst, 1, 0x10, 20);
			add_block(burst, 1, 0x20, 40);
		}
		add_block(burst, 2, 0x1000 * burst + 0x800, 70);
	}
	assert_int_equal(mlyze_stream_freed(m.stream, START + 4 * BURST, 0x1000), 0);
	mlyze_test_open(&m);
}

static void test_touched(void **state)
{
	write_three_bursts();
	read_range(0, UINT64_MAX);
	/* (140000 - 600² / 3) 3 / 2 = 30000 */
	assert_near(memory_errors_touched(errors, 0), sqrt(30000) / 600);
	/* (3600 - 60² / 3) 3 / 2 = 60²: seen once, so it may well not be there */
	assert_near(memory_errors_touched(errors, 1), 1);
	assert_near(memory_errors_touched(errors, 2), 0);
	assert_near(memory_errors_touched(errors, 3), 0);
	assert_near(memory_errors_touched(errors, 1000), 0);
	/* 170, 330, 370: (274700 - 870² / 3) 3 / 2 = 33600 */
	assert_near(memory_errors_touched(errors, MEMORY_ERRORS_TOTAL), sqrt(33600) / 870);
}

static void test_held(void **state)
{
	write_three_bursts();
	read_range(0, UINT64_MAX);
	/* 0, 200, 300: (130000 - 500² / 3) 3 / 2 = 70000 */
	assert_near(memory_errors_held(errors, 0), sqrt(70000) / 500);
	assert_near(memory_errors_held(errors, 1), 1);
	assert_near(memory_errors_held(errors, 2), 0);
	assert_near(memory_errors_held(errors, 3), 0);
	/* 70, 330, 370: (250700 - 770² / 3) 3 / 2 = 79600 */
	assert_near(memory_errors_held(errors, MEMORY_ERRORS_TOTAL), sqrt(79600) / 770);
}

/* Of 800 held bytes it is not known for 80 whether they were used again: 10 % of each row. */
static void test_used_again(void **state)
{
	write_three_bursts();
	notes.sampled.used = 1000;
	notes.sampled.again = 200;
	notes.sampled.again_error = 80;
	read_range(0, UINT64_MAX);
	assert_near(memory_errors_held(errors, 0), sqrt(70000.0 / 250000 + 0.01));
	assert_near(memory_errors_held(errors, 2), 0.1);
	assert_near(memory_errors_held(errors, 3), 0);
	assert_near(memory_errors_touched(errors, 0), sqrt(30000) / 600);
	/* All was used again: nothing to divide by. */
	notes.sampled.again = 1000;
	read_range(0, UINT64_MAX);
	assert_near(memory_errors_held(errors, 2), 0);
}

/* What was touched is of the range; what is held may be from a burst before it. */
static void test_ranges(void **state)
{
	write_three_bursts();
	read_range(START + 2 * BURST, UINT64_MAX);
	/* 200, 300: (130000 - 500² / 2) 2 = 10000 */
	assert_near(memory_errors_touched(errors, 0), sqrt(10000) / 500);
	assert_near(memory_errors_held(errors, 0), sqrt(70000) / 500);
	assert_near(memory_errors_held(errors, 2), 0);
	/* Of three held parts, two are older. */
	read_range(START + 3 * BURST, UINT64_MAX);
	assert_near(memory_errors_touched(errors, 0), 1);
	assert_near(memory_errors_touched(errors, 1), 0);
	assert_near(memory_errors_held(errors, 0), sqrt(70000) / 500);
	/* The end of the range: row 0 has 100 and 200, of which nothing is freed yet. */
	read_range(0, START + 2 * BURST + 5);
	/* (50000 - 300² / 2) 2 = 10000 */
	assert_near(memory_errors_touched(errors, 0), sqrt(10000) / 300);
	assert_near(memory_errors_held(errors, 0), sqrt(10000) / 300);
	read_range(0, START + BURST + 5);
	assert_near(memory_errors_touched(errors, 0), 1);
	assert_near(memory_errors_held(errors, 2), 1);
}

/* An address that is given out again, whose free nobody saw, is the later block. */
static void test_a_free_is_missing(void **state)
{
	begin_burst(1);
	add_block(1, 0, 0x1000, 100);
	begin_burst(2);
	add_block(2, 1, 0x1000, 300);
	mlyze_test_open(&m);
	read_range(0, UINT64_MAX);
	assert_near(memory_errors_held(errors, 0), 0);
	assert_near(memory_errors_held(errors, 1), 1);
	/* (300² - 300² / 2) 2 = 300² */
	assert_near(memory_errors_held(errors, MEMORY_ERRORS_TOTAL), 1);
	/* 100, 300: (100000 - 400² / 2) 2 = 40000 */
	assert_near(memory_errors_touched(errors, MEMORY_ERRORS_TOTAL), 0.5);
}

static void test_no_bursts(void **state)
{
	add_block(1, 0, 0x1000, 100);
	mlyze_test_open(&m);
	read_range(0, UINT64_MAX);
	assert_null(errors);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_touched), TEST(test_held), TEST(test_used_again), TEST(test_ranges),
		TEST(test_a_free_is_missing), TEST(test_no_bursts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
