// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_python_names.c - when the names of threads are read, and which of them are taken. The
 * process is this one: the memory of fake_threads.h is put where it says that it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/util.h"
#include "resolve/python_names.h"
#include "tests/unit/cpython/fake_threads.h"

static uint8_t *memory;		/* at FAKE_BASE */
static struct fake_threads f;
static struct python_names n;
static unsigned int reads, calls, slow_us;
static uint32_t last_tid;
static char last_name[PYTHON_THREAD_BYTES];
static bool last_given;

static void named(void *ctx, uint32_t tid, const char *name, bool given)
{
	calls++;
	last_tid = tid;
	last_given = given;
	snprintf(last_name, sizeof(last_name), "%s", name);
}

static uint64_t interps(void *ctx)
{
	reads++;
	usleep(slow_us);
	return f.at.interps;
}

static void expect(unsigned int so_many, uint32_t tid, const char *name, bool given)
{
	assert_int_equal(calls, so_many);
	assert_int_equal(last_tid, tid);
	assert_string_equal(last_name, name);
	assert_int_equal(last_given, given);
}

/* What the fake process has now is what this process has at those addresses. */
static void show(void)
{
	memcpy(memory, f.mem, sizeof(f.mem));
}

/* A thread that comes when names were just read, however busy the machine is. */
static void thread_at_once(uint32_t tid)
{
	uint64_t before;

	do {
		calls = 0;
		n.next_ns = UINT64_MAX;		/* no time to read again */
		n.found_ns = before = now_ns();
		python_names_thread(&n, tid);
	} while (now_ns() - before > 50000000);
}

static int set_up(void **state)
{
	reads = calls = last_tid = slow_us = 0;
	fake_threads_make(&f, 11, false);
	fake_thread(&f, 1000, "worker", FAKE_VALUES);
	fake_thread(&f, 1001, "Thread-7", FAKE_DICT);
	fake_thread(&f, 1002, "Dummy-1", FAKE_DICT);
	show();
	python_names_init(&n, getpid(), &f.at, named, interps, NULL);
	return 0;
}

static int tear_down(void **state)
{
	python_names_free(&n);
	return 0;
}

/* The names of threads that are seen together are read once. */
static void test_names(void **state)
{
	python_names_thread(&n, 1000);
	expect(1, 1000, "worker", true);
	assert_int_equal(n.again_cnt, 0);
	thread_at_once(1001);
	expect(1, 1001, "Thread-7", false);
	thread_at_once(1002);
	assert_int_equal(calls, 0);
	assert_int_equal(reads, 1);
	n.again_cnt = 0;
	python_names_thread(&n, (uint32_t)getpid());	/* has the process' own name */
	assert_int_equal(n.again_cnt, 0);
}

/* A thread that is not in _active yet is asked about again, once a second or with the next one. */
static void test_later(void **state)
{
	python_names_thread(&n, 1005);
	assert_int_equal(calls, 0);
	fake_thread(&f, 1005, "late", FAKE_DICT);
	show();
	n.next_ns = UINT64_MAX;
	python_names_retry(&n);		/* too soon to read */
	assert_int_equal(calls, 0);
	n.next_ns = 0;
	python_names_retry(&n);
	expect(1, 1005, "late", true);
	assert_int_equal(n.again_cnt, 0);
	python_names_retry(&n);
	assert_int_equal(reads, 2);
}

static void test_with_the_next(void **state)
{
	python_names_thread(&n, 1005);
	fake_thread(&f, 1005, "late", FAKE_DICT);
	show();
	n.next_ns = 0;
	python_names_thread(&n, 1006);
	expect(1, 1005, "late", true);
	assert_int_equal(n.again_cnt, 1);
}

/* However slow a read was, the next one is at most a second later. */
static void test_a_slow_read(void **state)
{
	uint64_t before;

	slow_us = 50000;
	before = now_ns();
	python_names_thread(&n, 1005);
	assert_in_range(n.next_ns, before + 1000000000, now_ns() + 1000000000);
	fake_thread(&f, 1005, "late", FAKE_DICT);
	show();
	slow_us = 0;
	n.next_ns = 0;
	before = now_ns();
	python_names_retry(&n);
	expect(1, 1005, "late", true);
	assert_in_range(n.next_ns, before + 20000000, now_ns() + 1000000000);
}

/* What threading never has is not asked about for ever, nor more than there is room for. */
static void test_never(void **state)
{
	uint32_t i;

	for (i = 0; i < 3 * PYTHON_NAMES_AGAIN; i++)
		python_names_thread(&n, 5000 + i);
	assert_int_equal(n.again_cnt, PYTHON_NAMES_AGAIN);
	for (i = 0; i < 10; i++) {
		n.next_ns = 0;
		python_names_retry(&n);
	}
	assert_int_equal(n.again_cnt, 0);
	assert_int_equal(calls, 0);
}

/* Where nothing can be known, nothing is read. */
static void test_not_known(void **state)
{
	n.at.objects.minor = 14;
	python_names_thread(&n, 1000);
	assert_int_equal(reads + calls + n.again_cnt, 0);
}

static int map_memory(void **state)
{
	void *at = mmap((void *)(uintptr_t)FAKE_BASE, FAKE_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	memory = at;
	if (at == (void *)(uintptr_t)FAKE_BASE)
		return 0;
	print_message("SKIP: there is no memory at %#llx\n", FAKE_BASE);
	_exit(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_later, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_with_the_next, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_slow_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_never, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_not_known, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, map_memory, NULL);
}
