// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_losses.c - causes and counters of losses; losses of a process' threads.
 */
#include "resolve/losses.h"
#include "tests/unit/tach_test.h"

/* Each counter of the BPF side that is a loss has a cause, and no other has. */
static void test_each_loss_has_a_cause(void **state)
{
	uint64_t bpf[CNT_MAX] = { 0 }, sum = 0;
	int i;

	for (i = 0; i < CNT_MAX; i++) {
		bpf[i] = 1;
		assert_int_equal(loss_of_counter(i) < LOSS_CNT, i >= CNT_LOSSES);
	}
	for (i = 0; i < LOSS_CNT; i++) {
		assert_non_null(loss_names[i].key);
		sum += losses_counted(i, bpf);
	}
	assert_int_equal(sum, CNT_MAX - CNT_LOSSES);
}

/* Further threads have no row. */
static void test_losses_of_many_threads(void **state)
{
	struct losses_of_threads *l = NULL;
	uint32_t tid;

	losses_add(&l, 0, LOSS_BUSY, 5);
	losses_add(&l, 7, LOSS_BUSY, 0);
	assert_null(l);
	for (tid = 1; tid <= 3 * LOSS_THREADS_MAX; tid++)
		losses_add(&l, tid, LOSS_BUSY, tid);
	losses_add(&l, 1, LOSS_WRITE, 2);
	assert_int_equal(l->cnt, LOSS_THREADS_MAX);
	for (tid = 1; tid <= LOSS_THREADS_MAX; tid++)
		assert_int_equal(l->list[tid - 1].lost[LOSS_BUSY], tid);
	assert_int_equal(l->list[0].lost[LOSS_WRITE], 2);
	free(l);
}

static void test_since(void **state)
{
	struct losses_of_threads *now = NULL, *before = NULL, *since = NULL;

	losses_add_since(&before, NULL, NULL);
	assert_null(before);
	losses_add(&now, 1, LOSS_BUSY, 5);
	losses_add_since(&before, now, NULL);
	losses_add(&now, 1, LOSS_BUSY, 2);
	losses_add(&now, 2, LOSS_WRITE, 1);
	losses_add_since(&since, now, before);
	assert_int_equal(since->cnt, 2);
	assert_int_equal(since->list[0].lost[LOSS_BUSY], 2);
	assert_int_equal(since->list[1].lost[LOSS_WRITE], 1);
	free(now);
	free(before);
	free(since);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_loss_has_a_cause),
		cmocka_unit_test(test_losses_of_many_threads),
		cmocka_unit_test(test_since),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
