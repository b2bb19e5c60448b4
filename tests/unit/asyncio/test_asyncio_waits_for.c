// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_asyncio_waits_for.c - what a task waits for, and who has it, in CPython 3.8 to 3.15. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "tests/unit/asyncio/fake_waits.h"

#define EACH_BUILD(minor, big) \
	for (unsigned int minor = 8; minor <= 15; minor++) \
		for (unsigned int big = 0; big < 2; big++)
#define LOCKS "/usr/lib/python3/asyncio/locks.py"
#define QUEUES "/usr/lib/python3/asyncio/queues.py"
#define FUTURES "/usr/lib/python3/asyncio/futures.py"
#define APP "/srv/app.py"
#define READS 10000

static const char *const plain[3] = { "a", "b", "c" };
static struct fake_waits f;
static struct task_waits_for got;

static void ask(void)
{
	fake_waits_begin(&f, READS);
	waits_for_read(&f.reader, &f.task, &got);
}

/* The caller has the object in its variable number `where`. */
static void caller(int where)
{
	uint64_t values[3] = { 0 };

	if (where >= 0)
		values[where] = f.obj;
	fake_waits_frame(&f, APP, "handle", plain, values);
}

static void test_kinds(void **state)
{
	static const struct {
		const char *file, *function, *class, *word;
		uint8_t kind;
	} rows[] = {
		{ LOCKS, "acquire", "Lock", "Lock", WAITS_LOCK },
		{ LOCKS, "acquire", "Semaphore", "Semaphore", WAITS_SEMAPHORE },
		{ LOCKS, "wait", "Event", "Event", WAITS_EVENT },
		{ LOCKS, "wait", "Condition", "Condition", WAITS_CONDITION },
		{ LOCKS, "wait", "Barrier", "Barrier", WAITS_BARRIER },
		{ QUEUES, "get", "Queue", "Queue", WAITS_QUEUE_GET },
		{ QUEUES, "put", "Queue", "room in Queue", WAITS_QUEUE_PUT },
		{ QUEUES, "join", "Queue", "the end of Queue", WAITS_QUEUE_JOIN },
	};

	EACH_BUILD(minor, big) {
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			fake_waits_make(&f, minor, big, rows[i].class);
			caller(1);
			fake_waits_inside(&f, rows[i].file, rows[i].function, f.obj, false);
			ask();
			assert_int_equal(got.kind, rows[i].kind);
			assert_int_equal(got.obj, f.obj);
			assert_int_equal(got.fd, -1);
			assert_string_equal(got.name, "b");
			assert_string_equal(waits_for_word(got.kind), rows[i].word);
		}
	}
}

/* A variable, one in a cell, an attribute of the first argument, a global one, or none. */
static void test_who_has_it(void **state)
{
	EACH_BUILD(minor, big) {
		for (int where = 0; where < 3; where++) {
			fake_waits_make(&f, minor, big, "Lock");
			caller(where);
			fake_waits_inside(&f, LOCKS, "acquire", f.obj, false);
			ask();
			assert_string_equal(got.name, plain[where]);
		}
		fake_waits_make(&f, minor, big, "Lock");
		fake_waits_frame(&f, APP, "handle", plain, (const uint64_t[3]){
			fake_instance(&f.t, &f.types, "App", "x", f.nothing, "lock", f.obj) });
		fake_waits_inside(&f, LOCKS, "acquire", f.obj, false);
		ask();
		assert_string_equal(got.name, "a.lock");

		fake_waits_make(&f, minor, big, "Lock");
		caller(-1);
		fake_waits_global(&f, "LOCK", f.obj);
		fake_waits_inside(&f, LOCKS, "acquire", f.obj, false);
		ask();
		assert_string_equal(got.name, "LOCK");

		fake_waits_make(&f, minor, big, "Lock");
		caller(-1);
		fake_waits_inside(&f, LOCKS, "acquire", f.obj, false);
		ask();
		assert_string_equal(got.name, "");
		assert_int_equal(got.kind, WAITS_LOCK);
	}
}

/* The function that waits has not the object itself: the one that awaits it has. */
static void test_further_callers(void **state)
{
	EACH_BUILD(minor, big) {
		fake_waits_make(&f, minor, big, "Queue");
		caller(1);
		caller(-1);
		fake_waits_inside(&f, QUEUES, "get", f.obj, false);
		ask();
		assert_string_equal(got.name, "b");
	}
}

/* asyncio's own functions call one another: the outermost one says what it is. */
static void test_outermost_of_asyncio(void **state)
{
	EACH_BUILD(minor, big) {
		uint64_t condition;

		fake_waits_make(&f, minor, big, "Barrier");
		condition = fake_instance(&f.t, &f.types, "Condition", "_lock", f.nothing, NULL, 0);
		caller(0);
		fake_waits_inside(&f, LOCKS, "wait", f.obj, false);
		fake_waits_inside(&f, LOCKS, "_block", f.obj, false);
		fake_waits_inside(&f, LOCKS, "wait", condition, false);
		ask();
		assert_int_equal(got.kind, WAITS_BARRIER);
		assert_int_equal(got.obj, f.obj);
		assert_string_equal(got.name, "a");
	}
}

static void test_subclass(void **state)
{
	EACH_BUILD(minor, big) {
		fake_waits_make(&f, minor, big, "Special");
		caller(0);
		fake_waits_inside(&f, LOCKS, "acquire", f.obj, false);
		ask();
		assert_int_equal(got.kind, WAITS_UNKNOWN);
		fake_poke(&f.t, f.type + f.t.head + 240, fake_named_type(&f.t, "Lock", 0), 8);
		ask();
		assert_int_equal(got.kind, WAITS_LOCK);
		/* a class that is its own base */
		fake_poke(&f.t, f.type + f.t.head + 240, f.type, 8);
		ask();
		assert_int_equal(got.kind, WAITS_UNKNOWN);
	}
}

/* Functions of these names that are not asyncio's, and those of asyncio that wait for nothing. */
static void test_others(void **state)
{
	static const char *const files[][2] = {
		{ "/srv/locks.py", "acquire" }, { "/srv/asyncio/app.py", "acquire" },
		{ "/srv/myasyncio/locks.py", "acquire" }, { "/srv/asyncio/locks.pyc", "acquire" },
		{ "locks.py", "acquire" }, { "", "acquire" }, { LOCKS, "release" }, { LOCKS, "" },
	};

	EACH_BUILD(minor, big) {
		for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
			fake_waits_make(&f, minor, big, "Lock");
			caller(0);
			fake_waits_inside(&f, files[i][0], files[i][1], f.obj, false);
			ask();
			assert_int_equal(got.kind, WAITS_UNKNOWN);
			assert_int_equal(got.obj, 0);
			assert_string_equal(got.name, "");
		}
	}
	fake_waits_make(&f, 12, false, "Lock");
	caller(0);
	fake_waits_inside(&f, "asyncio/locks.py", "acquire", f.obj, false);
	ask();
	assert_int_equal(got.kind, WAITS_LOCK);
}

static void test_sleep(void **state)
{
	EACH_BUILD(minor, big) {
		fake_waits_make(&f, minor, big, "Lock");
		caller(0);
		fake_waits_inside(&f, "/lib/asyncio/tasks.py", "sleep", f.nothing, false);
		ask();
		assert_int_equal(got.kind, WAITS_SLEEP);
		assert_int_equal(got.obj, 0);
		assert_string_equal(got.name, "");
	}
}

/* Of a stream by its transport; uvloop's transports do not tell. */
static void test_stream(void **state)
{
	EACH_BUILD(minor, big) {
		for (uint32_t fd = 0; fd < 3; fd++) {
			uint64_t transport, stream;

			fake_waits_make(&f, minor, big, "Lock");
			transport = fake_instance(&f.t, &f.types, "_SelectorSocketTransport",
						  fd == 2 ? "_other" : "_sock_fd",
						  fake_small(&f.t, &f.types, 17 * fd), NULL, 0);
			stream = fake_instance(&f.t, &f.types, "StreamReader", "_transport",
					       transport, NULL, 0);
			caller(-1);
			fake_waits_inside(&f, "/lib/asyncio/streams.py", "readline", stream, false);
			fake_waits_inside(&f, "/lib/asyncio/streams.py", "_wait_for_data", stream,
					  false);
			ask();
			assert_int_equal(got.kind, WAITS_SOCKET);
			assert_int_equal(got.fd, fd == 2 ? -1 : (int)(17 * fd));
		}
	}
}

/* From 3.15 on the ints that exist once have a mark beside their sign and size. */
static void test_marked_int(void **state)
{
	uint64_t value;

	fake_waits_make(&f, 15, false, "Lock");
	value = fake_small(&f.t, &f.types, 9);
	fake_poke(&f.t, value + f.t.head, 1 << 3 | 4, 8);
	value = fake_instance(&f.t, &f.types, "T", "_sock_fd", value, NULL, 0);
	fake_waits_inside(&f, "/lib/asyncio/streams.py", "drain",
			  fake_instance(&f.t, &f.types, "StreamWriter", "_transport", value, NULL,
					0), false);
	ask();
	assert_int_equal(got.kind, WAITS_SOCKET);
	assert_int_equal(got.fd, 9);
}

static void test_descriptors_that_are_none(void **state)
{
	static const uint32_t big_digits[] = { 1, 1 };

	EACH_BUILD(minor, big) {
		for (int i = 0; i < 3; i++) {
			uint64_t value, transport;

			fake_waits_make(&f, minor, big, "Lock");
			value = i == 2 ? f.nothing :
				fake_int(&f.t, f.types.integer, big_digits, 2 - i, i == 1);
			transport = fake_instance(&f.t, &f.types, "T", "_sock_fd", value, NULL, 0);
			fake_waits_inside(&f, "/lib/asyncio/streams.py", "drain",
					  fake_instance(&f.t, &f.types, "StreamWriter",
							"_transport", transport, NULL, 0), false);
			ask();
			assert_int_equal(got.kind, WAITS_SOCKET);
			assert_int_equal(got.fd, -1);
		}
	}
}

/* Of a method of the loop: by the socket itself, or by what is derived from it. */
static void test_socket(void **state)
{
	EACH_BUILD(minor, big) {
		for (int fd = -1; fd < 7; fd += 7) {
			uint64_t type, derived, sock;

			fake_waits_make(&f, minor, big, "Lock");
			type = fake_named_type(&f.t, "_socket.socket", 0);
			derived = fake_named_type(&f.t, "socket", PY_HEAP_TYPE);
			fake_poke(&f.t, derived + f.t.head + 240, type, 8);
			sock = fake_object(&f.t, derived, 32);
			fake_poke(&f.t, sock + f.t.head, (uint32_t)fd, 4);
			caller(-1);
			fake_waits_inside(&f, "/lib/asyncio/selector_events.py", "sock_recv", sock,
					  true);
			ask();
			assert_int_equal(got.kind, WAITS_SOCKET);
			assert_int_equal(got.obj, sock);
			assert_int_equal(got.fd, fd);
		}
	}
}

/* ---- futures ---- */

/* The caller awaits a future with this first callback. */
static void await_future(uint64_t callback, bool pure)
{
	uint64_t future = fake_waits_future(&f, callback, pure);

	if (pure)
		fake_waits_inside(&f, FUTURES, "__await__", future, false);
	else
		f.task.future = future;
}

static uint64_t of_wrap_future(void)
{
	return fake_waits_callback(&f, FUTURES, "_call_check_cancel", "source_loop", f.nothing);
}

static void assert_future(bool is_concurrent)
{
	assert_int_equal(got.kind, is_concurrent ? WAITS_FUTURE : WAITS_UNKNOWN);
	assert_string_equal(waits_for_word(got.kind),
			    is_concurrent ? "a concurrent.futures.Future" : "");
	assert_true(!got.obj && got.fd == -1 && !got.name[0]);
}

static void test_wrapped_future(void **state)
{
	EACH_BUILD(minor, big) {
		for (int pure = 0; pure < 2; pure++) {
			fake_waits_make(&f, minor, big, "Lock");
			caller(0);
			await_future(of_wrap_future(), pure);
			ask();
			assert_future(true);
			/* a coroutine of asyncio that calls run_in_executor() */
			fake_waits_make(&f, minor, big, "Lock");
			caller(0);
			fake_waits_inside(&f, "/lib/asyncio/base_events.py", "getaddrinfo", f.obj,
					  false);
			await_future(of_wrap_future(), pure);
			ask();
			assert_future(true);
		}
	}
}

/* Futures whose first callback is another one, or none, or stands for an asyncio future. */
static void test_other_futures(void **state)
{
	static const char *const functions[][3] = {
		{ FUTURES, "_call_set_state", "source_loop" },
		{ "/srv/futures.py", "_call_check_cancel", "source_loop" },
		{ LOCKS, "_call_check_cancel", "source_loop" },
		{ FUTURES, "_call_check_cancel", "dest_loop" },
		{ FUTURES, "__await__", "source_loop" },
	};

	EACH_BUILD(minor, big) {
		for (size_t i = 0; i < 2 * (ARRAY_SIZE(functions) + 4); i++) {
			uint64_t callback = 0;
			size_t which = i / 2;

			fake_waits_make(&f, minor, big, "Lock");
			caller(0);
			if (which < ARRAY_SIZE(functions))
				callback = fake_waits_callback(&f, functions[which][0],
							       functions[which][1],
							       functions[which][2], f.nothing);
			else if (which < ARRAY_SIZE(functions) + 2)	/* a loop, or nothing yet */
				callback = fake_waits_callback(
					&f, FUTURES, "_call_check_cancel", "source_loop",
					which == ARRAY_SIZE(functions) ? f.obj : 0);
			else if (which == ARRAY_SIZE(functions) + 2)	/* no function */
				callback = f.obj;
			await_future(callback, i % 2);
			ask();
			assert_future(false);
		}
	}
}

/* What a coroutine of asyncio waits for is said by itself. */
static void test_futures_of_asyncio(void **state)
{
	EACH_BUILD(minor, big) {
		for (int pure = 0; pure < 2; pure++) {
			fake_waits_make(&f, minor, big, "Lock");
			caller(0);
			fake_waits_inside(&f, LOCKS, "acquire", f.obj, false);
			await_future(0, pure);
			ask();
			assert_int_equal(got.kind, WAITS_LOCK);
			assert_string_equal(got.name, "a");
			fake_waits_make(&f, minor, big, "Lock");
			caller(0);
			fake_waits_inside(&f, "/lib/asyncio/threads.py", "to_thread", f.obj, false);
			await_future(of_wrap_future(), pure);
			ask();
			assert_int_equal(got.kind, WAITS_EXECUTOR);
		}
	}
}

/* A Python Future without a list, with items that are no tuples, or with an empty one. */
static void test_no_callbacks(void **state)
{
	EACH_BUILD(minor, big) {
		for (int i = 0; i < 3; i++) {
			uint64_t list;

			fake_waits_make(&f, minor, big, "Lock");
			list = i == 0 ? f.nothing :
			       i == 1 ? fake_list(&f.t, &f.types, &f.obj, 1) :
			       fake_list(&f.t, &f.types, &(uint64_t){
						fake_tuple(&f.t, &f.types, NULL, 0) }, 1);
			caller(0);
			fake_waits_inside(&f, FUTURES, "__await__",
					  fake_instance(&f.t, &f.types, "Future", "_callbacks",
							list, NULL, 0), false);
			ask();
			assert_future(false);
		}
	}
}

/* A task that has not begun, or whose coroutines are not Python's. */
static void test_no_frames(void **state)
{
	fake_waits_make(&f, 12, false, "Lock");
	ask();
	assert_int_equal(got.kind, WAITS_UNKNOWN);
	f.task.coro_cnt = 1;
	ask();
	assert_int_equal(got.kind, WAITS_UNKNOWN);
}

/* A name that is longer than its room is cut between characters. */
static void test_long_name(void **state)
{
	static const char name[] = "a_name_that_is_longer_than_the_sixty_four_bytes_that_there_are_"
				   "and_goes_on";

	EACH_BUILD(minor, big) {
		fake_waits_make(&f, minor, big, "Lock");
		fake_waits_frame(&f, APP, "handle", plain, (const uint64_t[3]){
			fake_instance(&f.t, &f.types, "App", name, f.obj, NULL, 0) });
		fake_waits_inside(&f, LOCKS, "acquire", f.obj, false);
		ask();
		assert_int_equal(strlen(got.name), WAITS_NAME_BYTES - 1);
		assert_memory_equal(got.name, "a.a_name_that", 13);
	}
}

/* Each read may fail: the kind may get lost, but nothing is wrong. */
static void test_unreadable(void **state)
{
	uint32_t reads, i;

	fake_waits_make(&f, 12, false, "Lock");
	caller(1);
	fake_waits_inside(&f, LOCKS, "acquire", f.obj, false);
	f.t.reads = 0;
	ask();
	reads = f.t.reads;
	assert_in_range(reads, 1, 60);
	for (i = 1; i <= reads; i++) {
		f.t.reads = 0;
		f.t.fail_at = i;
		ask();
		assert_true(got.kind == WAITS_UNKNOWN || got.kind == WAITS_LOCK);
		assert_true(!got.name[0] || !strcmp(got.name, "b"));
	}
}

static void test_unreadable_future(void **state)
{
	uint32_t reads, i;

	for (int pure = 0; pure < 2; pure++) {
		fake_waits_make(&f, 12, false, "Lock");
		caller(1);
		await_future(of_wrap_future(), pure);
		f.t.reads = 0;
		ask();
		reads = f.t.reads;
		assert_in_range(reads, 1, 60);
		for (i = 1; i <= reads; i++) {
			f.t.reads = 0;
			f.t.fail_at = i;
			ask();
			assert_future(got.kind == WAITS_FUTURE);
		}
	}
}

/* A future that nobody knows costs few reads once its callback's kind and code are known. */
static void test_reads_of_futures(void **state)
{
	EACH_BUILD(minor, big) {
		for (int wrapped = 0; wrapped < 2; wrapped++) {
			fake_waits_make(&f, minor, big, "Lock");
			caller(1);
			await_future(wrapped ? of_wrap_future() :
				     fake_waits_callback(&f, APP, "done", "x", f.nothing), false);
			ask();
			f.t.reads = 0;
			waits_for_read(&f.reader, &f.task, &got);
			assert_future(wrapped);
			assert_in_range(f.t.reads, 1, wrapped ? 16 : 6);
		}
	}
}

/* The second task that waits for the same costs few reads. */
static void test_what_is_remembered(void **state)
{
	EACH_BUILD(minor, big) {
		fake_waits_make(&f, minor, big, "Lock");
		caller(1);
		fake_waits_inside(&f, LOCKS, "acquire", f.obj, false);
		ask();
		f.t.reads = 0;
		waits_for_read(&f.reader, &f.task, &got);
		assert_int_equal(got.kind, WAITS_LOCK);
		assert_string_equal(got.name, "b");
		assert_in_range(f.t.reads, 1, 8);
	}
}

/* Each function has its own name for the same object, in whatever order they come. */
static void test_two_names(void **state)
{
	EACH_BUILD(minor, big) {
		fake_waits_make(&f, minor, big, "Lock");
		caller(1);
		fake_waits_inside(&f, LOCKS, "acquire", f.obj, false);
		ask();
		assert_string_equal(got.name, "b");
		f.task.coro_cnt = 0;
		caller(2);
		fake_waits_inside(&f, LOCKS, "acquire", f.obj, false);
		waits_for_read(&f.reader, &f.task, &got);
		assert_string_equal(got.name, "c");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds), cmocka_unit_test(test_who_has_it),
		cmocka_unit_test(test_further_callers), cmocka_unit_test(test_outermost_of_asyncio),
		cmocka_unit_test(test_subclass), cmocka_unit_test(test_others),
		cmocka_unit_test(test_sleep), cmocka_unit_test(test_stream),
		cmocka_unit_test(test_descriptors_that_are_none), cmocka_unit_test(test_marked_int),
		cmocka_unit_test(test_socket),
		cmocka_unit_test(test_wrapped_future), cmocka_unit_test(test_other_futures),
		cmocka_unit_test(test_futures_of_asyncio), cmocka_unit_test(test_no_callbacks),
		cmocka_unit_test(test_unreadable_future), cmocka_unit_test(test_reads_of_futures),
		cmocka_unit_test(test_no_frames), cmocka_unit_test(test_long_name),
		cmocka_unit_test(test_unreadable), cmocka_unit_test(test_what_is_remembered),
		cmocka_unit_test(test_two_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
