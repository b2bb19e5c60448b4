// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_compiled.c - frames of compiled code, as Nuitka makes them: they execute no bytecode, and
 * have their line themselves. From 3.11 on it is in the frame's object, and the frame's owner is a
 * generator or that object.
 */
#include "world.h"

enum { OWNER_OBJECT = 2 };

static struct world w;

/* Compiled code that runs a function of a module, which calls compiled code. */
static void mixed(int minor)
{
	world_init(&w, minor);
	world_set_frame(&w, 0);		/* compiled code runs the program: there is no shim */
	world_push_compiled(&w, world_code(&w), 19);
	world_push_compiled(&w, world_code(&w), 12);
	world_shim(&w);
	world_push(&w, OWNER_THREAD, world_code(&w), 6);
	world_push_compiled(&w, world_code(&w), 1000000);
	world_push_compiled(&w, world_code(&w), 1);
}

static void test_lines(void **state)
{
	int minor;

	EACH_MINOR(minor) {
		mixed(minor);
		world_expect(&w, 5, 0);
		assert_int_equal(host_counter(CNT_BROKEN_END), 0);
		world_set_line(&w, 7);
		world_expect(&w, 5, 0);
		world_set_line(&w, RAW_LASTI_LINE - 2);
		world_expect(&w, 5, 0);
	}
	for (minor = 6; minor <= 12; minor++) {
		mixed(minor + TRACE_REFS);
		world_expect(&w, 5, 0);
	}
	for (minor = 13; minor <= LAYOUT_MINOR_MAX; minor++) {
		mixed(minor + FREE_THREADED);
		host_mem_put8(w.top + w.img.layout.fr_owner, OWNER_OBJECT);
		world_expect(&w, 5, 0);
	}
}

/* A number that is no line does not become one. */
static void test_no_line(void **state)
{
	static const u32 none[] = { 0, RAW_LASTI_LINE - 1, RAW_LASTI_LINE, RAW_LASTI_NONE,
				    1u << 31, UINT32_MAX };
	int minor;
	size_t i;

	EACH_MINOR(minor) {
		for (i = 0; i < sizeof(none) / sizeof(*none); i++) {
			mixed(minor);
			world_set_line(&w, none[i]);
			w.want[4].lasti = w.img.layout.lasti_unit ? RAW_LASTI_NONE : 2;
			world_expect(&w, 5, 0);
		}
	}
}

/* A frame without an object, with one that is unreadable, and with another frame's. */
static void test_other_objects(void **state)
{
	int minor;

	for (minor = 11; minor <= LAYOUT_MINOR_MAX; minor++) {
		u64 object[3] = { 0, 0xdead0000 };
		u32 i;

		mixed(minor);
		object[2] = w.top - 64;
		w.want[4].lasti = 2;
		for (i = 0; i < 3; i++) {
			host_mem_put64(w.top + w.img.layout.fr_object, object[i]);
			world_expect(&w, 5, 0);
		}
	}
}

/* A thread's frame, of which a debugger or a traceback has an object, costs nothing more. */
static void test_frame_of_a_thread(void **state)
{
	int minor;

	for (minor = 11; minor <= LAYOUT_MINOR_MAX; minor++) {
		mixed(minor);
		world_push(&w, OWNER_THREAD, world_code(&w), 8);
		host_mem_put64(w.top + w.img.layout.fr_object, w.top - 128);
		world_expect(&w, 6, 0);
	}
}

/* 3.11: Nuitka does not set is_entry, so it may be anything. */
static void test_is_no_entry(void **state)
{
	u64 from;

	world_init(&w, 11);
	world_push(&w, OWNER_THREAD, world_code(&w), 6);
	from = w.top;
	world_push(&w, OWNER_THREAD, world_code(&w), 8);
	host_mem_put8(w.top + w.img.layout.fr_is_entry, 1);
	world_push_compiled(&w, world_code(&w), 5);
	host_mem_put8(w.top + w.img.layout.fr_is_entry, 0x77);
	world_enter(&w, w.top, from);
	world_expect(&w, 3, 0);
	assert_int_equal(host_counter(CNT_ENTERING), 0);
}

/*
 * A new frame has the caller of an earlier frame at its address. If that was compiled code, which
 * has returned, the chain ends there; if that code runs, it may be the caller.
 */
static void test_called_by_the_past(void **state)
{
	int minor;

	for (minor = 11; minor <= LAYOUT_MINOR_MAX; minor++) {
		world_init(&w, minor);
		world_set_frame(&w, 0);
		world_push_compiled(&w, world_code(&w), 5);
		world_push(&w, OWNER_THREAD, world_code(&w), -2);
		world_expect(&w, 0, RAW_UNREADABLE);
		mixed(minor);
		world_push(&w, OWNER_THREAD, world_code(&w), -2);
		world_expect(&w, 6, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_no_line),
		cmocka_unit_test(test_other_objects),
		cmocka_unit_test(test_frame_of_a_thread),
		cmocka_unit_test(test_is_no_entry),
		cmocka_unit_test(test_called_by_the_past),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
