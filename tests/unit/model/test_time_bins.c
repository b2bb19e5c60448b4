// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_time_bins.c - nothing is left out, whatever the times; entries and bins are bounded. */
#include "model/time_bins.h"
#include "tests/unit/tach_test.h"

#define WIDTH 1000

static void add(struct time_bins *t, uint32_t key, uint64_t time_us, uint64_t step_us,
		uint64_t weight)
{
	assert_int_equal(time_bins_add(t, key, time_us, step_us, weight), 0);
}

static void assert_entries(const struct time_bins *t, const struct time_entry *want, size_t cnt)
{
	size_t got_cnt, i;
	const struct time_entry *got = time_bins_entries(t, &got_cnt);

	assert_int_equal(got_cnt, cnt);
	for (i = 0; i < cnt; i++) {
		assert_int_equal(got[i].key, want[i].key);
		assert_int_equal(got[i].bin, want[i].bin);
		assert_int_equal(got[i].weight, want[i].weight);
	}
}

static void test_samples_of_a_bin_are_one(void **state)
{
	static const struct time_entry want[] = { { 5, 2, 0 }, { 5, 1, 3 }, { 6, 1, 0 } };
	struct time_bins *t = time_bins_new(WIDTH);

	add(t, 0, 5000, 100, 1);
	add(t, 3, 5100, 100, 1);
	add(t, 0, 5999, 100, 1);
	add(t, 0, 6000, 100, 1);
	add(t, 0, 7000, 100, 0);
	assert_entries(t, want, ARRAY_SIZE(want));
	assert_int_equal(time_bins_width_us(t), WIDTH);
	time_bins_free(t);
}

/* A weight stands for samples one after another: each is in the bin of its own time. */
static void test_a_weight_is_spread(void **state)
{
	static const struct time_entry want[] = { { 5, 1, 0 }, { 6, 3, 0 }, { 7, 2, 0 } };
	struct time_bins *t = time_bins_new(WIDTH);

	add(t, 0, 5900, 300, 6);	/* at 5.9, 6.2, 6.5, 6.8, 7.1, 7.4 ms */
	assert_entries(t, want, ARRAY_SIZE(want));
	time_bins_free(t);
}

/* Twice as wide bins until there are not too many. */
static void test_the_number_of_bins_is_bounded(void **state)
{
	static const struct time_entry want[] = { { 0, 1, 0 }, { 1024, 1, 0 } };
	struct time_bins *t = time_bins_new(WIDTH);

	add(t, 0, 0, 0, 1);
	add(t, 0, (uint64_t)TIME_BINS_MAX * WIDTH, 0, 1);
	assert_int_equal(time_bins_width_us(t), 2 * WIDTH);
	assert_entries(t, want, ARRAY_SIZE(want));
	time_bins_free(t);
}

/* Random keys at random times, up to the highest there are. Sums and bounds hold after each. */
static void test_random(void **state)
{
	uint64_t seed = 11, round, i, sum, want, bits;

	for (round = 0; round < 8; round++) {
		struct time_bins *t = time_bins_new(WIDTH);
		const struct time_entry *e;
		size_t cnt, k;

		bits = 16 + round * 6;
		for (i = want = 0; i < 150000; i++) {
			uint64_t weight = rnd(&seed) % 100 ? 1 : rnd(&seed) % 5000;
			uint64_t time_us = rnd(&seed) >> (64 - bits);

			add(t, rnd(&seed) % 3000, time_us, rnd(&seed) % 3000, weight);
			want += weight;
		}
		e = time_bins_entries(t, &cnt);
		assert_true(cnt <= TIME_BINS_EXTRA + 3000);
		for (k = sum = 0; k < cnt; k++) {
			sum += e[k].weight;
			assert_true(e[k].key < 3000 && e[k].weight);
		}
		assert_int_equal(sum, want);
		time_bins_free(t);
	}
}

/* The highest time and weight there are, and steps that lead beyond. */
static void test_extremes(void **state)
{
	struct time_bins *t = time_bins_new(WIDTH);
	const struct time_entry *e;
	uint32_t i;
	size_t cnt;

	add(t, 0, UINT64_MAX, UINT64_MAX, UINT64_MAX);
	add(t, 0, 0, UINT64_MAX, UINT64_MAX);
	add(t, 0, 0, 1, 1ULL << 40);
	e = time_bins_entries(t, &cnt);
	assert_true(cnt && cnt <= TIME_BINS_MAX + 3);
	assert_int_equal(e[0].weight, UINT64_MAX);
	time_bins_free(t);
	/* Many keys, half of them at the end of time: one bin is left, and it is wide enough. */
	t = time_bins_new(UINT64_MAX);
	for (i = 0; i < 2 * TIME_BINS_EXTRA; i++) {
		add(t, i, 0, 0, 1);
		add(t, i, UINT64_MAX, 0, 1);
	}
	e = time_bins_entries(t, &cnt);
	assert_true(cnt <= 3 * TIME_BINS_EXTRA);
	assert_int_equal(e[cnt - 1].bin, 0);
	time_bins_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples_of_a_bin_are_one),
		cmocka_unit_test(test_a_weight_is_spread),
		cmocka_unit_test(test_the_number_of_bins_is_bounded),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
