// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_process_gc.c - the differences between a process' counters of collections. */
#include <math.h>

#include "tests/unit/resolve/process_test.h"

#define EVENTS_MAX 64
#define MS 1000000ull

static struct memory_event events[EVENTS_MAX];
static int event_cnt, memory_err;
static struct raw_gc raw_gc;

static int keep_memory(struct observer *o, struct process *proc, const struct memory_event *ev)
{
	(void)o;
	assert_ptr_equal(proc, p);
	assert_true(event_cnt < EVENTS_MAX);
	if (!memory_err)
		events[event_cnt++] = *ev;
	return memory_err;
}

/* A process; executed: its program began during the capture. */
static void start(bool executed)
{
	static struct observer_ops ops;

	more_args = (struct process_args){ .executed_here = executed, .memory = true };
	begin();
	ops = *observer.observer.ops;
	ops.memory = keep_memory;
	observer.observer.ops = &ops;
	raw_gc = (struct raw_gc){ .h = { .kind = RAW_GC_DONE, .tgid = getpid() }, .tid = 5 };
	event_cnt = memory_err = 0;
}

static int done_at(uint64_t ms)
{
	raw_gc.h.time_ns = ms * MS;
	event_cnt = 0;
	return process_take(p, &raw_gc, sizeof(raw_gc));
}

static void collected(int generation, uint64_t collections, uint64_t cnt, uint64_t bad)
{
	raw_gc.generations[generation] = (struct raw_gc_generation){ collections, cnt, bad };
}

static void took(int generation, double seconds)
{
	memcpy(&raw_gc.seconds[generation], &seconds, sizeof(seconds));
}

static void check(int i, int generation, uint64_t runs, uint64_t cnt, uint64_t bad, uint64_t us)
{
	assert_true(i < event_cnt);
	assert_int_equal(events[i].change, MEMORY_COLLECTION);
	assert_int_equal(events[i].time_us, raw_gc.h.time_ns / 1000);
	assert_int_equal(events[i].collection.generation, generation);
	assert_int_equal(events[i].collection.runs, runs);
	assert_int_equal(events[i].collection.collected, cnt);
	assert_int_equal(events[i].collection.uncollectable, bad);
	assert_int_equal(events[i].collection.duration_us, us);
}

static uint64_t lost(void)
{
	return stats_now().lost[LOSS_COLLECTIONS];
}

/* What an older process had counted before is not this capture's. */
static void test_older_process(void **state)
{
	start(false);
	collected(0, 1000, 20, 1);
	collected(2, 7, 70, 0);
	assert_int_equal(done_at(1), 0);
	assert_int_equal(event_cnt, 0);
	assert_int_equal(done_at(2), 0);
	assert_int_equal(event_cnt, 0);
	collected(0, 1003, 25, 1);
	assert_int_equal(done_at(3), 0);
	assert_int_equal(event_cnt, 1);
	check(0, 0, 3, 5, 0, 0);
	collected(0, 1004, 25, 1);
	collected(1, 1, 9, 2);
	collected(2, 8, 70, 0);
	assert_int_equal(done_at(4), 0);
	assert_int_equal(event_cnt, 3);
	check(0, 0, 1, 0, 0, 0);
	check(1, 1, 1, 9, 2, 0);
	check(2, 2, 1, 0, 0, 0);
	assert_int_equal(lost(), 0);
	end();
}

static void test_program_that_began_here(void **state)
{
	start(true);
	collected(0, 8, 24, 0);
	assert_int_equal(done_at(1), 0);
	assert_int_equal(event_cnt, 1);
	check(0, 0, 8, 24, 0, 0);
	end();
}

/* What ticks saw is the oldest generation's; the interpreter's own time comes first. */
static void test_durations(void **state)
{
	start(true);
	raw_gc.seen_ns = 25 * MS;
	collected(0, 1, 1, 0);
	collected(1, 1, 1, 0);
	done_at(40);
	assert_int_equal(event_cnt, 2);
	check(0, 0, 1, 1, 0, 0);
	check(1, 1, 1, 1, 0, 25000);
	collected(0, 3, 1, 0);
	took(0, 0.5);
	done_at(50);
	check(0, 0, 2, 0, 0, 500000);
	collected(0, 4, 1, 0);
	took(0, 0.5000001);	/* less than a microsecond is not nothing */
	done_at(60);
	check(0, 0, 1, 0, 0, 1);
	end();
}

/* Seconds that are none. */
static void test_hostile_seconds(void **state)
{
	const double bad[] = { -5, 1e300, INFINITY, NAN };
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		start(true);
		collected(2, 1, 0, 0);
		took(2, bad[i]);
		assert_int_equal(done_at(1), 0);
		check(0, 2, 1, 0, 0, 0);
		end();
	}
}

/* A tick between `collections` and `collected` is made good by the next collection. */
static void test_half_written(void **state)
{
	start(true);
	collected(0, 1, 0, 0);
	done_at(1);
	check(0, 0, 1, 0, 0, 0);
	collected(0, 1, 10, 0);
	done_at(2);
	assert_int_equal(event_cnt, 0);
	collected(0, 2, 15, 0);
	done_at(3);
	check(0, 0, 1, 15, 0, 0);
	end();
}

/* Counters that go back, or jump: counted, and counting goes on from there. */
static void test_counters_that_make_no_sense(void **state)
{
	static const struct raw_gc_generation bad[] = {
		{ 4, 50, 5 }, { 6, 49, 5 }, { 6, 50, 4 }, { UINT64_MAX, 50, 5 },
		{ 6, 1ull << 50, 5 }, { 6, 50, 1ull << 63 },
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		start(false);
		collected(1, 5, 50, 5);
		done_at(1);
		raw_gc.generations[1] = bad[i];
		collected(0, 1, 1, 0);
		assert_int_equal(done_at(2), 0);
		assert_int_equal(event_cnt, 1);		/* the other generation's */
		check(0, 0, 1, 1, 0, 0);
		assert_int_equal(lost(), 1);
		collected(1, 1, 1, 1);			/* an interpreter that began again */
		done_at(3);
		assert_int_equal(event_cnt, 0);
		collected(1, 2, 3, 1);
		done_at(4);
		check(0, 1, 1, 2, 0, 0);
		assert_int_equal(lost(), 2);
		end();
	}
}

/* Interpreters count for themselves; a process can have any number of them. */
static void test_interpreters(void **state)
{
	uint32_t i;

	start(false);
	for (i = 0; i < 16; i++) {
		raw_gc.interp_id = i * 1000;
		collected(0, i, i, 0);
		done_at(1);
		assert_int_equal(event_cnt, 0);
	}
	for (i = 0; i < 16; i++) {
		raw_gc.interp_id = i * 1000;
		collected(0, i + 2, i + 3, 0);
		done_at(2);
		check(0, 0, 2, 3, 0, 0);
	}
	raw_gc.interp_id = 77;
	assert_int_equal(done_at(3), 0);
	assert_int_equal(event_cnt, 0);
	assert_int_equal(lost(), 1);
	end();
}

/* Records of two CPUs can come in the wrong order. */
static void test_time_never_goes_back(void **state)
{
	start(true);
	collected(0, 1, 0, 0);
	done_at(20);
	collected(0, 2, 0, 0);
	done_at(10);
	assert_int_equal(events[0].time_us, 20000);
	end();
}

static void test_observer_refuses(void **state)
{
	start(true);
	memory_err = -EIO;
	collected(0, 1, 0, 0);
	collected(1, 1, 0, 0);
	assert_int_equal(done_at(1), -EIO);
	end();
}

static void test_observer_without_memory(void **state)
{
	start(true);
	observer = (struct memory_observer)MEMORY_OBSERVER;
	collected(0, 1, 0, 0);
	assert_int_equal(done_at(1), 0);
	end();
}

static void test_other_modes(void **state)
{
	more_args = (struct process_args){ 0 };
	begin();
	assert_int_equal(process_take(p, &raw_gc, sizeof(raw_gc)), -EBADMSG);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_older_process),
		cmocka_unit_test(test_program_that_began_here),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_hostile_seconds),
		cmocka_unit_test(test_half_written),
		cmocka_unit_test(test_counters_that_make_no_sense),
		cmocka_unit_test(test_interpreters),
		cmocka_unit_test(test_time_never_goes_back),
		cmocka_unit_test(test_observer_refuses),
		cmocka_unit_test(test_observer_without_memory),
		cmocka_unit_test(test_other_modes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
