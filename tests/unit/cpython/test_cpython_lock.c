// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_cpython_lock.c - which lock a thread waits for, in the memory of each version. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cpython/lock.h"
#include "tests/unit/cpython/fake_values.h"

#define FUTEX 0x7f0000001000ull		/* a semaphore on the heap */
#define OWNER 0x7f0000002000ull

static struct fake_threads f;
static struct fake_types t;
static struct fake_frame frame;
static struct py_lock found;
static uint64_t lock, method, entry;

static bool has_mutex(unsigned int minor)
{
	return minor >= 14;
}

/* The words behind an RLock's, or a Lock's, head. */
static uint64_t make_lock(uint64_t type, bool plain)
{
	uint64_t at = fake_object(&f, type, 24);
	bool mutex = has_mutex(f.at.objects.minor);

	fake_poke(&f, at + f.head - 16, 2, 8);	/* references */
	fake_poke(&f, at + f.head, mutex ? 3 : FUTEX, 8);
	fake_poke(&f, at + f.head + 8, plain ? 0 : OWNER, 8);
	fake_poke(&f, at + f.head + 16, 1, 8);
	return at;
}

/* A frame with the lock of this type in a variable; or a method of it, bound. */
static void make(unsigned int minor, bool big, const char *type, bool bound)
{
	uint64_t names[3], objs[3];

	fake_threads_make(&f, minor, big);
	fake_types_make(&f, &t);
	lock = make_lock(fake_named_type(&f, type, 0), !strcmp(type, "_thread.lock"));
	method = fake_object(&f, t.thing, 24);
	fake_poke(&f, method + f.head + 8, lock, 8);
	names[0] = names[1] = names[2] = fake_str(&f, &t, "x");
	objs[0] = fake_small(&f, &t, 7);
	objs[1] = bound ? method : lock;
	objs[2] = objs[0];
	fake_frame_make(&f, &t, &frame, names, objs, 3, 1);
	entry = fake_take(&f, 64);	/* struct wait_entry: park_arg, addr, the semaphore */
	fake_poke(&f, entry + 8, lock + f.head, 8);
}

/* The frame's function has this object as its first argument, and this name. */
static void set_self(uint64_t self, const char *name)
{
	const struct py_code_layout *l = py_code_layout(f.at.objects.minor);

	fake_poke(&f, frame.frame.addr + l->slots + (f.at.objects.minor <= 10 ? f.head - 16 : 0),
		  self, 8);
	frame.at.layout.co_name = 240;
	fake_poke(&f, frame.frame.code + 240, fake_str(&f, &t, name), 8);
}

static int find(uint64_t futex)
{
	struct py_walk w;

	py_walk_init(&w, &f.target, &f.at.objects, 1000);
	return py_lock_find(&w, &frame.at, frame.state, futex, &found);
}

static uint64_t futex_of(unsigned int minor)
{
	return has_mutex(minor) ? entry + 16 : FUTEX;
}

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
		make(minor, big, "Thing", false);
		assert_true(find(futex_of(minor)) < 0);
		make(minor, big, "_thread.RLock", false);
		assert_true(find(minor >= 14 ? entry + 24 : FUTEX + 16) < 0);
		assert_int_equal(found.addr, 0);
	}
}

static void test_a_plain_lock(void **state)
{
	struct py_walk w;

	EACH_VERSION(minor, big) {
		make(minor, big, "_thread.lock", big);
		assert_int_equal(find(futex_of(minor)), 0);
		assert_int_equal(found.addr, lock);
		assert_int_equal(found.kind, PY_LOCK_PLAIN);
		assert_int_equal(found.owner, 0);
		py_walk_init(&w, &f.target, &f.at.objects, 1000);
		assert_true(py_lock_is_held(&w, lock));
		assert_int_equal(py_lock_of(&w, lock), lock);
		fake_poke(&f, lock + f.head + (has_mutex(minor) ? 0 : 16), 0, 1);
		assert_false(py_lock_is_held(&w, lock));
		assert_true(find(futex_of(minor)) < 0);
	}
}

/* Later releases of 3.13 have a mutex in it. */
static void test_a_plain_lock_of_late_313(void **state)
{
	struct py_walk w;

	for (unsigned int big = 0; big < 2; big++) {
		make(13, big, "_thread.lock", false);
		fake_poke(&f, lock + f.head, 3, 8);
		fake_poke(&f, lock + f.head + 16, 0, 8);
		assert_int_equal(find(entry + 16), 0);
		assert_int_equal(found.addr, lock);
		py_walk_init(&w, &f.target, &f.at.objects, 1000);
		assert_true(py_lock_is_held(&w, lock));
		fake_poke(&f, lock + f.head, 0, 1);
		assert_false(py_lock_is_held(&w, lock));
	}
}

static void test_a_lock_of_multiprocessing(void **state)
{
	struct py_walk w;
	uint64_t wrapper;

	EACH_VERSION(minor, big) {
		make(minor, big, "_multiprocessing.SemLock", big);
		fake_poke(&f, lock + f.head, FUTEX, 8);
		fake_poke(&f, lock + f.head + 16, 1ull << 32 | 1, 8);
		assert_int_equal(find(FUTEX), 0);
		assert_int_equal(found.addr, lock);
		assert_int_equal(found.kind, PY_LOCK_SEMAPHORE);
		assert_int_equal(found.owner, OWNER);
		assert_false(found.foreign);
		fake_poke(&f, lock + f.head + 16, 0, 4);
		assert_int_equal(find(FUTEX), 0);
		assert_true(found.foreign);
		assert_int_equal(found.owner, 0);
		fake_poke(&f, lock + f.head + 20, 7, 4);	/* seven may have it */
		assert_true(find(FUTEX) < 0);
		wrapper = fake_instance(&f, &t, "Lock", "_semlock", lock, NULL, 0);
		py_walk_init(&w, &f.target, &f.at.objects, 1000);
		assert_int_equal(py_lock_of(&w, wrapper), lock);
	}
}

static void test_a_condition(void **state)
{
	uint64_t own, condition;
	struct py_walk w;

	EACH_VERSION(minor, big) {
		make(minor, big, "_thread.lock", false);
		own = make_lock(fake_named_type(&f, "_thread.RLock", 0), false);
		condition = fake_instance(&f, &t, "Condition", "_waiters", method, "_lock", own);
		set_self(condition, "wait");
		assert_int_equal(find(futex_of(minor)), 0);
		assert_int_equal(found.kind, PY_LOCK_CONDITION);
		assert_int_equal(found.addr, condition);
		py_walk_init(&w, &f.target, &f.at.objects, 1000);
		assert_int_equal(py_lock_of(&w, condition), own);
		assert_int_equal(py_lock_given_up(&w, &frame.at, &frame.frame), own);
		set_self(condition, "__enter__");
		assert_int_equal(py_lock_given_up(&w, &frame.at, &frame.frame), 0);
		/* It waits for the Condition's own lock. */
		condition = fake_instance(&f, &t, "Condition", "_lock", lock, NULL, 0);
		set_self(condition, "__enter__");
		assert_int_equal(find(futex_of(minor)), 0);
		assert_int_equal(found.kind, PY_LOCK_PLAIN);
		assert_int_equal(found.addr, lock);
	}
}

static void test_an_import(void **state)
{
	struct py_walk w;
	uint64_t module, manager;

	EACH_VERSION(minor, big) {
		make(minor, big, "_thread.lock", false);
		module = fake_instance(&f, &t, "_ModuleLock", "name", fake_str(&f, &t, "json"),
				       "owner", fake_number(&f, OWNER));
		set_self(module, "acquire");
		assert_int_equal(find(futex_of(minor)), 0);
		assert_int_equal(found.kind, PY_LOCK_IMPORT);
		assert_int_equal(found.addr, module);
		assert_int_equal(found.owner, OWNER);
		assert_string_equal(found.module, "json");
		py_walk_init(&w, &f.target, &f.at.objects, 1000);
		manager = fake_instance(&f, &t, "_ModuleLockManager", "_lock", module, NULL, 0);
		assert_int_equal(py_lock_of(&w, manager), module);
	}
}

static uint64_t awaited(struct py_walk *w)
{
	struct py_lock lock_of_task;

	py_lock_awaited(w, &frame.at, &frame.frame, &lock_of_task);
	if (lock_of_task.addr)
		assert_int_equal(lock_of_task.kind, py_type_named(w, lock_of_task.addr, "Lock") ?
					     PY_LOCK_ASYNCIO : PY_LOCK_PERMITS);
	return lock_of_task.addr;
}

/* A task waits in its acquire(), whatever has called that. */
static void test_a_lock_of_asyncio(void **state)
{
	uint64_t own, other, condition, locked, semaphore;
	struct py_walk w;

	for (unsigned int minor = 8; minor <= 15; minor++)
		for (unsigned int big = 0; big < 2; big++) {
			make(minor, big, "Thing", false);
			locked = fake_object(&f, fake_named_type(&f, "bool", PY_IS_LONG), 16);
			fake_poke(&f, locked + f.head + 8, 1, 4);
			own = fake_instance(&f, &t, "Lock", "_waiters", method, "_locked", locked);
			other = fake_instance(&f, &t, "Lock", "_waiters", method, NULL, 0);
			condition = fake_instance(&f, &t, "Condition", "_lock", own, NULL, 0);
			py_walk_init(&w, &f.target, &f.at.objects, 5000);
			set_self(own, "acquire");
			assert_int_equal(awaited(&w), own);
			set_self(own, "__aenter__");
			assert_int_equal(awaited(&w), 0);
			set_self(other, "acquire");	/* of another library */
			assert_int_equal(awaited(&w), 0);
			set_self(condition, "acquire");
			assert_int_equal(awaited(&w), 0);
			set_self(condition, "wait");
			assert_int_equal(py_lock_given_up(&w, &frame.at, &frame.frame), own);
			assert_true(py_lock_is_held(&w, own));
			fake_poke(&f, locked + f.head + 8, 0, 4);
			assert_false(py_lock_is_held(&w, own));
			assert_false(py_lock_is_held(&w, other));
			semaphore = fake_instance(&f, &t, "BoundedSemaphore", "_value", method,
						  "_waiters", method);
			set_self(semaphore, "acquire");
			assert_int_equal(awaited(&w), semaphore);
			assert_int_equal(py_lock_of(&w, semaphore), semaphore);
			other = fake_instance(&f, &t, "Semaphore", "_value", method, "_cond", own);
			set_self(other, "acquire");	/* of threading */
			assert_int_equal(awaited(&w), 0);
			assert_int_equal(py_lock_of(&w, other), 0);
		}
}

/* Who waits for it, and nobody holds it, waits for what is there no more. */
static void test_a_lock_that_is_free_is_not_it(void **state)
{
	EACH_VERSION(minor, big) {
		make(minor, big, "_thread.RLock", false);
		if (has_mutex(minor))
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
		cmocka_unit_test(test_a_plain_lock),
		cmocka_unit_test(test_a_plain_lock_of_late_313),
		cmocka_unit_test(test_a_lock_of_multiprocessing),
		cmocka_unit_test(test_a_condition),
		cmocka_unit_test(test_an_import),
		cmocka_unit_test(test_a_lock_of_asyncio),
		cmocka_unit_test(test_a_lock_that_is_free_is_not_it),
		cmocka_unit_test(test_a_freed_lock_is_not_it),
		cmocka_unit_test(test_reads_that_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
