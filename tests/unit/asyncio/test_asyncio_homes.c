// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_asyncio_homes.c - where asyncio keeps its tasks in 3.8 to 3.13, and what a future has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/unit/asyncio/fake_homes.h"

static struct fake_homes f;

static void make(unsigned int minor, bool big, bool pure)
{
	assert_true(fake_homes_make(&f, minor, big, pure));
}

static void test_found(void **state)
{
	EACH_HOME(minor, big, pure) {
		const struct async_home *h = &f.at.homes.home[0];

		make(minor, big, pure);
		assert_int_equal(f.at.homes.minor, minor);
		assert_true(h->interp == f.interp && h->weak == f.set && h->eager == f.eager);
		assert_true(h->current == f.current && h->pure == pure && !f.at.homes.cut);
		assert_true(h->task == f.task_type && h->future == f.future_type);
		assert_true(h->py_task == f.py_task_type && h->py_future == f.py_future_type);
	}
}

/* nest_asyncio: asyncio.tasks.Task is a Python class, and _asyncio's tasks are there, too. */
static void test_python_classes_beside_c(void **state)
{
	struct future_types none = { .next = 0 };
	struct future_fields got;
	uint64_t task, c_task, c_future;
	struct py_walk w;

	make(11, false, false);
	c_task = f.task_type;
	c_future = f.future_type;
	f.task_type = f.py_task_type;
	f.future_type = f.py_future_type;
	f.c_task_type = c_task;
	f.c_future_type = c_future;
	fake_home_modules(&f);
	assert_int_equal(fake_find(&f), 0);
	assert_true(f.at.homes.home[0].task == c_task && f.at.homes.home[0].future == c_future);
	assert_true(f.at.homes.home[0].py_task == f.py_task_type && !f.at.homes.home[0].pure);
	py_walk_init(&w, &f.target, &f.at.objects, TASK_READS_MAX);
	task = fake_c_future(&f, c_task, true, &(struct fake_future){ .coro = 0x3333 });
	assert_int_equal(future_read(&w, &f.at.homes, &none, task, &got), 0);
	assert_true(got.kind == FUTURE_TASK && !got.pure && got.coro == 0x3333);
	task = fake_py_future(&f, f.py_task_type, true, &(struct fake_future){ .coro = 0x4444 });
	assert_int_equal(future_read(&w, &f.at.homes, &none, task, &got), 0);
	assert_true(got.kind == FUTURE_TASK && got.pure && got.coro == 0x4444);
}

/* 3.14 and later have no homes; before 3.8 asyncio is not supported. */
static void test_other_versions(void **state)
{
	struct async_fields fields;

	make(13, false, false);
	f.at.objects.minor = 14;
	assert_int_equal(fake_find(&f), -EOPNOTSUPP);
	f.at.objects.minor = 7;
	assert_int_equal(fake_find(&f), -EOPNOTSUPP);
	assert_false(async_fields_of(7, 16, &fields));
	assert_false(async_fields_of(14, 16, &fields));
	assert_false(async_fields_of(8, 8, &fields));
	assert_false(async_fields_of(8, 4096, &fields));
}

/* A longer head moves every field. */
static void test_fields_behind_the_head(void **state)
{
	struct async_fields a, b;
	uint16_t *x = (uint16_t *)&a, *y = (uint16_t *)&b;
	uint8_t minor;
	size_t i;

	for (minor = 8; minor <= 13; minor++) {
		assert_true(async_fields_of(minor, 16, &a) && async_fields_of(minor, 32, &b));
		for (i = 0; i < sizeof(a) / sizeof(*x); i++)
			assert_int_equal(x[i] + 16, y[i]);
		assert_true(a.name + 8 <= a.task_bytes && a.state + 4 <= a.future_bytes);
		assert_true(a.future_bytes <= a.fut_waiter && a.loop == 16);
	}
}

static void test_not_loaded(void **state)
{
	uint64_t entry, entries = 32 + FAKE_KEYS_MAX, i;

	make(12, false, false);
	for (i = 0; i < 3; i++) {
		entry = f.modules_keys + entries + 16 * i;
		uint64_t key = fake_see(&f, entry);

		fake_put(&f, entry, fake_str(&f.t, &f.types, "asyncio.other"));
		assert_int_equal(fake_find(&f), 0);
		assert_true(!f.at.homes.cnt && !f.at.homes.cut);
		fake_put(&f, entry, key);
	}
	assert_int_equal(fake_find(&f), 0);
	assert_int_equal(f.at.homes.cnt, 1);
	fake_put(&f, f.tasks_module + f.t.head, 8);	/* the module's dict */
	assert_int_equal(fake_find(&f), -EFAULT);
	assert_true(f.at.homes.cut);
}

static void test_interpreters(void **state)
{
	uint64_t next = 0, modules, i;

	make(11, false, false);
	modules = fake_see(&f, f.interp + 64);
	for (i = 0; i < ASYNC_HOMES_MAX; i++)
		next = fake_interpreter(&f.t, next, modules);
	fake_put(&f, f.at.interps, next);
	assert_int_equal(fake_find(&f), 0);
	assert_true(f.at.homes.cnt == ASYNC_HOMES_MAX && !f.at.homes.cut);
	fake_put(&f, f.at.interps, fake_interpreter(&f.t, next, modules));
	assert_int_equal(fake_find(&f), 0);
	assert_true(f.at.homes.cnt == ASYNC_HOMES_MAX && f.at.homes.cut);
	fake_put(&f, next + 8, next);			/* a circle */
	assert_int_equal(fake_find(&f), 0);
	assert_true(f.at.homes.cut);
	fake_put(&f, f.at.interps, 8);
	assert_int_equal(fake_find(&f), -EFAULT);
}

/* Whatever read fails, there is an error or a home, and it ends. */
static void test_each_read_fails(void **state)
{
	uint32_t reads, i;
	int err;

	make(13, true, true);
	f.t.reads = 0;
	assert_int_equal(fake_find(&f), 0);
	reads = f.t.reads;
	for (i = 1; i <= reads; i++) {
		f.t.reads = 0;
		f.t.fail_at = i;
		err = fake_find(&f);
		assert_true(err == -EFAULT || f.at.homes.cnt <= 1);
		assert_true(err || !f.at.homes.cnt || f.at.homes.home[0].weak);
	}
}

/* ---- futures ---- */

static struct py_walk walk;
static struct future_types types;

static int read_future(uint64_t obj, struct future_fields *out)
{
	py_walk_init(&walk, &f.target, &f.at.objects, TASK_READS_MAX);
	return future_read(&walk, &f.at.homes, &types, obj, out);
}

static void test_fields(void **state)
{
	const struct fake_future v = { .callback0 = 0x1111, .callbacks = 0x2222, .coro = 0x3333,
				       .name = 0x4444, .waiter = 0x5555 };
	struct future_fields got;

	EACH_HOME(minor, big, pure) {
		make(minor, big, pure);
		memset(&types, 0, sizeof(types));
		assert_int_equal(read_future(fake_future(&f, true, &v), &got), 0);
		assert_true(got.kind == FUTURE_TASK && got.pure == pure && !got.done);
		assert_true(got.loop == f.loop && got.callbacks == v.callbacks);
		assert_true(got.callback0 == (pure ? 0 : v.callback0));
		assert_true(got.coro == v.coro && got.name == v.name);
		assert_true(got.fut_waiter == v.waiter);
		assert_int_equal(read_future(fake_future(&f, false, &v), &got), 0);
		assert_true(got.kind == FUTURE_FUTURE && got.pure == pure && !got.done);
		assert_true(got.callbacks == v.callbacks && !got.coro && !got.name);
		assert_int_equal(read_future(f.loop, &got), -EBADMSG);
		assert_int_equal(got.kind, FUTURE_NONE);
	}
}

static void test_done_or_ready(void **state)
{
	struct fake_future v = { .coro = 0x3333 };
	struct future_fields got;

	EACH_HOME(minor, big, pure) {
		make(minor, big, pure);
		memset(&types, 0, sizeof(types));
		assert_int_equal(read_future(fake_future(&f, true, &v), &got), 0);
		assert_true(!got.done && !got.fut_waiter);	/* None, or NULL */
		v.done = true;
		assert_int_equal(read_future(fake_future(&f, true, &v), &got), 0);
		assert_true(got.done);
		assert_int_equal(read_future(fake_future(&f, false, &v), &got), 0);
		assert_true(got.done);
		v.done = false;
	}
}

/* class Mine(Mixin, Future): tp_base is not Future then. */
static void test_subclasses(void **state)
{
	struct fake_future v = { .coro = 0x3333 };
	struct future_fields got;
	uint64_t bases[3], type;

	EACH_HOME(minor, big, pure) {
		make(minor, big, pure);
		memset(&types, 0, sizeof(types));
		bases[0] = fake_class(&f, "Mixin", true, NULL, 0);
		bases[1] = f.task_type;
		bases[2] = f.future_type;
		type = fake_class(&f, "Mine", true, bases, 3);
		assert_int_equal(read_future(pure ? fake_py_future(&f, type, true, &v) :
						    fake_c_future(&f, type, true, &v), &got), 0);
		assert_true(got.kind == FUTURE_TASK && got.coro == v.coro && got.pure == pure);
		/* asyncio.tasks._PyTask is there, too, if _asyncio is. */
		assert_int_equal(read_future(fake_py_future(&f, f.py_task_type, true, &v), &got),
				 0);
		assert_true(got.kind == FUTURE_TASK && got.coro == v.coro && got.pure);
	}
}

/* A method resolution order that lies about its length, and is not one. */
static void test_hostile_types(void **state)
{
	uint64_t type, mro;

	make(10, false, false);
	memset(&types, 0, sizeof(types));
	py_walk_init(&walk, &f.target, &f.at.objects, TASK_READS_MAX);
	type = fake_class(&f, "Mine", true, &f.task_type, 1);
	mro = fake_see(&f, type + f.t.head + PY_TYPE_MRO);
	fake_put(&f, mro + f.t.head, UINT64_MAX);
	assert_int_equal(future_kind(&walk, &f.at.homes, &types,
				     fake_object(&f.t, type, 8)), FUTURE_TASK);
	memset(&types, 0, sizeof(types));
	fake_put(&f, type + f.t.head + PY_TYPE_MRO, type);
	assert_int_equal(future_kind(&walk, &f.at.homes, &types,
				     fake_object(&f.t, type, 8)), FUTURE_NONE);
	assert_int_equal(future_kind(&walk, &f.at.homes, &types, 0), FUTURE_NONE);
	assert_int_equal(future_kind(&walk, &f.at.homes, &types, 8), FUTURE_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_python_classes_beside_c),
		cmocka_unit_test(test_other_versions),
		cmocka_unit_test(test_fields_behind_the_head),
		cmocka_unit_test(test_not_loaded),
		cmocka_unit_test(test_interpreters),
		cmocka_unit_test(test_each_read_fails),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_done_or_ready),
		cmocka_unit_test(test_subclasses),
		cmocka_unit_test(test_hostile_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
