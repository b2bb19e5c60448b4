// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_live_counts.c - what is counted in a window and since the start, of whom. */
#include "tests/unit/resolve/process_test.h"

#include "live/live_counts.h"

#define TICK_NS 1000000

static struct live *live;
static const struct observer_ops *ops;

static struct process *new_process(pid_t tgid)
{
	const struct process_args args = {
		.tgid = tgid, .start_ns = 9, .comm = "x", .observer = live_observer(live),
		.image = &fake.img,
	};
	struct process *made = process_new(&args);

	assert_non_null(made);
	assert_int_equal(ops->begin(live_observer(live), made), 0);
	return made;
}

static void set_up(void)
{
	fake_codes_in_self(&fake, CODES);
	live = live_new(true, 1000);
	assert_non_null(live);
	ops = live_observer(live)->ops;
	p = new_process(getpid());
}

static void tear_down(void)
{
	if (p) {
		ops->end(live_observer(live), p, 0);
		process_free(p);
	}
	live_free(live);
	fake_codes_free(&fake);
	p = NULL;
}

/* A tick of a stack of n functions from `first` on, innermost first. */
static void tick(uint32_t n, uint32_t first, uint8_t status)
{
	stack(1, n, first);
	raw.status = status;
	raw.h.rate_hz = 1000000000 / TICK_NS;
	assert_int_equal(process_take(p, &raw, raw_len()), 0);
}

static struct live_process only(void)
{
	size_t cnt;
	struct live_process *list = live_list(live, &cnt), one;

	assert_non_null(list);
	assert_int_equal(cnt, 1);
	one = *list;
	free(list);
	return one;
}

static void test_sums_and_windows(void **state)
{
	struct live_process one;
	struct live_total total;

	set_up();
	tick(3, 10, STATUS_ON_CPU | STATUS_HAS_GIL);
	tick(3, 10, STATUS_ON_CPU);
	tick(3, 10, STATUS_HAS_GIL);		/* off-CPU: not counted */
	one = only();
	assert_int_equal(one.last.cpu_ns, 2 * TICK_NS);
	assert_int_equal(one.last.gil_ns, TICK_NS);
	assert_int_equal(one.last.gc_ns, 0);
	assert_int_equal(one.last.samples, 2);
	live_begin_window(live);
	one = only();
	assert_int_equal(one.last.samples, 0);
	assert_int_equal(one.all.samples, 2);
	assert_null(one.hottest);
	tick(3, 10, STATUS_ON_CPU);
	one = only();
	assert_int_equal(one.last.samples, 1);
	assert_int_equal(one.all.cpu_ns, 3 * TICK_NS);
	live_total(live, &total);
	assert_int_equal(total.processes, 1);
	assert_int_equal(total.last.cpu_ns, TICK_NS);
	assert_int_equal(total.ended, 0);
	tear_down();
}

static void test_hottest(void **state)
{
	const struct live_function *f;
	struct live_process one;

	set_up();
	tick(3, 10, STATUS_ON_CPU);	/* 10 < 11 < 12 */
	tick(2, 11, STATUS_ON_CPU);	/* 11 < 12 */
	tick(2, 11, STATUS_ON_CPU);
	one = only();
	f = one.hottest;
	assert_non_null(f);
	assert_int_equal(f->self_ns, 2 * TICK_NS);
	assert_int_equal(f->total_ns, 3 * TICK_NS);
	tear_down();
}

/* A function that is in a stack several times has its time once. */
static void test_recursion(void **state)
{
	struct live_process one;
	uint32_t i;

	set_up();
	stack(1, 4, 20);
	for (i = 0; i < 3; i++)
		raw.frames[i] = fake_frame(&fake, 20, 2 * i);
	raw.h.rate_hz = 1000000000 / TICK_NS;
	assert_int_equal(process_take(p, &raw, raw_len()), 0);
	one = only();
	assert_int_equal(one.hottest->self_ns, TICK_NS);
	assert_int_equal(one.hottest->total_ns, TICK_NS);
	tear_down();
}

/* A tick in a function at a position of its code, from which its line follows. */
static void tick_at(uint32_t code, uint32_t at)
{
	stack(1, 1, code);
	raw.frames[0] = fake_frame(&fake, code, at);
	raw.status = STATUS_ON_CPU;
	raw.h.rate_hz = 1000000000 / TICK_NS;
	assert_int_equal(process_take(p, &raw, raw_len()), 0);
}

/* The hottest line need not be in the hottest function. */
static void test_the_hottest_line(void **state)
{
	struct live_process one;

	set_up();
	tick_at(10, 0);
	tick_at(10, 16);
	tick_at(10, 32);
	tick_at(20, 2);
	tick_at(20, 2);
	one = only();
	assert_int_equal(one.hottest->self_ns, 3 * TICK_NS);
	assert_int_equal(one.hot.self_ns, 2 * TICK_NS);
	assert_int_equal(one.hot.cpu_ns, 5 * TICK_NS);
	assert_int_not_equal(one.hot.line->func, one.hottest->func);
	assert_true(one.hot.line->line > 0);
	assert_int_equal(one.hottest->line, LINE_NONE);
	tear_down();
}

/* A screen shows a line for two windows, so it does not come and go with every sample. */
static void test_a_line_of_the_window_before(void **state)
{
	struct live_process one;

	set_up();
	tick_at(10, 2);
	tick_at(10, 2);
	live_begin_window(live);
	one = only();
	assert_null(one.hot.line);
	assert_int_equal(one.recent_hot.self_ns, 2 * TICK_NS);
	assert_int_equal(one.recent_hot.cpu_ns, 2 * TICK_NS);
	tick_at(10, 2);
	tick_at(20, 2);
	one = only();
	assert_int_equal(one.hot.self_ns, TICK_NS);
	assert_int_equal(one.recent_hot.self_ns, 3 * TICK_NS);
	assert_int_equal(one.recent_hot.cpu_ns, 4 * TICK_NS);
	live_begin_window(live);
	live_begin_window(live);
	one = only();
	assert_null(one.recent_hot.line);
	assert_int_equal(one.recent_hot.cpu_ns, 0);
	tear_down();
}

static void test_collections(void **state)
{
	struct live_process one;

	set_up();
	stack(1, 4, 20);
	raw.flags = RAW_GC;
	raw.gc_at = 0;
	raw.h.rate_hz = 1000000000 / TICK_NS;
	assert_int_equal(process_take(p, &raw, raw_len()), 0);
	tick(4, 20, STATUS_ON_CPU);
	one = only();
	assert_int_equal(one.last.gc_ns, TICK_NS);
	assert_int_equal(one.last.cpu_ns, 2 * TICK_NS);
	assert_int_equal(one.hottest->self_ns, 2 * TICK_NS);	/* <GC> is the function's */
	tear_down();
}

static void test_a_process_that_ends(void **state)
{
	struct live_total total;
	size_t cnt;

	set_up();
	tick(3, 10, STATUS_ON_CPU);
	process_add_lost(p, 0, LOSS_BUSY, 5);
	assert_int_equal(only().lost, 5);
	ops->end(live_observer(live), p, 1);
	process_free(p);
	p = NULL;
	live_total(live, &total);
	assert_int_equal(total.processes, 0);
	assert_int_equal(total.ended, 1);
	assert_int_equal(total.last.cpu_ns, TICK_NS);
	assert_int_equal(total.lost, 5);
	live_begin_window(live);
	live_total(live, &total);
	assert_int_equal(total.ended, 0);
	assert_int_equal(total.last.cpu_ns, 0);
	assert_int_equal(total.lost, 5);	/* losses are since the start */
	free(live_list(live, &cnt));
	assert_int_equal(cnt, 0);
	tear_down();
}

static void test_the_busiest_first(void **state)
{
	struct process *first, *other;
	struct live_process *list;
	size_t cnt;

	set_up();
	first = p;
	tick(3, 10, STATUS_ON_CPU);
	other = p = new_process(getpid());
	tick(3, 10, STATUS_ON_CPU);
	tick(3, 10, STATUS_ON_CPU);
	list = live_list(live, &cnt);
	assert_int_equal(cnt, 2);
	assert_ptr_equal(list[0].process, other);
	assert_ptr_equal(list[1].process, first);
	free(list);
	ops->end(live_observer(live), other, 0);
	process_free(other);
	p = first;
	tear_down();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums_and_windows),
		cmocka_unit_test(test_hottest),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_the_hottest_line),
		cmocka_unit_test(test_a_line_of_the_window_before),
		cmocka_unit_test(test_collections),
		cmocka_unit_test(test_a_process_that_ends),
		cmocka_unit_test(test_the_busiest_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
