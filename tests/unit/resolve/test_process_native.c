// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_process_native.c - ticks in threads that have no Python stack. */
#include "tests/unit/resolve/process_test.h"

#include "model/thread_names.h"

#define NAMES_MAX 256	/* NATIVE_NAMES_MAX in other_frames.c */

static struct raw_no_stack no_stack(uint32_t tid, enum counter end, const char *comm)
{
	struct raw_no_stack r = {
		.h = { .kind = RAW_NO_STACK, .every = 2, .rate_hz = 1000, .tgid = getpid(),
		       .time_ns = 1234567000, .start_ns = 9 },
		.tid = tid, .status = STATUS_ON_CPU, .end = (uint8_t)end,
	};

	memcpy(r.comm, comm, strnlen(comm, COMM_BYTES));
	return r;
}

static struct event taken(const struct raw_no_stack *r)
{
	assert_int_equal(process_take(p, r, sizeof(*r)), 0);
	assert_true(observer.events.cnt > 0);
	return kept_event(&observer.events, observer.events.cnt - 1);
}

static void expect(uint32_t tid, enum counter end, const char *comm, const char *name)
{
	struct raw_no_stack r = no_stack(tid, end, comm);
	struct event ev = taken(&r);

	assert_int_equal(ev.nframes, 1);
	check_name(&ev, 0, name);
	assert_int_equal(ev.thread_id, tid);
	assert_int_equal(ev.status, STATUS_ON_CPU);
	assert_int_equal(ev.weight, 1);
	assert_int_equal(ev.tick_ns, 2000000);
	assert_int_equal(ev.time_us, 1234567);
}

static void test_native_thread(void **state)
{
	struct process_stats stats;

	more_args = (struct process_args){ 0 };
	begin();
	expect(7, CNT_NATIVE_THREAD, "blas", "<native thread blas>");
	expect(7, CNT_NATIVE_THREAD, "blas", "<native thread blas>");
	assert_string_equal(thread_names_find(process_thread_names(p), 7), "blas");
	/* 16 bytes without a NUL, and what is not text */
	expect(8, CNT_NATIVE_THREAD, "0123456789abcdef", "<native thread 0123456789abcdef>");
	expect(9, CNT_NATIVE_THREAD, "a\x1b]\xff\n", "<native thread a\\x1b]\\xff\\x0a>");
	expect(10, CNT_NATIVE_THREAD, "", "<native thread>");
	stats = stats_now();
	assert_int_equal(stats.native_thread, 5);
	assert_int_equal(stats.no_frames, 0);
	assert_int_equal(stats.samples, 5);
	assert_int_equal(stats.frames, 5);
	assert_int_equal(stats.threads, 0);	/* no stack is kept for them */
	end();
}

static void test_no_frames(void **state)
{
	struct raw_no_stack r = no_stack(7, CNT_NO_FRAMES, "worker");
	struct event ev;

	more_args = (struct process_args){ 0 };
	begin();
	expect(7, CNT_NOT_READY, "worker", "<no Python frame>");
	r.status = STATUS_ON_CPU | STATUS_HAS_GIL;
	r.interp_id = 3;
	ev = taken(&r);
	check_name(&ev, 0, "<no Python frame>");
	assert_int_equal(ev.status, STATUS_ON_CPU | STATUS_HAS_GIL);
	assert_int_equal(ev.interp_id, 3);
	assert_int_equal(stats_now().no_frames, 2);
	assert_int_equal(stats_now().native_thread, 0);
	end();
}

/* A main thread is native until it has run Python: behind that, the interpreter has ended. */
static void test_main_thread(void **state)
{
	uint32_t main_tid = (uint32_t)getpid();

	more_args = (struct process_args){ 0 };
	begin();
	expect(main_tid, CNT_NATIVE_THREAD, "server", "<native thread server>");
	stack(main_tid, 3, 0);
	take();
	expect(main_tid, CNT_NATIVE_THREAD, "server", "<no Python frame>");
	expect(main_tid + 1, CNT_NATIVE_THREAD, "server", "<native thread server>");
	assert_null(thread_names_find(process_thread_names(p), main_tid));
	end();
	/* A known executable's, before the interpreter begins. */
	more_args = (struct process_args){ .py = { .exe = 5 } };
	begin();
	expect(main_tid, CNT_NATIVE_THREAD, "python3", "<no Python frame>");
	stack(7, 3, 0);
	take();
	expect(main_tid, CNT_NATIVE_THREAD, "server", "<native thread server>");
	end();
}

/* A thread that names itself anew for ever does not fill the tables. */
static void test_names_are_bounded(void **state)
{
	const struct profile_tables *t;
	char comm[COMM_BYTES], name[64];
	uint32_t i, strings;

	more_args = (struct process_args){ 0 };
	begin();
	for (i = 0; i < NAMES_MAX; i++) {
		snprintf(comm, sizeof(comm), "n%u", i);
		snprintf(name, sizeof(name), "<native thread n%u>", i);
		expect(7, CNT_NATIVE_THREAD, comm, name);
	}
	expect(7, CNT_NATIVE_THREAD, "one more", "<native thread>");
	t = observer.tables;
	strings = t->string_cnt;
	for (i = 0; i < 3 * NAMES_MAX; i++) {
		snprintf(comm, sizeof(comm), "m%u", i);
		expect(7, CNT_NATIVE_THREAD, comm, "<native thread>");
	}
	assert_int_equal(t->string_cnt, strings);
	expect(8, CNT_NATIVE_THREAD, "n3", "<native thread n3>");	/* it has its frame */
	end();
}

/* The observer could not take it: it counts as lost, not as a sample. */
static void test_write_error(void **state)
{
	struct raw_no_stack r = no_stack(7, CNT_NATIVE_THREAD, "blas");

	more_args = (struct process_args){ 0 };
	begin();
	observer.event_err = -ENOSPC;
	assert_int_equal(process_take(p, &r, sizeof(r)), -ENOSPC);
	assert_int_equal(stats_now().lost[LOSS_WRITE], 1);
	assert_int_equal(stats_now().native_thread, 0);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_native_thread),
		cmocka_unit_test(test_no_frames),
		cmocka_unit_test(test_main_thread),
		cmocka_unit_test(test_names_are_bounded),
		cmocka_unit_test(test_write_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
