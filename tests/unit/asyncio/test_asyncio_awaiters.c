// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_asyncio_awaiters.c - who awaits a future, by the shapes of its callbacks, and by lies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "asyncio/awaiters.h"
#include "base/util.h"
#include "tests/unit/asyncio/fake_futures.h"

#define FOUND_MAX 256

static struct fake_futures a;
static struct awaiters out;
static uint64_t found[FOUND_MAX], leaf, task;
static uint32_t found_cnt, found_max;

static bool keep(void *ctx, uint64_t addr)
{
	if (found_cnt < FOUND_MAX)
		found[found_cnt] = addr;
	return ++found_cnt < found_max;
}

static int read_leaf(void)
{
	static struct future_types types;
	struct py_walk w;

	memset(&types, 0, sizeof(types));
	py_walk_init(&w, &a.f.target, &a.f.at.objects, 1u << 20);
	a.f.reads = 0;
	found_cnt = 0;
	found_max = found_max ? found_max : UINT32_MAX;
	return awaiters_read(&w, &a.homes, &types, leaf, keep, NULL, &out);
}

static void make(unsigned int minor, bool big)
{
	fake_futures_make(&a, minor, big);
	leaf = fake_c_task(&a);
	task = fake_c_task(&a);
	found_max = 0;
}

/* A future that `task` awaits. */
static uint64_t awaited(void)
{
	uint64_t future = fake_future(&a);

	fake_callback(&a, future, fake_wakeup(&a, task));
	return future;
}

/* ---- each shape ---- */

static uint64_t by_wakeup(void)
{
	return fake_wakeup(&a, task);
}

static uint64_t by_python_wakeup(void)
{
	return fake_method(&a, "Task.__wakeup", task);
}

static uint64_t by_gather(void)
{
	return fake_closure(&a, "gather.<locals>._done_callback", "outer", awaited());
}

static uint64_t by_gather_of_39(void)
{
	return fake_closure(&a, "_gather.<locals>._done_callback", "outer", awaited());
}

static uint64_t by_wait(void)
{
	return fake_closure(&a, "_wait.<locals>._on_completion", "waiter", awaited());
}

static uint64_t by_wait_for(void)
{
	return fake_partial(&a, "_release_waiter", awaited());
}

static uint64_t by_shield(void)
{
	return fake_closure(&a, "shield.<locals>._inner_done_callback", "outer", awaited());
}

static uint64_t by_as_completed(void)
{
	return fake_closure(&a, "as_completed.<locals>._on_completion", "done",
			    fake_with(&a, "_getters", fake_deque(&a, awaited())));
}

static uint64_t by_as_completed_of_313(void)
{
	uint64_t queue = fake_with(&a, "_getters", fake_deque(&a, awaited()));

	return fake_method(&a, "_AsCompletedIterator._handle_completion",
			   fake_with(&a, "_done", queue));
}

static uint64_t by_group(void)
{
	return fake_method(&a, "TaskGroup._on_task_done", fake_with(&a, "_parent_task", task));
}

static uint64_t by_race(void)
{
	return fake_closure(&a, "staggered_race.<locals>.task_done", "on_completed_fut", awaited());
}

static uint64_t by_chained_future(void)
{
	return fake_closure(&a, "_chain_future.<locals>._call_set_state", "destination", awaited());
}

static uint64_t by_anyio(void)
{
	uint64_t scope = fake_with(&a, "_host_task", task);

	return fake_closure(&a, "TaskGroup._spawn.<locals>.task_done", "self",
			    fake_with(&a, "cancel_scope", scope));
}

/* A gather of a shielded gather. */
static uint64_t by_futures_of_futures(void)
{
	uint64_t outer = fake_future(&a), middle = fake_future(&a);

	fake_callback(&a, outer, by_gather());
	fake_callback(&a, middle, fake_closure(&a, "shield.<locals>._inner_done_callback", "outer",
					       outer));
	return fake_closure(&a, "gather.<locals>._done_callback", "outer", middle);
}

static uint64_t (*const shapes[])(void) = {
	by_wakeup, by_python_wakeup, by_gather, by_gather_of_39, by_wait, by_wait_for, by_shield,
	by_as_completed, by_as_completed_of_313, by_group, by_race, by_chained_future, by_anyio,
	by_futures_of_futures,
};

static void test_each_shape(void **state)
{
	EACH_MINOR(minor, big)
		for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
			make(minor, big);
			fake_callback(&a, leaf, shapes[i]());
			assert_int_equal(read_leaf(), 0);
			assert_int_equal(found_cnt, 1);
			assert_int_equal(found[0], task);
			assert_true(out.cnt == 1 && !out.others && !out.cut && !out.root);
			if (i < 2)
				assert_true(a.f.reads <= 12);
		}
}

/* All of them at once, in a list: each task is named once. */
static void test_a_list(void **state)
{
	uint64_t callbacks[FOUND_MAX];
	size_t i;

	EACH_MINOR(minor, big) {
		make(minor, big);
		for (i = 0; i < 4; i++)
			callbacks[i] = shapes[i]();
		task = fake_c_task(&a);
		callbacks[i] = by_wait();
		fake_callback(&a, leaf, by_wakeup());
		fake_more_callbacks(&a, leaf, callbacks, 5);
		assert_int_equal(read_leaf(), 0);
		assert_true(found_cnt == 2 && out.cnt == 2 && found[0] == task);
		found_max = 1;
		assert_int_equal(read_leaf(), 0);
		assert_true(found_cnt == 1 && out.cnt == 1 && !out.cut);
	}
}

static void test_many_tasks(void **state)
{
	uint64_t callbacks[2 * 80];
	uint32_t i;

	make(12, false);
	for (i = 0; i < 80; i++) {
		task = fake_c_task(&a);
		callbacks[i] = callbacks[80 + i] = fake_pair(&a, a.wrapper, task, 0);
	}
	fake_more_callbacks(&a, leaf, callbacks, 160);
	assert_int_equal(read_leaf(), 0);
	assert_true(out.cnt == 80 && found_cnt == 80 && found[79] == task && !out.cut);
}

/* ---- callbacks that wake nobody ---- */

static void test_nobody(void **state)
{
	uint64_t callbacks[8], cnt;

	EACH_MINOR(minor, big) {
		cnt = 0;
		make(minor, big);
		callbacks[cnt++] = fake_builtin(&a, "discard", fake_object(&a.f, a.t.set, 40));
		callbacks[cnt++] = fake_builtin(&a, "cancel", task);
		callbacks[cnt++] = fake_method(&a, "WorkerThread.stop", task);
		/* A future of concurrent.futures; a gather() that is being made; a group's end. */
		callbacks[cnt++] = fake_closure(&a, "_chain_future.<locals>._call_set_state",
						"destination", fake_with(&a, "_state", 0));
		callbacks[cnt++] = fake_closure(&a, "gather.<locals>._done_callback", "outer", 0);
		callbacks[cnt++] = fake_closure(&a, "gather.<locals>._done_callback", "outer",
						fake_object(&a.f, a.t.none, 0));
		callbacks[cnt++] = fake_method(&a, "TaskGroup._on_task_done",
					       fake_with(&a, "_parent_task",
							 fake_object(&a.f, a.t.none, 0)));
		fake_more_callbacks(&a, leaf, callbacks, cnt);
		assert_int_equal(read_leaf(), 0);
		assert_true(!found_cnt && !out.cnt && !out.cut && !out.root);
		assert_int_equal(out.others, 0);
		fake_callback(&a, leaf, fake_function(&a, "_run_until_complete_cb", NULL, NULL, 0));
		assert_int_equal(read_leaf(), 0);
		assert_true(out.root && !out.others && !out.cut);
		fake_callback(&a, leaf, fake_cython(&a, "Loop.run_until_complete.<locals>.done_cb",
						    big));
		assert_int_equal(read_leaf(), 0);
		assert_true(out.root && !out.others && !out.cut);
	}
}

/* wait_for()'s time is over, or a gather() has failed: its future is done, and has no callbacks. */
static void test_woken(void **state)
{
	uint64_t future;

	EACH_MINOR(minor, big) {
		make(minor, big);
		fake_callback(&a, leaf, by_wakeup());
		fake_poke(&a.f, leaf + a.homes.fields.state, 1, 4);
		assert_int_equal(read_leaf(), 0);
		assert_false(out.woken);
		future = fake_future(&a);
		fake_poke(&a.f, future + a.homes.fields.state, 1, 4);
		fake_callback(&a, leaf, fake_partial(&a, "_release_waiter", future));
		assert_int_equal(read_leaf(), 0);
		assert_true(out.woken && !out.cnt && !out.others && !out.cut);
	}
}

/* ---- unknown ones, and lies ---- */

static void expect_other(uint64_t callback, const char *name)
{
	fake_callback(&a, leaf, callback);
	assert_int_equal(read_leaf(), 0);
	assert_true(!out.cnt && out.others == 1);
	assert_string_equal(out.other, name);
}

static void test_unknown(void **state)
{
	EACH_MINOR(minor, big) {
		make(minor, big);
		expect_other(fake_function(&a, "Server.start.<locals>.done", NULL, NULL, 0),
			     "Server.start.<locals>.done");
		expect_other(fake_method(&a, "Pool._finished", task), "Pool._finished");
		expect_other(fake_partial(&a, "log_\xe4", task), "log_\xc3\xa4");
		expect_other(fake_builtin(&a, "set_result", awaited()), "set_result");
		expect_other(fake_cython(&a, "Pool.f.<locals>.g", big), "Pool.f.<locals>.g");
		expect_other(fake_object(&a.f, fake_named_type(&a.f, "sp\x01m.Call", 0), 8),
			     "sp?m.Call");
		expect_other(fake_pair(&a, a.partial, fake_method(&a, "A.b", task), 0), "A.b");
	}
}

/* A function has the name of one of asyncio's, and leads to something else. */
static void test_lies(void **state)
{
	static const char gather[] = "gather.<locals>._done_callback";

	EACH_MINOR(minor, big) {
		make(minor, big);
		expect_other(fake_closure(&a, gather, "outer", fake_with(&a, "x", task)), gather);
		expect_other(fake_closure(&a, gather, "inner", awaited()), gather);
		expect_other(fake_closure(&a, gather, "outer", 0x123456789), gather);
		expect_other(fake_function(&a, gather, NULL, NULL, 0), gather);
		expect_other(fake_method(&a, "Task.__wakeup", awaited()), "Task.__wakeup");
		expect_other(fake_method(&a, "TaskGroup._on_task_done",
					 fake_with(&a, "_parent_task", awaited())),
			     "TaskGroup._on_task_done");
		expect_other(fake_builtin(&a, "task_wakeup", 0), "task_wakeup");
		expect_other(fake_pair(&a, a.partial,
				       fake_function(&a, "_release_waiter", NULL, NULL, 0),
				       fake_object(&a.f, a.t.tuple, 8)), "_release_waiter");
	}
}

/* A tuple, a closure, a list that claim to be longer than all memory. */
static void test_sizes(void **state)
{
	uint64_t callback, list;

	EACH_MINOR(minor, big) {
		make(minor, big);
		callback = by_gather();
		fake_callback(&a, leaf, callback);
		fake_poke(&a.f, fake_peek(&a.f, callback + a.f.head + (minor < 10 ? 32 : 56)) +
			  a.f.head, UINT64_MAX, 8);
		assert_int_equal(read_leaf(), 0);
		assert_true(!out.cnt && out.others == 1);
		callback = fake_function(&a, "f", NULL, NULL, 0);
		fake_more_callbacks(&a, leaf, &callback, 1);
		list = fake_peek(&a.f, leaf + a.homes.fields.callbacks);
		fake_poke(&a.f, list + a.f.head, UINT64_MAX, 8);
		assert_int_equal(read_leaf(), 0);
		assert_true(out.cut && !out.cnt);
	}
}

static uint64_t same_item;

/* Memory in which every address of a large region is the same item of a list. */
static int endless_list(void *ctx, uint64_t addr, void *buf, size_t len)
{
	size_t i;

	if (addr >> 40 != 1)
		return fake_threads_read(ctx, addr, buf, len);
	a.f.reads++;
	for (i = 0; i + 8 <= len; i += 8)
		memcpy((uint8_t *)buf + i, &same_item, 8);
	return 0;
}

static void test_a_million_callbacks(void **state)
{
	uint64_t callback, list;

	make(11, false);
	callback = fake_function(&a, "f", NULL, NULL, 0);
	fake_more_callbacks(&a, leaf, &callback, 1);
	list = fake_peek(&a.f, leaf + a.homes.fields.callbacks);
	same_item = fake_peek(&a.f, fake_peek(&a.f, list + a.f.head + 8));
	fake_poke(&a.f, list + a.f.head, 1000000, 8);
	fake_poke(&a.f, list + a.f.head + 8, 1ull << 40, 8);
	a.f.target.read = endless_list;
	assert_int_equal(read_leaf(), 0);
	assert_true(out.cut && out.others == AWAITERS_CALLBACKS_MAX);
	assert_true(a.f.reads < 5 * AWAITERS_CALLBACKS_MAX);
}

/* Futures that lead back to themselves, and more of them than are followed. */
static void test_circles(void **state)
{
	uint64_t other, futures[70];
	uint32_t i;

	EACH_MINOR(minor, big) {
		make(minor, big);
		other = fake_future(&a);
		fake_callback(&a, leaf, fake_partial(&a, "_release_waiter", other));
		fake_callback(&a, other, fake_partial(&a, "_release_waiter", leaf));
		assert_int_equal(read_leaf(), 0);
		assert_true(!out.cnt && !out.others && !out.cut);
		fake_callback(&a, leaf, fake_partial(&a, "_release_waiter", leaf));
		assert_int_equal(read_leaf(), 0);
		assert_true(!out.cnt && !out.others && !out.cut);
	}
	make(9, false);
	for (i = 0; i < 70; i++) {
		futures[i] = fake_future(&a);
		fake_callback(&a, i ? futures[i - 1] : leaf,
			      fake_partial(&a, "_release_waiter", futures[i]));
	}
	assert_int_equal(read_leaf(), 0);
	assert_true(out.cut && !out.cnt);
}

static uint32_t readable;

/* Memory that goes after so many reads. */
static int ending(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return a.f.reads < readable ? fake_threads_read(ctx, addr, buf, len) : -EFAULT;
}

/* From each read on nothing is readable: what is missing is said. */
static void test_unreadable(void **state)
{
	uint32_t reads;
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		make(8 + i % 6, i & 1);
		fake_callback(&a, leaf, shapes[i]());
		assert_int_equal(read_leaf(), 0);
		reads = a.f.reads;
		a.f.target.read = ending;
		for (readable = 0; readable < reads; readable++) {
			err = read_leaf();
			assert_true(err || out.cnt == 1 || out.cut || out.others);
			assert_true(out.cnt <= 1 && (!out.cnt || found[0] == task));
		}
	}
	make(10, false);
	leaf = fake_with(&a, "x", 0);
	assert_int_equal(read_leaf(), -EBADMSG);
	assert_true(!out.cnt && !out.cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_shape), cmocka_unit_test(test_a_list),
		cmocka_unit_test(test_many_tasks), cmocka_unit_test(test_nobody),
		cmocka_unit_test(test_woken), cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_lies), cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_a_million_callbacks), cmocka_unit_test(test_circles),
		cmocka_unit_test(test_unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
