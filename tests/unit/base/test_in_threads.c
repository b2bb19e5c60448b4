// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_in_threads.c - each job is done once, and what a thread logs can be held back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/in_threads.h"
#include "base/util.h"

#define JOBS 1000

struct done {
	atomic_int times[JOBS];
};

static void count(void *ctx, size_t i)
{
	struct done *done = ctx;

	atomic_fetch_add(&done->times[i], 1);
}

static void check(size_t cnt)
{
	struct done done = { 0 };
	size_t i;

	in_threads(cnt, count, &done);
	for (i = 0; i < JOBS; i++)
		assert_int_equal(done.times[i], i < cnt);
}

static void test_each_job_once(void **state)
{
	check(0);
	check(1);
	check(2);
	check(JOBS);
}

struct callers {
	pthread_t self;
	atomic_int others;
};

static void note_caller(void *ctx, size_t i)
{
	struct callers *c = ctx;

	if (!pthread_equal(pthread_self(), c->self))
		atomic_fetch_add(&c->others, 1);
}

static void test_one_cpu_needs_no_thread(void **state)
{
	struct callers c = { .self = pthread_self() };
	cpu_set_t before, one;
	int cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	while (!CPU_ISSET(cpu, &before))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(in_threads_most(), 1);
	in_threads(JOBS, note_caller, &c);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(c.others, 0);
	assert_in_range(in_threads_most(), 1, IN_THREADS_MAX);
}

static void log_two(void *ctx, size_t i)
{
	struct buf *held = ctx;

	log_hold(&held[i]);
	log_error("first of %zu", i);
	log_error("second of %zu", i);
	log_hold(NULL);
}

static void test_log_is_held(void **state)
{
	struct buf held[64] = { 0 };
	char want[128];
	size_t i;

	in_threads(ARRAY_SIZE(held), log_two, held);
	for (i = 0; i < ARRAY_SIZE(held); i++) {
		snprintf(want, sizeof(want),
			 "tachbpf: error: first of %zu\ntachbpf: error: second of %zu\n",
			 i, i);
		assert_int_equal(held[i].len, strlen(want));
		assert_memory_equal(held[i].data, want, held[i].len);
		log_print_held(&held[i]);
		assert_int_equal(held[i].len, 0);
	}
}

/* A hold within another one: what it held goes to the outer one when it is printed. */
static void test_hold_within_hold(void **state)
{
	static const char want[] = "tachbpf: error: before\ntachbpf: error: within\n";
	struct buf outer = { 0 }, inner = { 0 };

	log_hold(&outer);
	log_error("before");
	log_hold(&inner);
	log_error("within");
	log_hold(NULL);
	log_print_held(&inner);
	assert_int_equal(inner.len, 0);
	log_hold(NULL);
	assert_int_equal(outer.len, strlen(want));
	assert_memory_equal(outer.data, want, outer.len);
	buf_free(&outer);
}

/* Each form has the message whole, in one line; those for programs can be taken apart. */
static void test_log_forms(void **state)
{
	struct buf held = { 0 };

	log_set_level(LOG_NORMAL);
	log_hold(&held);
	log_set_form(LOG_TIMED);
	log_warn("a \"b\"");
	log_set_form(LOG_LOGFMT);
	log_error("a \"b\" \\ c\nd");
	log_set_form(LOG_JSON);
	log_info("a \"b\" \\ c\nd");
	log_set_form(LOG_TEXT);
	log_hold(NULL);
	assert_int_equal(buf_add(&held, "", 1), 0);
	/* The time is as long as 2026-11-30T19:47:37.123Z. */
	assert_memory_equal(held.data + 24, " tachbpf: warning: a \"b\"\n", 25);
	assert_int_equal(held.data[10], 'T');
	assert_int_equal(held.data[23], 'Z');
	assert_memory_equal(held.data + 49, "time=20", 7);
	assert_non_null(strstr((char *)held.data, "Z level=error msg="
			       "\"a \\\"b\\\" \\\\ c\\nd\"\n{"));
	assert_non_null(strstr((char *)held.data, "Z\",\"level\":\"info\",\"msg\":"
			       "\"a \\\"b\\\" \\\\ c\\nd\"}\n"));
	buf_free(&held);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_job_once),
		cmocka_unit_test(test_one_cpu_needs_no_thread),
		cmocka_unit_test(test_log_is_held),
		cmocka_unit_test(test_log_forms),
		cmocka_unit_test(test_hold_within_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
