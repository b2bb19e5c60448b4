// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_cpython_rlock.c - which RLock a thread waits for, in the memory of each version. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cpython/rlock.h"
#include "tests/unit/cpython/fake_values.h"

#define FUTEX 0x7f0000001000ull		/* a semaphore on the heap */
#define OWNER 0x7f0000002000ull

static struct fake_threads f;
static struct fake_types t;
static struct fake_frame frame;
static struct py_rlock found;
static uint64_t lock, method, entry;

static uint64_t make_rlock(uint64_t type)
{
	uint64_t at = fake_object(&f, type, 24);

	fake_poke(&f, at + f.head - 16, 2, 8);	/* references */
	fake_poke(&f, at + f.head, f.at.objects.minor >= 14 ? 3 : FUTEX, 8);
	fake_poke(&f, at + f.head + 8, OWNER, 8);
	fake_poke(&f, at + f.head + 16, 1, 8);
	return at;
}

/* A frame with an RLock of this type in a variable; or a method of it, bound. */
static void make(unsigned int minor, bool big, const char *type, bool bound)
{
	uint64_t names[3], objs[3];

	fake_threads_make(&f, minor, big);
	fake_types_make(&f, &t);
	lock = make_rlock(fake_named_type(&f, type, 0));
	method = fake_object(&f, t.thing, 24);
	fake_poke(&f, method + f.head + 8, lock, 8);
	names[0] = names[1] = names[2] = fake_str(&f, &t, "x");
	objs[0] = fake_small(&f, &t, 7);
	objs[1] = bound ? method : lock;
	objs[2] = objs[0];
	fake_frame_make(&f, &t, &frame, names, objs, 3, 0);
	entry = fake_take(&f, 64);	/* struct wait_entry: park_arg, addr, the semaphore */
	fake_poke(&f, entry + 8, lock + f.head, 8);
}

static int find(uint64_t futex)
{
	struct py_walk w;

	py_walk_init(&w, &f.target, &f.at.objects, 1000);
	return py_rlock_find(&w, &frame.at, frame.state, futex, &found);
}

static uint64_t futex_of(unsigned int minor)
{
	return minor >= 14 ? entry + 16 : FUTEX;
}

#define EACH_VERSION(minor, big) \
	for (unsigned int minor = 6; minor <= 15; minor++) \
		for (unsigned int big = 0; big < 2; big++)

static void test_the_lock_that_is_waited_for(void **state)
{
	EACH_VERSION(minor, big) {
		make(minor, big, "_thread.RLock", false);
		assert_int_equal(find(futex_of(minor)), 0);
		assert_int_equal(found.addr, lock);
		assert_int_equal(found.owner, OWNER);
		make(minor, big, "_thread.RLock", true);
		assert_int_equal(find(futex_of(minor)), 0);
		assert_int_equal(found.addr, lock);
	}
}

static void test_another_lock_is_not_it(void **state)
{
	EACH_VERSION(minor, big) {
		make(minor, big, "_thread.lock", false);
		assert_true(find(futex_of(minor)) < 0);
		make(minor, big, "_thread.RLock", false);
		assert_true(find(minor >= 14 ? entry + 24 : FUTEX + 16) < 0);
		assert_int_equal(found.addr, 0);
	}
}

/* Who waits for it, and nobody holds it, waits for what is there no more. */
static void test_a_lock_that_is_free_is_not_it(void **state)
{
	EACH_VERSION(minor, big) {
		make(minor, big, "_thread.RLock", false);
		if (minor >= 14)
			fake_poke(&f, lock + f.head, 0, 1);
		else
			fake_poke(&f, lock + f.head + 16, 0, 8);
		assert_true(find(futex_of(minor)) < 0);
	}
}

/* Of a freed object the allocator has the first word. */
static void test_a_freed_lock_is_not_it(void **state)
{
	unsigned int minor;

	for (minor = 6; minor <= 13; minor++) {
		make(minor, false, "_thread.RLock", false);
		fake_poke(&f, lock + f.head - 16, 0x7f0000003000, 8);
		assert_true(find(FUTEX) < 0);
		fake_poke(&f, lock + f.head - 16, 0, 8);
		assert_true(find(FUTEX) < 0);
	}
}

static void test_reads_that_fail(void **state)
{
	uint32_t reads, i;

	EACH_VERSION(minor, big) {
		make(minor, big, "_thread.RLock", true);
		f.reads = 0;
		assert_int_equal(find(futex_of(minor)), 0);
		reads = f.reads;
		for (i = 1; i <= reads; i++) {
			f.reads = 0;
			f.fail_at = i;
			if (find(futex_of(minor)))
				assert_int_equal(found.addr, 0);
			else
				assert_int_equal(found.addr, lock);
		}
		f.fail_at = 0;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_lock_that_is_waited_for),
		cmocka_unit_test(test_another_lock_is_not_it),
		cmocka_unit_test(test_a_lock_that_is_free_is_not_it),
		cmocka_unit_test(test_a_freed_lock_is_not_it),
		cmocka_unit_test(test_reads_that_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
