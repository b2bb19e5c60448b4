// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_asyncio_home_tasks.c - the tasks in asyncio's sets (3.8 to 3.13) out of memory that stays,
 * that changes, and that lies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "asyncio/loop_thread.h"
#include "tests/unit/asyncio/fake_homes.h"

static struct fake_homes f;
static struct tasks_batch batch;
static struct task_lists lists;

static void make(unsigned int minor, bool big, bool pure)
{
	assert_true(fake_homes_make(&f, minor, big, pure));
}

static uint8_t read_tasks(void)
{
	assert_int_equal(tasks_read(&f.target, &f.at, UINT64_MAX, &batch), 0);
	return batch.end;
}

static const struct task_row *read_one(void)
{
	assert_int_equal(read_tasks(), TASKS_DONE);
	assert_int_equal(batch.row_cnt, 1);
	return &batch.rows[0];
}

static void test_lists(void **state)
{
	EACH_HOME(minor, big, pure) {
		make(minor, big, pure);
		assert_int_equal(task_lists_read(&f.target, &f.at, &lists), 0);
		assert_true(!lists.cnt && !lists.cut);
		fake_named_task(&f, 3, "one");
		if (f.eager)
			fake_into(&f, f.eager, 1, f.set);
		assert_int_equal(task_lists_read(&f.target, &f.at, &lists), 0);
		assert_int_equal(lists.cnt, f.eager ? 2 : 1);
		assert_true(lists.list[0].head == (f.eager ? f.eager : f.set));
		assert_true(lists.list[lists.cnt - 1].head == f.set);
		assert_true(lists.list[0].mixed && !lists.list[0].tid && !lists.list[0].running);
	}
}

/* Up to 3.11 interpreters share _asyncio's set: it is one list, of the first interpreter. */
static void test_shared_set(void **state)
{
	make(9, false, false);
	fake_named_task(&f, 3, "one");
	f.at.homes.home[1] = f.at.homes.home[0];
	f.at.homes.home[0].interp_id = 7;
	f.at.homes.cnt = 2;
	assert_int_equal(task_lists_read(&f.target, &f.at, &lists), 0);
	assert_true(lists.cnt == 1 && !lists.list[0].interp_id);
	f.at.homes.cut = 1;
	assert_int_equal(task_lists_read(&f.target, &f.at, &lists), 0);
	assert_true(lists.cut);
}

static void test_one_task(void **state)
{
	const struct task_row *r;
	uint64_t task;

	EACH_HOME(minor, big, pure) {
		make(minor, big, pure);
		task = fake_named_task(&f, 5, "worker");
		r = read_one();
		assert_true(r->addr == task && r->loop == f.loop && r->tid == FAKE_TID);
		assert_string_equal(r->name, "worker");
		assert_int_equal(r->flags, TASK_OF_MAIN);
		assert_true(!r->waiter_cnt && !r->frame_cnt);
		fake_add(&f.t, f.current_keys, f.loop, task);
		assert_int_equal(read_one()->flags, TASK_OF_MAIN | TASK_RUNS);
	}
}

/* In 3.12 and 3.13 a name that nobody set is a number. */
static void test_names(void **state)
{
	EACH_HOME(minor, big, pure) {
		make(minor, big, pure);
		fake_home_task(&f, 0, &(struct fake_future){
			.name = fake_small(&f.t, &f.types, 4711) });
		assert_string_equal(read_one()->name, minor >= 12 ? "Task-4711" : "");
		make(minor, big, pure);
		fake_home_task(&f, 0, &(struct fake_future){ .name = f.loop });
		assert_string_equal(read_one()->name, "");
		assert_true(batch.rows[0].flags & TASK_NAMELESS);
	}
}

/* What asyncio.all_tasks() leaves out, and what is no task. */
static void test_left_out(void **state)
{
	struct fake_future v = { .done = true };

	EACH_HOME(minor, big, pure) {
		make(minor, big, pure);
		v.name = fake_str(&f.t, &f.types, "done");
		fake_home_task(&f, 1, &v);
		fake_into(&f, f.set, 2, fake_ref(&f, f.types.none));	/* it is gone */
		fake_into(&f, f.set, 3, fake_ref(&f, f.loop));
		fake_into(&f, f.set, 4, fake_ref(&f, fake_future(&f, false, &v)));
		fake_into(&f, f.set, 5, 8);				/* unreadable */
		fake_named_task(&f, 6, "removed");
		fake_put(&f, fake_slot(&f, f.set, 6) + 8, UINT64_MAX);
		fake_named_task(&f, 7, "here");
		assert_string_equal(read_one()->name, "here");
		f.at.count = 1;
		assert_int_equal(read_tasks(), TASKS_DONE);
		assert_true(batch.counted == 1 && !batch.row_cnt);
	}
}

static void test_eager(void **state)
{
	uint64_t task;

	make(12, false, false);
	task = fake_future(&f, true, &(struct fake_future){
		.name = fake_str(&f.t, &f.types, "eager") });
	fake_into(&f, f.eager, 2, task);
	f.at.head = f.eager;
	assert_true(read_one()->addr == task && batch.rows[0].flags & TASK_EAGER);
}

/* A loop that no thread runs, one that does not say who does, and one that lies. */
static void test_threads(void **state)
{
	uint64_t uvloop, keys, holder;

	for (unsigned int minor = 8; minor <= 13; minor++) {
		make(minor, false, false);
		uvloop = fake_instance(&f.t, &f.types, "Loop", "_x", f.types.none, NULL, 0);
		f.loop = uvloop;
		fake_named_task(&f, 1, "one");
		assert_true(!read_one()->tid && !batch.rows[0].flags);
		keys = fake_keys(&f.t, false);
		fake_put(&f, f.thread + py_thread_dict(minor), fake_dict(&f.t, keys, 0));
		holder = fake_object(&f.t, f.types.thing, 16);
		fake_put(&f, holder + f.t.head, uvloop);
		if (minor == 13)
			fake_put(&f, f.thread + f.at.objects.ts_running_loop, uvloop);
		else
			fake_add(&f.t, keys, fake_str(&f.t, &f.types,
						      "__asyncio_running_event_loop__"),
				 minor < 12 ? holder : uvloop);
		assert_int_equal(read_one()->tid, FAKE_TID);
		assert_int_equal(batch.rows[0].flags, TASK_OF_MAIN);
		fake_put(&f, f.thread + f.at.l.ts_next, f.thread);	/* a circle */
		assert_int_equal(read_one()->tid, FAKE_TID);
		make(minor, false, false);
		f.loop = fake_instance(&f.t, &f.types, "Loop", "_thread_id", f.types.none, NULL,
				       0);
		fake_named_task(&f, 1, "one");
		assert_int_equal(read_one()->tid, 0);
	}
}

/* ---- batches ---- */

static void test_batches(void **state)
{
	char name[32];
	uint32_t i, seen = 0;

	make(11, false, false);
	for (i = 0; i < 7; i++) {
		snprintf(name, sizeof(name), "%u", i);
		fake_named_task(&f, 9 * i, name);
	}
	f.at.max = 3;
	do {
		assert_true(read_tasks() != TASKS_LOST);
		assert_true(batch.row_cnt <= 3);
		for (i = 0; i < batch.row_cnt; i++)
			assert_int_equal(strtoul(batch.rows[i].name, NULL, 10), seen++);
		f.at.node = batch.next;
	} while (batch.end == TASKS_MORE);
	assert_int_equal(seen, 7);
}

/* Without any time left, each call still takes a slot with a task, at least. */
static void test_no_time(void **state)
{
	uint32_t calls, seen = 0;

	make(11, false, false);
	fake_named_task(&f, 0, "a");
	fake_named_task(&f, 1, "b");
	fake_named_task(&f, 60, "c");
	for (calls = 0; calls < 70; calls++) {
		assert_int_equal(tasks_read(&f.target, &f.at, 0, &batch), 0);
		seen += batch.row_cnt;
		assert_true(batch.end != TASKS_LOST && batch.row_cnt <= 1);
		if (batch.end == TASKS_DONE)
			break;
		assert_true(batch.next > f.at.node);
		f.at.node = batch.next;
	}
	assert_true(seen == 3 && calls < 5);
}

static void test_another_table(void **state)
{
	make(11, false, false);
	fake_named_task(&f, 0, "a");
	fake_named_task(&f, 9, "b");
	f.at.max = 1;
	assert_int_equal(read_tasks(), TASKS_MORE);
	f.at.node = batch.next;
	fake_put(&f, f.set + f.t.head + 24, fake_take(&f.t, 16 * FAKE_SLOTS));
	assert_int_equal(read_tasks(), TASKS_LOST);
	assert_int_equal(batch.row_cnt, 0);
	f.at.node = 1;
	assert_int_equal(read_tasks(), TASKS_LOST);
	f.at.node = UINT64_MAX;
	assert_int_equal(read_tasks(), TASKS_LOST);
}

/* The table is replaced between the read of its address and that of its slots. */
static void replace_table(struct fake_homes *fake, uint64_t addr)
{
	if (addr == fake_slot(fake, fake->set, 0))
		fake_put(fake, fake->set + fake->t.head + 24, addr + 16);
}

static void test_table_replaced_meanwhile(void **state)
{
	make(11, false, false);
	fake_named_task(&f, 0, "a");
	f.before = replace_table;
	assert_int_equal(read_tasks(), TASKS_LOST);
	assert_int_equal(batch.row_cnt, 0);
}

/* ---- a task that changes ---- */

static uint64_t changing;
static unsigned int changes;

/* Another callback at each look at the task. */
static void change_task(struct fake_homes *fake, uint64_t addr)
{
	const struct async_fields *a = &fake->at.homes.fields;

	if (addr == changing && changes) {
		changes--;
		fake_put(fake, changing + a->fut_waiter, 0x1000 + changes);
	}
}

static void test_moved(void **state)
{
	make(10, false, false);
	changing = fake_named_task(&f, 0, "a");
	f.before = change_task;
	changes = 2;
	assert_int_equal(read_one()->flags & TASK_MOVED, 0);
	assert_int_equal(changes, 0);
	changes = 1000;
	assert_true(read_one()->flags & TASK_MOVED);
	assert_true(changes > 1000 - 20);
}

/* It ends while it is read. */
static void end_task(struct fake_homes *fake, uint64_t addr)
{
	if (addr == changing && !--changes)
		fake_poke(&fake->t, changing + fake->at.homes.fields.state, 2, 4);
}

static void test_ends_meanwhile(void **state)
{
	make(10, false, false);
	changing = fake_named_task(&f, 0, "a");
	fake_named_task(&f, 1, "b");
	f.before = end_task;
	changes = 1;			/* before it is read again */
	assert_string_equal(read_one()->name, "b");
}

/* ---- lies ---- */

static int read_error(void)
{
	int err = tasks_read(&f.target, &f.at, UINT64_MAX, &batch);

	assert_true(!batch.row_cnt && batch.end == TASKS_LOST && batch.reads <= TASK_READS_MAX);
	return err;
}

static void test_lying_sets(void **state)
{
	uint64_t mask;

	make(8, false, false);
	mask = f.set + f.t.head + 16;
	fake_named_task(&f, 0, "a");
	fake_put(&f, mask, (1ull << 60) - 1);
	assert_int_equal(read_error(), -EBADMSG);
	fake_put(&f, mask, 62);				/* not a power of two less 1 */
	assert_int_equal(read_error(), -EBADMSG);
	fake_put(&f, mask, UINT64_MAX);
	assert_int_equal(read_error(), -EBADMSG);
	fake_put(&f, mask, HOME_SLOTS_MAX - 1);
	fake_put(&f, mask + 8, 8);			/* the table */
	assert_int_equal(read_error(), -EFAULT);
	fake_put(&f, mask, 7);
	fake_put(&f, f.set + f.t.head + 8, 9);		/* more entries than slots */
	assert_int_equal(read_error(), -EBADMSG);
	assert_int_equal(task_lists_read(&f.target, &f.at, &lists), 0);
	assert_true(lists.cut && !lists.cnt);
	f.at.head = f.loop;				/* no set that was found */
	assert_int_equal(read_error(), -ENOENT);
	f.at.head = 0;
	assert_int_equal(read_error(), -ENOENT);
}

/* Weak references to weak references, to themselves, to the set; a task that awaits itself. */
static void test_circles(void **state)
{
	const struct async_fields *a = &f.at.homes.fields;
	uint64_t ref, task;
	uint32_t i;

	EACH_HOME(minor, big, pure) {
		make(minor, big, pure);
		ref = fake_ref(&f, 0);
		fake_put(&f, ref + f.t.head, ref);
		fake_into(&f, f.set, 0, ref);
		fake_into(&f, f.set, 1, fake_ref(&f, ref));
		fake_into(&f, f.set, 2, fake_ref(&f, f.set));
		task = fake_named_task(&f, 3, "one");
		fake_into(&f, f.set, 4, task);		/* no reference, but its loop may be it */
		if (!pure) {
			fake_put(&f, task + a->coro, task);
			fake_put(&f, task + a->callback0, task);
			fake_put(&f, task + a->callbacks, task);
			fake_put(&f, task + a->loop, task);
			fake_put(&f, task + a->name, task);
		}
		assert_int_equal(read_tasks(), TASKS_DONE);
		assert_int_equal(batch.row_cnt, pure ? 1 : 2);
		for (i = 0; i < batch.row_cnt; i++)
			assert_true(batch.rows[i].addr == task);
	}
}

/*
 * A million tasks: slots of a table that has no end lead to one task. Each batch has its limits,
 * and the position goes on.
 */
#define TABLE 0x4000000000ull
#define TABLE_SLOTS (1ull << 21)
static uint64_t the_ref;

static int endless_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct slot {
		uint64_t key, hash;
	} *slots = buf;
	size_t i;

	if (addr < TABLE || addr >= TABLE + 16 * TABLE_SLOTS)
		return fake_homes_read(ctx, addr, buf, len);
	for (i = 0; i < len / 16; i++)
		slots[i] = (struct slot){ i & 1 ? the_ref : 0, i };
	return 0;
}

static void test_million(void **state)
{
	uint64_t rows = 0, calls;

	make(13, false, false);
	the_ref = fake_ref(&f, fake_future(&f, true, &(struct fake_future){
		.name = fake_small(&f.t, &f.types, 1) }));
	f.target.read = endless_read;
	fake_put(&f, f.set + f.t.head + 8, TABLE_SLOTS / 2);
	fake_put(&f, f.set + f.t.head + 16, TABLE_SLOTS - 1);
	fake_put(&f, f.set + f.t.head + 24, TABLE);
	for (calls = 0; calls < 20; calls++) {
		assert_int_equal(read_tasks(), TASKS_MORE);
		assert_true(batch.row_cnt == TASKS_BATCH && batch.reads <= TASK_READS_MAX);
		assert_true(batch.next > f.at.node);
		f.at.node = batch.next;
		rows += batch.row_cnt;
	}
	f.at.node = 0;
	f.at.count = 1;
	assert_int_equal(read_tasks(), TASKS_MORE);
	assert_true(batch.counted > 10000 && batch.reads <= TASK_READS_MAX);
}

/* Whatever read fails, the batch is well-formed. */
static void test_each_read_fails(void **state)
{
	uint32_t reads, i;
	int err;

	make(12, true, true);
	fake_named_task(&f, 0, "a");
	fake_named_task(&f, 9, "b");
	f.t.reads = 0;
	assert_int_equal(read_tasks(), TASKS_DONE);
	reads = f.t.reads;
	for (i = 1; i <= reads; i++) {
		f.t.reads = 0;
		f.t.fail_at = i;
		err = tasks_read(&f.target, &f.at, UINT64_MAX, &batch);
		assert_true(batch.row_cnt <= 2 && (!err || !batch.row_cnt));
		assert_true(err ? batch.end == TASKS_LOST : batch.end == TASKS_DONE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_shared_set),
		cmocka_unit_test(test_one_task),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_eager),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_batches),
		cmocka_unit_test(test_no_time),
		cmocka_unit_test(test_another_table),
		cmocka_unit_test(test_table_replaced_meanwhile),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_ends_meanwhile),
		cmocka_unit_test(test_lying_sets),
		cmocka_unit_test(test_circles),
		cmocka_unit_test(test_million),
		cmocka_unit_test(test_each_read_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
