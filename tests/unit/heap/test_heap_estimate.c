// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_heap_estimate.c - estimates from samples of a made-up heap: unbiased, with errors that hold.
 *
 * The heap is known, so the variance of an estimate is, too: the mean of many must be within five
 * of its standard errors of the truth. All random numbers have fixed seeds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/util.h"
#include "heap/estimate.h"

#define DRAWS 2000
#define UNITS 400
#define ROWS 4

/*
 * Two strata. Row 0 is in all units, row 1 in every 7th one of stratum 0, row 2 in one unit of
 * each, row 3 in none.
 */
static struct estimate_sum truth[2][UNITS][ROWS];
static const uint32_t sizes[2] = { UNITS, 150 };

static void make_heap(void)
{
	uint64_t seed = 7;
	uint32_t h, i;

	memset(truth, 0, sizeof(truth));
	for (h = 0; h < 2; h++) {
		for (i = 0; i < sizes[h]; i++) {
			double n = 50 + (double)(heap_random(&seed) % 100) + 300.0 * h;

			truth[h][i][0] = (struct estimate_sum){ n, 64 * n + i, 8 * n };
			if (!h && !(i % 7))
				truth[h][i][1] = (struct estimate_sum){ 10, 1000, 0 };
		}
		truth[h][sizes[h] / 2][2] = (struct estimate_sum){ 5, 500, 500 };
	}
}

static double total(uint32_t row)
{
	double sum = 0;
	uint32_t h, i;

	for (h = 0; h < 2; h++)
		for (i = 0; i < sizes[h]; i++)
			sum += truth[h][i][row].bytes;
	return sum;
}

/* The variance of an estimate from n[h] units of each stratum. */
static double variance(uint32_t row, const uint32_t n[2])
{
	double all = 0, sum, squares, s2;
	uint32_t h, i;

	for (h = 0; h < 2; h++) {
		sum = squares = 0;
		for (i = 0; i < sizes[h]; i++) {
			sum += truth[h][i][row].bytes;
			squares += truth[h][i][row].bytes * truth[h][i][row].bytes;
		}
		s2 = (squares - sum * sum / sizes[h]) / (sizes[h] - 1);
		all += (double)sizes[h] * sizes[h] * (1 - (double)n[h] / sizes[h]) * s2 / n[h];
	}
	return all;
}

static struct estimate *begin(double scale)
{
	uint32_t cnt[HEAP_STRATA] = { sizes[0], sizes[1] };
	struct estimate *e = estimate_new(ROWS, cnt, scale);

	assert_non_null(e);
	return e;
}

static void take(struct estimate *e, uint32_t h, uint32_t i)
{
	uint32_t row;

	estimate_begin(e);
	for (row = 0; row < ROWS; row++)
		if (truth[h][i][row].objects > 0)
			estimate_add(e, row, truth[h][i][row]);
	assert_int_equal(estimate_end(e, h), 0);
}

/* n of a stratum's units, each with the same chance. */
static void draw(struct estimate *e, uint32_t h, uint32_t n, uint64_t *seed)
{
	uint32_t order[UNITS], i, other, kept;

	for (i = 0; i < sizes[h]; i++)
		order[i] = i;
	for (i = 0; i < n; i++) {
		other = i + (uint32_t)(heap_random(seed) % (sizes[h] - i));
		kept = order[other];
		order[other] = order[i];
		order[i] = kept;
		take(e, h, kept);
	}
}

static void test_unbiased(void **state)
{
	const uint32_t n[2] = { 40, 20 };
	double sum[ROWS] = { 0 }, error;
	uint64_t seed = 12345;
	struct estimate_figure f;
	uint32_t row, covered[ROWS] = { 0 };
	struct estimate *e;
	int i;

	make_heap();
	for (i = 0; i < DRAWS; i++) {
		e = begin(1);
		draw(e, 0, n[0], &seed);
		draw(e, 1, n[1], &seed);
		for (row = 0; row < ROWS; row++) {
			estimate_figure(e, row, &f);
			sum[row] += f.bytes;
			covered[row] += fabs(f.bytes - total(row)) <= f.bytes_error;
		}
		estimate_free(e);
	}
	for (row = 0; row < 3; row++) {
		error = sqrt(variance(row, n) / DRAWS);
		assert_true(fabs(sum[row] / DRAWS - total(row)) < 5 * error);
	}
	/* 95 % of the intervals; less than 93.5 % of 2,000 would be three standard errors off. */
	assert_true(covered[0] > 0.935 * DRAWS);
	assert_true(covered[1] > 0.935 * DRAWS);
}

static void test_all_units(void **state)
{
	struct estimate *e = begin(1);
	struct estimate_figure f;
	uint32_t h, i, row;

	make_heap();
	for (h = 0; h < 2; h++)
		for (i = 0; i < sizes[h]; i++)
			take(e, h, i);
	for (row = 0; row < ROWS; row++) {
		estimate_figure(e, row, &f);
		assert_true(fabs(f.bytes - total(row)) < 1e-6 * (total(row) + 1));
		assert_true(f.bytes_error < 1e-6 * (total(row) + 1));
	}
	assert_int_equal(estimate_all_units(e), sizes[0] + sizes[1]);
	assert_int_equal(estimate_units(e, 1), sizes[1]);
	estimate_free(e);
}

/* Seen in one unit of ten: the other nine may have as much. */
static void test_few_units(void **state)
{
	struct estimate *e = begin(1);
	struct estimate_figure f;
	uint32_t i;

	make_heap();
	for (i = 0; i < 39; i++)
		take(e, 0, i * 10 + 1);
	take(e, 0, UNITS / 2);
	estimate_figure(e, 2, &f);
	assert_true(fabs(f.bytes - 5000) < 1e-6);
	assert_true(f.bytes_error > 4 * 5000 && f.bytes_error < 6 * 5000);
	assert_true(fabs(f.owned - 5000) < 1e-6);
	estimate_figure(e, 3, &f);
	assert_true(f.objects == 0 && f.objects_error == 0);
	estimate_free(e);
}

/* A unit that is begun anew does not count. What is certain has no error. */
static void test_dropped_and_certain(void **state)
{
	struct estimate *e = begin(1);
	struct estimate_figure f;
	uint32_t i;

	make_heap();
	estimate_begin(e);
	estimate_add(e, 0, (struct estimate_sum){ 1e6, 1e9, 0 });
	for (i = 0; i < sizes[0]; i++)
		take(e, 0, i);
	for (i = 0; i < sizes[1]; i++)
		take(e, 1, i);
	estimate_certain(e, 0, (struct estimate_sum){ 2, 1000, 900 });
	estimate_figure(e, 0, &f);
	assert_true(fabs(f.bytes - total(0) - 1000) < 1e-3);
	assert_true(f.bytes_error < 1e-3);
	estimate_free(e);
}

/* All units of the list are read, which is one in eight of all: the error is that choice's. */
static void test_scale(void **state)
{
	struct estimate *e = begin(8);
	struct estimate_figure f;
	uint32_t h, i;

	make_heap();
	for (h = 0; h < 2; h++)
		for (i = 0; i < sizes[h]; i++)
			take(e, h, i);
	estimate_figure(e, 0, &f);
	assert_true(fabs(f.bytes - 8 * total(0)) < 1e-3);
	assert_true(f.bytes_error > 0.05 * f.bytes && f.bytes_error < 0.2 * f.bytes);
	estimate_free(e);
}

static void test_spread(void **state)
{
	struct estimate *e = begin(1);
	uint32_t i;

	make_heap();
	assert_true(estimate_spread(e, 0) == 0);
	for (i = 0; i < 50; i++) {
		take(e, 0, i);
		estimate_begin(e);
		estimate_add(e, 0, (struct estimate_sum){ 1, 100, 0 });
		estimate_end(e, 1);
	}
	assert_true(estimate_spread(e, 0) > 100);
	assert_true(estimate_spread(e, 1) < 1e-6);
	estimate_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unbiased),
		cmocka_unit_test(test_all_units),
		cmocka_unit_test(test_few_units),
		cmocka_unit_test(test_dropped_and_certain),
		cmocka_unit_test(test_scale),
		cmocka_unit_test(test_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
