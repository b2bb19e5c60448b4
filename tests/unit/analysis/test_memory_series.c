// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_memory_series.c - growth and leaks by hand, and thousands of random series against a plain
 * computation that looks at each row at each moment.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/memory_series.h"
#include "base/util.h"
#include "tests/unit/tach_test.h"

#define MOMENTS_MAX 30
#define ROWS 4
#define SECOND 1000000ull

static void change(struct memory_series *s, uint32_t row, uint64_t time_us, uint64_t bytes,
		   bool more)
{
	assert_int_equal(memory_series_change(s, row, time_us, bytes, more), 0);
}

static void test_a_line_has_its_slope(void **state)
{
	uint64_t moments[11];
	struct memory_series *s;
	uint64_t i;

	(void)state;
	for (i = 0; i < 11; i++)
		moments[i] = (100 + i) * SECOND;
	s = memory_series_new(moments, 11, 5);
	assert_non_null(s);
	for (i = 1; i < 11; i++)
		change(s, 0, moments[i], 1000, true);
	memory_series_end(s);
	assert_int_equal(memory_series_intervals(s), 5);
	assert_true(fabs(memory_series_growth(s, 0) - 60000) < 1e-6);
	assert_true(memory_series_grew(s, 0));
	/* A row that nobody changed holds nothing. */
	assert_true(memory_series_growth(s, 7) == 0);
	assert_false(memory_series_grew(s, 7));
	memory_series_free(s);
}

/* To grow in each interval is more than to grow. */
static void test_a_pause_is_no_leak(void **state)
{
	static const uint64_t moments[] = { 0, 10, 20, 30, 40, 50, 60 };
	struct memory_series *s = memory_series_new(moments, ARRAY_SIZE(moments), 3);
	uint32_t i;

	(void)state;
	for (i = 0; i < 6; i++) {
		change(s, 0, i * 10 + 5, 100, true);		/* always */
		if (i != 2 && i != 3)
			change(s, 1, i * 10 + 5, 100, true);	/* not from 20 to 40 */
		change(s, 2, i * 10 + 5, 100, i % 2 == 0);	/* up and down */
	}
	memory_series_end(s);
	assert_true(memory_series_grew(s, 0));
	assert_false(memory_series_grew(s, 1));
	assert_false(memory_series_grew(s, 2));
	assert_true(memory_series_growth(s, 1) > 0);
	memory_series_free(s);
}

static void test_too_few_moments(void **state)
{
	static const uint64_t moments[] = { 5, 6, 7 };
	size_t cnt;

	(void)state;
	for (cnt = 0; cnt <= 3; cnt++) {
		struct memory_series *s = memory_series_new(moments, cnt, 6);

		assert_non_null(s);
		change(s, 0, 5, 1, true);
		change(s, 0, 6, 1, true);
		memory_series_end(s);
		assert_int_equal(memory_series_intervals(s), 0);
		assert_false(memory_series_grew(s, 0));
		assert_true((memory_series_growth(s, 0) > 0) == (cnt > 1));
		memory_series_free(s);
	}
}

/* ---- against a plain computation ---- */

struct plain {
	uint64_t held[MOMENTS_MAX][ROWS];
};

static double plain_slope(const struct plain *p, const uint64_t *moments, size_t cnt, uint32_t row)
{
	double times = 0, sum = 0, products = 0, squares = 0;
	size_t i;

	for (i = 0; i < cnt; i++) {
		double t = (double)(moments[i] - moments[0]) / 60e6;

		times += t;
		sum += (double)p->held[i][row];
		products += t * (double)p->held[i][row];
		squares += t * t;
	}
	return ((double)cnt * products - times * sum) / ((double)cnt * squares - times * times);
}

static bool plain_grew(const struct plain *p, size_t cnt, uint32_t intervals, uint32_t row)
{
	uint32_t i;

	for (i = 1; i <= intervals; i++)
		if (p->held[(cnt - 1) * i / intervals][row] <=
		    p->held[(cnt - 1) * (i - 1) / intervals][row])
			return false;
	return true;
}

/* One series. Returns how many of its rows leak. */
static int try_one(uint64_t *seed)
{
	size_t cnt = 4 + rnd(seed) % (MOMENTS_MAX - 4), next = 0, i;
	uint32_t intervals = 3 + (uint32_t)(rnd(seed) % 6), row;
	uint64_t moments[MOMENTS_MAX], now[ROWS] = { 0 }, t = 0;
	struct plain p;
	struct memory_series *s;
	int leaks = 0;

	for (i = 0; i < cnt; i++)
		moments[i] = (i ? moments[i - 1] : SECOND) + 1 + rnd(seed) % SECOND;
	s = memory_series_new(moments, cnt, intervals);
	assert_non_null(s);
	if (cnt - 1 < intervals)
		intervals = (uint32_t)cnt - 1;
	assert_int_equal(memory_series_intervals(s), intervals);
	while (t < moments[cnt - 1] + SECOND) {
		t += rnd(seed) % (SECOND / 4);
		/* Often just at a moment. */
		if (next < cnt && t > moments[next] && rnd(seed) % 2)
			t = moments[next];
		for (; next < cnt && moments[next] < t; next++)
			memcpy(p.held[next], now, sizeof(now));
		row = (uint32_t)(rnd(seed) % ROWS);
		if (row == 1 && now[row] && rnd(seed) % 2) {
			change(s, row, t, now[row] / 2, false);
			now[row] -= now[row] / 2;
		} else {
			uint64_t bytes = rnd(seed) % 100000;

			change(s, row, t, bytes, true);
			now[row] += bytes;
		}
	}
	memory_series_end(s);
	for (row = 0; row < ROWS; row++) {
		double want = plain_slope(&p, moments, cnt, row);

		assert_true(fabs(memory_series_growth(s, row) - want) < 1e-3 + fabs(want) * 1e-6);
		assert_int_equal(memory_series_grew(s, row),
				 plain_grew(&p, cnt, intervals, row));
		leaks += memory_series_grew(s, row);
	}
	memory_series_free(s);
	return leaks;
}

static void test_random_series(void **state)
{
	uint64_t seed = 42;
	int i, leaks = 0;

	(void)state;
	for (i = 0; i < 2000; i++)
		leaks += try_one(&seed);
	assert_true(leaks > 100 && leaks < 7900);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_line_has_its_slope),
		cmocka_unit_test(test_a_pause_is_no_leak),
		cmocka_unit_test(test_too_few_moments),
		cmocka_unit_test(test_random_series),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
