// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_cpython_python_threads.c - names of threads out of the memory of each version, and out of
 * hostile memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/cpython/fake_threads.h"

/* What one call may read, and what each string may take more. */
#define READS_MOST (16384u + 2 * PYTHON_THREADS_MAX)

static struct fake_threads f;
static struct python_threads found;

static int read_names(void)
{
	f.reads = 0;
	return python_threads_read(&f.target, &f.at, &found);
}

static void expect(uint32_t i, uint32_t tid, const char *name)
{
	assert_true(i < found.cnt);
	assert_int_equal(found.list[i].tid, tid);
	assert_string_equal(found.list[i].name, name);
}

static void fill(unsigned int minor, bool big_head)
{
	fake_threads_make(&f, minor, big_head);
	fake_thread(&f, 100, "MainThread", FAKE_DICT);
	fake_thread(&f, 101, "worker", FAKE_SPLIT_DICT);
	fake_thread(&f, 102, "Thread-1 (work)", minor >= 11 ? FAKE_VALUES : FAKE_DICT);
	/* Latin-1 becomes two bytes each: 60 in UTF-8, cut to 47, and that between characters. */
	fake_thread(&f, 103, "x\xfc\xfc\xfc\xfc\xfc\xfc\xfc\xfc\xfc\xfc\xfc\xfc\xfc\xfc\xfc\xfc\xfc"
		    "\xfc\xfc\xfc\xfc\xfc\xfc\xfc\xfc\xfc\xfc\xfc\xfc\xfc", FAKE_DICT);
	assert_true(f.used < FAKE_BYTES);
}

/* Each version, with heads of both sizes. */
static void test_names(void **state)
{
	uint32_t first;
	unsigned int minor, big;

	for (minor = 6; minor <= 13; minor++)
		for (big = 0; big < 2; big++) {
			fill(minor, big);
			assert_int_equal(read_names(), 0);
			assert_int_equal(found.cnt, 4);
			expect(0, 100, "MainThread");
			expect(1, 101, "worker");
			expect(2, 102, "Thread-1 (work)");
			assert_int_equal(found.list[3].tid, 103);
			assert_int_equal(strlen(found.list[3].name), 47);
			assert_int_equal(found.active, f.active);
			/* The next time it does not look for _active. */
			first = f.reads;
			f.at.active = found.active;
			assert_int_equal(read_names(), 0);
			assert_int_equal(found.cnt, 4);
			assert_true(f.reads < first);
		}
}

static void test_musl(void **state)
{
	fake_threads_make(&f, 11, false);
	f.at.musl = true;
	fake_thread(&f, 7, "on musl", FAKE_VALUES);
	assert_int_equal(read_names(), 0);
	expect(0, 7, "on musl");
}

/* A version whose objects are not known, or whose names the kernel has. */
static void test_unknown(void **state)
{
	fill(13, false);
	f.at.objects.minor = 14;
	assert_false(python_threads_known(&f.at.objects));
	assert_int_equal(read_names(), -ENOENT);
	fill(13, false);
	f.at.objects.interp_modules = 0;
	assert_int_equal(read_names(), -ENOENT);
	assert_int_equal(f.reads, 0);
}

static void test_without_threading(void **state)
{
	fill(12, false);
	fake_poke(&f, FAKE_BASE, 0, 8);			/* no interpreter */
	assert_int_equal(read_names(), -ENOENT);
	fill(12, false);
	fake_poke(&f, f.modules + f.head - 8, f.long_type, 8);
	assert_int_equal(read_names(), -EBADMSG);	/* sys.modules is no dict */
	fill(12, false);
	fake_poke(&f, f.module + f.head, 0, 8);
	assert_int_equal(read_names(), -ENOENT);	/* the module has no dict */
	assert_int_equal(found.cnt, 0);
	assert_int_equal(found.active, 0);
}

/* A thread that cannot be read does not hide the others. */
static void test_one_is_broken(void **state)
{
	uint64_t second;

	fill(9, false);
	second = f.threads + 40 + FAKE_KEYS_MAX + 24 + 8;	/* the second entry's key */
	fake_poke(&f, second, f.module, 8);			/* no int */
	assert_int_equal(read_names(), 0);
	assert_int_equal(found.cnt, 3);
	expect(1, 102, "Thread-1 (work)");
}

/* Loops and sizes that the process claims end. */
static void test_endless(void **state)
{
	uint64_t is;
	unsigned int minor;

	fill(12, false);
	memcpy(&is, f.mem, 8);
	fake_poke(&f, is + 8, is, 8);			/* interpreters in a circle */
	assert_int_equal(read_names(), -E2BIG);
	assert_true(f.reads < 2000);
	for (minor = 10; minor <= 11; minor++) {
		fill(minor, false);
		if (minor == 10)
			fake_poke(&f, f.threads + 8, 1u << 31, 8);
		fake_poke(&f, f.threads + (minor == 10 ? 32 : 24), 1u << 31, 8);
		read_names();
		assert_true(found.cnt <= 4 && f.reads < 1000);
	}
}

/* As in a dict of very many threads: every entry is read again and again. */
static int everywhere(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return fake_threads_read(ctx, FAKE_BASE + (addr - FAKE_BASE) % 0x6000, buf, len);
}

static void test_reads_are_bounded(void **state)
{
	unsigned int minor;

	for (minor = 6; minor <= 13; minor++) {
		fill(minor, false);
		f.target.read = everywhere;
		fake_poke(&f, f.threads + (minor >= 11 ? 24 : 32), 30000, 8);
		fake_poke(&f, f.threads + 8, minor >= 11 ? 0x0f0f : 32768, minor >= 11 ? 2 : 8);
		read_names();
		assert_true(f.reads <= READS_MOST);
		assert_true(found.cnt <= PYTHON_THREADS_MAX);
	}
}

static void test_each_read_may_fail(void **state)
{
	uint32_t all, i, n;

	fill(13, false);
	read_names();
	all = f.reads;
	assert_true(all > 20);
	for (i = 1; i <= all; i++) {
		f.fail_at = i;
		read_names();
		assert_true(found.cnt <= 4);
		for (n = 0; n < found.cnt; n++)
			assert_true(found.list[n].tid >= 100 && found.list[n].tid <= 103);
	}
}

static void test_each_byte_may_be_another(void **state)
{
	static const uint8_t flips[] = { 1, 0x80, 0xff };
	uint64_t at;
	uint32_t n;
	size_t k;

	fill(11, false);
	for (at = 0; at < f.used; at += 3)
		for (k = 0; k < sizeof(flips); k++) {
			f.mem[at] ^= flips[k];
			read_names();
			assert_true(found.cnt <= PYTHON_THREADS_MAX && f.reads <= READS_MOST);
			for (n = 0; n < found.cnt; n++)
				assert_non_null(memchr(found.list[n].name, 0, PYTHON_THREAD_BYTES));
			f.mem[at] ^= flips[k];
		}
}

static void test_whose_name_it_is(void **state)
{
	assert_true(python_thread_is_numbered("Thread-1"));
	assert_true(python_thread_is_numbered("Thread-12 (work)"));
	assert_true(python_thread_is_numbered("Dummy-3"));
	assert_false(python_thread_is_numbered("Thread-"));
	assert_false(python_thread_is_numbered("Thread-1x"));
	assert_false(python_thread_is_numbered("worker"));
	assert_true(python_thread_is_dummy("Dummy-3"));
	assert_false(python_thread_is_dummy("Dummy-3b"));
	assert_false(python_thread_is_dummy("Dummy"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_musl),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_without_threading),
		cmocka_unit_test(test_one_is_broken),
		cmocka_unit_test(test_endless),
		cmocka_unit_test(test_reads_are_bounded),
		cmocka_unit_test(test_each_read_may_fail),
		cmocka_unit_test(test_each_byte_may_be_another),
		cmocka_unit_test(test_whose_name_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
