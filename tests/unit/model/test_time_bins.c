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

static uint64_t bin_of(const struct time_bins *t, const struct time_entry *e)
{
	return time_bins_base(t) + (uint64_t)(int64_t)e->from_base;
}

struct wanted {
	uint64_t bin, weight;
	uint32_t key;
};

static void assert_entries(const struct time_bins *t, const struct wanted *want, size_t cnt)
{
	size_t got_cnt, i;
	const struct time_entry *got = time_bins_entries(t, &got_cnt);

	assert_int_equal(got_cnt, cnt);
	for (i = 0; i < cnt; i++) {
		assert_int_equal(got[i].key, want[i].key);
		assert_int_equal(bin_of(t, &got[i]), want[i].bin);
		assert_int_equal(got[i].weight, want[i].weight);
	}
}

static void test_samples_of_a_bin_are_one(void **state)
{
	static const struct wanted want[] = { { 5, 2, 0 }, { 5, 1, 3 }, { 6, 1, 0 } };
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
	static const struct wanted want[] = { { 5, 1, 0 }, { 6, 3, 0 }, { 7, 2, 0 } };
	struct time_bins *t = time_bins_new(WIDTH);

	add(t, 0, 5900, 300, 6);	/* at 5.9, 6.2, 6.5, 6.8, 7.1, 7.4 ms */
	assert_entries(t, want, ARRAY_SIZE(want));
	time_bins_free(t);
}

/* Twice as wide bins until there are not too many. */
static void test_the_number_of_bins_is_bounded(void **state)
{
	static const struct wanted want[] = { { 0, 1, 0 }, { 1024, 1, 0 } };
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
	assert_int_equal(bin_of(t, &e[cnt - 1]), 0);
	time_bins_free(t);
}

/* Those of one key are in order; which key comes first is no matter. */
static void assert_same(const struct time_bins *a, const struct time_bins *b, uint32_t keys)
{
	size_t cnt, b_cnt, i, k = 0;
	const struct time_entry *x = time_bins_entries(a, &cnt), *y = time_bins_entries(b, &b_cnt);
	uint32_t key;

	assert_int_equal(time_bins_width_us(a), time_bins_width_us(b));
	assert_int_equal(cnt, b_cnt);
	for (key = 0; key < keys; key++) {
		for (i = k = 0; i < cnt; i++) {
			if (x[i].key != key)
				continue;
			while (k < cnt && y[k].key != key)
				k++;
			assert_true(k < cnt);
			assert_int_equal(bin_of(a, &x[i]), bin_of(b, &y[k]));
			assert_int_equal(x[i].weight, y[k++].weight);
		}
		if (keys > 200)
			key += keys / 200;	/* some of them */
	}
}

/* A stream of samples is the same whether it is added at once or in parts, one after another. */
static void check_parts(uint64_t seed, uint64_t bits, uint64_t cnt, uint64_t keys, bool widened)
{
	struct time_bins *all = time_bins_new(WIDTH), *joined = time_bins_new(WIDTH), *part = NULL;
	uint64_t part_time = 0, left = 0, i;
	uint32_t first = 0, most = 0;

	for (i = 0; i < cnt; i++, left--) {
		uint64_t weight = rnd(&seed) % 50 ? 1 : 1 + rnd(&seed) % 3000, key, time_us;

		if (!left) {	/* another part, sometimes of another time */
			if (part)
				assert_int_equal(time_bins_join(joined, part, first), 0);
			time_bins_free(part);
			part = time_bins_new(WIDTH);
			if (widened)
				time_bins_widen(part, time_bins_width_us(joined));
			left = 1 + rnd(&seed) % (cnt / 4);
			first += most;
			most = 0;
			part_time = rnd(&seed) % 3 ? part_time : rnd(&seed) >> (64 - bits);
		}
		key = rnd(&seed) % 8 ? rnd(&seed) % (most + 1) : most;
		if (key == most && most < keys)
			most++;
		key = key < most ? key : most - 1;
		part_time += rnd(&seed) % WIDTH;
		time_us = part_time - rnd(&seed) % (part_time < WIDTH ? 1 : WIDTH);
		add(part, (uint32_t)key, time_us, 700, weight);
		add(all, first + (uint32_t)key, time_us, 700, weight);
	}
	assert_int_equal(time_bins_join(joined, part, first), 0);
	time_bins_free(part);
	assert_same(joined, all, first + most);
	time_bins_free(joined);
	time_bins_free(all);
}

static void test_parts(void **state)
{
	uint64_t round;

	for (round = 0; round < 40; round++)
		check_parts(99 + round, 20 + round, 2000 + round * 3000, 1 + round * round * 40,
			    round % 2);
}

/* Only widths that bins can get to. */
static void test_widen(void **state)
{
	static const uint64_t widths[] = { 0, 1, WIDTH - 1, WIDTH, 3 * WIDTH, UINT64_MAX };
	struct time_bins *t = time_bins_new(WIDTH);
	size_t i;

	add(t, 0, 5 * WIDTH, 0, 1);
	for (i = 0; i < ARRAY_SIZE(widths); i++) {
		time_bins_widen(t, widths[i]);
		assert_int_equal(time_bins_width_us(t), WIDTH);
	}
	time_bins_widen(t, 4 * WIDTH);
	assert_int_equal(time_bins_width_us(t), 4 * WIDTH);
	assert_entries(t, &(struct wanted){ 1, 1, 0 }, 1);
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
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_widen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
