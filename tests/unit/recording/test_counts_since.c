// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_counts_since.c - what a capture counts after a time, by cause and CPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf/abi.h"
#include "recording/capture_counts.h"
#include "recording/totals.h"

static void test_since(void **state)
{
	uint64_t bpf[CNT_MAX] = { [CNT_SAMPLE] = 100, [CNT_MISSED] = 7, [CNT_RING_FULL] = 3 };
	const struct cpu_ticks then_cpus[] = { { 0, 50, 4 }, { 3, 60, 3 } };
	const struct cpu_ticks now_cpus[] = { { 0, 55, 4 }, { 1, 9, 1 }, { 3, 80, 13 } };
	struct capture_counts then = {
		.bpf = bpf, .cpus = then_cpus, .cpu_cnt = 2, .received = 90, .orphans = 5,
		.processes_live = 4,
	};
	struct counts_since *s = counts_since_new(&then);
	struct capture_counts now = then, out;

	assert_non_null(s);
	bpf[CNT_SAMPLE] = 190;		/* they are copied */
	bpf[CNT_MISSED] = 15;
	bpf[CNT_RING_FULL] = 5;
	now.cpus = now_cpus;
	now.cpu_cnt = 3;
	now.received = 170;
	now.processes_live = 2;
	assert_int_equal(counts_since(s, &now, &out), 10);
	assert_int_equal(out.bpf[CNT_SAMPLE], 90);
	assert_int_equal(out.bpf[CNT_MISSED], 8);
	assert_int_equal(out.bpf[CNT_RING_FULL], 2);
	assert_int_equal(out.received, 80);
	assert_int_equal(out.orphans, 0);
	assert_int_equal(out.processes_live, 2);
	assert_int_equal(out.cpu_cnt, 3);
	assert_int_equal(out.cpus[0].delivered, 5);
	assert_int_equal(out.cpus[0].missed, 0);
	assert_int_equal(out.cpus[1].cpu, 1);
	assert_int_equal(out.cpus[1].delivered, 9);
	assert_int_equal(out.cpus[2].delivered, 20);
	assert_int_equal(out.cpus[2].missed, 10);
	counts_since_free(s);
}

/*
 * Missed ticks are a share of all ticks of the processes that were recorded, also of those that the
 * mode leaves out; what a new CPU did not count is nobody's.
 */
static void test_missed(void **state)
{
	const uint64_t none[CNT_MAX] = { 0 };
	const struct capture_counts then = { .bpf = none };
	const uint64_t bpf[CNT_MAX] = { [CNT_TICK] = 9000, [CNT_SAMPLE] = 10, [CNT_UNWANTED] = 70,
					[CNT_NO_FRAMES] = 10, [CNT_NOT_READY] = 5,
					[CNT_ENDED] = 1, [CNT_MISSED] = 504 };
	const struct capture_counts now = { .bpf = bpf, .no_event = 500 };
	struct counts_since *s = counts_since_new(&then);
	struct capture_counts out;

	assert_non_null(s);
	assert_int_equal(counts_since(s, &now, &out), 4);
	assert_int_equal(out.no_event, 500);
	counts_since_free(s);
}

/* Nothing is known of the capture: no share, no division by zero. */
static void test_nothing(void **state)
{
	const uint64_t none[CNT_MAX] = { 0 };
	const struct capture_counts counts = { .bpf = none };
	struct counts_since *s = counts_since_new(&counts);
	struct capture_counts out;

	assert_non_null(s);
	assert_true(counts_since(s, &counts, &out) == 0);
	assert_int_equal(out.cpu_cnt, 0);
	counts_since_free(s);
	counts_since_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_since),
		cmocka_unit_test(test_missed),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
