// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_asyncio_tasks.c - asyncio's tasks out of memory that stays, that changes, and that lies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "asyncio/task_read.h"
#include "base/util.h"
#include "tests/unit/asyncio/fake_tasks.h"

static struct fake_tasks f;
static struct tasks_batch batch;
static struct task_lists lists;

static void make(unsigned int minor)
{
	assert_true(fake_tasks_make(&f, minor, ""));
}

static const struct task_row *read_one(void)
{
	assert_int_equal(tasks_read(&f.target, &f.at, UINT64_MAX, &batch), 0);
	assert_int_equal(batch.end, TASKS_DONE);
	assert_int_equal(batch.row_cnt, 1);
	return &batch.rows[0];
}

/* A coroutine that awaits another one that awaits a future. */
static uint64_t two_coros(uint64_t outer_code, uint64_t inner_code)
{
	uint64_t future = fake_object(&f, f.types[FAKE_INT], 64);
	uint64_t inner = fake_coro(&f, FAKE_CORO, inner_code, 20, future);

	return fake_coro(&f, FAKE_CORO, outer_code, 10, inner);
}

/* The future that the innermost coroutine awaits, if C made it: by its iterator. */
static void test_awaited_future(void **state)
{
	static const char *const types[] = { "_asyncio.FutureIter", "_asyncio.FutureIters", "F" };
	uint64_t code, object;
	unsigned int minor;
	size_t i;

	for (minor = 14; minor <= 15; minor++) {
		make(minor);
		code = fake_code(&f, "work");
		for (i = 0; i < ARRAY_SIZE(types); i++) {
			struct task_row row = { 0 };
			struct task_read t = { .row = &row, .future = 1 };
			struct task_reader r = { .at = &f.at };

			py_walk_init(&r.walk, &f.target, &f.at.objects, 1000);
			object = fake_object(&f, fake_type(&f, types[i], 0), 64);
			fake_word(&f, object + r.walk.head, 0x1230);
			task_coros_read(&r, &t, fake_coro(&f, FAKE_CORO, code, 10, object));
			assert_true(t.coro_cnt == 1 && t.awaits == object);
			assert_int_equal(t.future, i ? 0 : 0x1230);
		}
	}
}

static void test_lists(void **state)
{
	uint64_t other, task, head;

	make(14);
	assert_int_equal(task_lists_read(&f.target, &f.at, &lists), 0);
	assert_int_equal(lists.cnt, 0);
	task = fake_task(&f, fake_int(&f, 1), 0);
	fake_word(&f, f.thread + f.at.async.task.ts_running_task, task);
	other = fake_alloc(&f, 2048);		/* a newer thread comes first in the interpreter */
	fake_word(&f, f.interp + f.at.l.interp_threads_head, other);
	fake_word(&f, other + f.at.l.ts_next, f.thread);
	fake_word(&f, other + f.at.objects.ts_native_id, 200);
	fake_word(&f, other + f.at.async.task.ts_tasks_head, task);
	head = f.interp + f.at.async.task.interp_tasks_head;
	fake_word(&f, head, task);
	assert_int_equal(task_lists_read(&f.target, &f.at, &lists), 0);
	assert_int_equal(lists.cnt, 3);
	assert_true(lists.list[0].tid == 200 && !lists.list[0].main && !lists.list[0].running);
	assert_true(lists.list[1].tid == 100 && lists.list[1].main);
	assert_true(lists.list[1].head == fake_head(&f) && lists.list[1].running == task);
	assert_true(lists.list[2].tid == 0 && lists.list[2].head == head && !lists.cut);
}

/* Threads whose list, or interpreters, lead back into themselves. */
static void test_endless_lists(void **state)
{
	make(15);
	fake_task(&f, fake_int(&f, 1), 0);
	fake_word(&f, f.thread + f.at.l.ts_next, f.thread);
	fake_word(&f, f.interp + f.at.l.interp_next, f.interp);
	assert_int_equal(task_lists_read(&f.target, &f.at, &lists), 0);
	assert_true(lists.cut && lists.cnt == TASK_LISTS_MAX);
	assert_true(f.reads <= 65536);
	fake_word(&f, f.at.interps, 1);
	assert_int_equal(task_lists_read(&f.target, &f.at, &lists), 0);
	assert_true(lists.cut && !lists.cnt);
}

static void test_names(void **state)
{
	static const struct {
		uint64_t n;
		const char *name;
	} ints[] = {
		{ 0, "Task-0" }, { 7, "Task-7" }, { 1073741824, "Task-1073741824" },
		{ 1ull << 62, "Task-4611686018427387904" },
	};
	char text[400];
	size_t i;

	for (i = 0; i < 4; i++) {
		make(14 + i % 2);
		fake_task(&f, fake_int(&f, ints[i].n), 0);
		assert_string_equal(read_one()->name, ints[i].name);
	}
	make(14);
	fake_task(&f, fake_str(&f, "fetch \xe4"), 0);	/* as Latin-1 */
	assert_string_equal(read_one()->name, "fetch \xc3\xa4");
	make(14);
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	fake_task(&f, fake_str(&f, text), 0);
	assert_int_equal(strlen(read_one()->name), TASK_NAME_BYTES - 1);
	make(14);
	fake_task(&f, fake_object(&f, f.types[FAKE_CORO], 64), 0);	/* neither str nor int */
	assert_int_equal(read_one()->flags, TASK_NAMELESS);
	assert_string_equal(batch.rows[0].name, "");
}

/* 3.14 and 3.15 keep the awaited object in other places, and number states differently. */
static void test_chain(void **state)
{
	static const char *const builds[] = { "", "t" };
	uint64_t outer, inner;
	unsigned int minor, ft;

	for (minor = 14; minor <= 15; minor++)
		for (ft = 0; ft < 2; ft++) {
			assert_true(fake_tasks_make(&f, minor, builds[ft]));
			outer = fake_code(&f, "outer");
			inner = fake_code(&f, "inner");
			fake_task(&f, fake_int(&f, 1), two_coros(outer, inner));
			assert_int_equal(read_one()->frame_cnt, 2);
			assert_int_equal(batch.rows[0].flags, 0);
			assert_true(batch.frames[0].code == outer && batch.frames[0].lasti == 10);
			assert_true(batch.frames[1].code == inner && batch.frames[1].lasti == 20);
			assert_true(batch.frames[0].id & 1 && batch.frames[1].id & 1);
		}
}

/* The frames alone, innermost first, and whether one of them has gone on. */
static void test_frames_of_one(void **state)
{
	const struct async_coroutine_layout *c = &f.at.async.coro;
	struct task_reader r = { .at = &f.at };
	struct py_frame frames[TASK_FRAMES_MAX];
	uint64_t outer, inner, coro, task, where, now;
	bool whole;

	for (unsigned int minor = 14; minor <= 15; minor++) {
		make(minor);
		py_walk_init(&r.walk, &f.target, &f.at.objects, 1000);
		outer = fake_code(&f, "outer");
		inner = fake_code(&f, "inner");
		coro = two_coros(outer, inner);
		task = fake_task(&f, fake_int(&f, 1), coro);
		assert_int_equal(task_frames_read(&r, task, frames, &whole, &where), 2);
		assert_true(whole && frames[0].code == inner && frames[1].code == outer);
		assert_int_equal(frames[1].addr, coro + c->gen_frame);
		assert_int_equal(task_frames_read(&r, task, frames, &whole, &now), 2);
		assert_int_equal(now, where);
		fake_word(&f, frames[0].addr + f.at.l.fr_ip, inner + f.at.l.co_code + 22);
		task_frames_read(&r, task, frames, &whole, &now);
		assert_true(whole && now != where);
		fake_set(&f, coro + c->gen_state, &c->state_executing, 1);
		assert_int_equal(task_frames_read(&r, task, frames, &whole, &now), 1);
		assert_false(whole);
		assert_int_equal(task_frames_read(&r, 16, frames, &whole, &now), 0);
		assert_false(whole);
	}
}

/* An asynchronous generator is reached by its step only; a coroutine of another type never. */
static void test_async_generator(void **state)
{
	uint64_t code, agen, step, coro;

	make(15);
	code = fake_code(&f, "f");
	agen = fake_coro(&f, FAKE_AGEN, code, 30, two_coros(code, code));
	step = fake_object(&f, f.types[FAKE_ASEND], 64);
	fake_word(&f, step + f.at.async.coro.ob_type + 8, agen);
	fake_task(&f, fake_int(&f, 1), fake_coro(&f, FAKE_CORO, code, 10, step));
	assert_int_equal(read_one()->frame_cnt, 4);
	assert_int_equal(batch.frames[1].lasti, 30);
	fake_word(&f, step + f.at.async.coro.ob_type + 8, step);	/* a step to itself */
	assert_int_equal(read_one()->frame_cnt, 1);
	make(14);
	code = fake_code(&f, "f");
	coro = fake_coro(&f, FAKE_CORO, code, 10, fake_coro(&f, FAKE_AGEN, code, 20, 0));
	fake_task(&f, fake_int(&f, 1), coro);
	assert_int_equal(read_one()->frame_cnt, 1);
	fake_word(&f, coro + f.at.async.coro.ob_type, f.types[FAKE_STR]);
	assert_int_equal(read_one()->frame_cnt, 0);
}

static void test_endless_chain(void **state)
{
	uint64_t coro;

	make(14);
	coro = fake_coro(&f, FAKE_CORO, fake_code(&f, "f"), 10, 1);
	fake_word(&f, coro + f.at.async.coro.gen_frame + f.at.l.fr_bytes + 64 - 8, coro);
	fake_task(&f, fake_int(&f, 1), coro);
	assert_int_equal(read_one()->frame_cnt, TASK_FRAMES_MAX);
	assert_int_equal(batch.rows[0].flags, TASK_CUT);
}

static void test_executing(void **state)
{
	uint64_t coro;

	make(15);
	coro = two_coros(fake_code(&f, "f"), fake_code(&f, "g"));
	fake_task(&f, fake_int(&f, 1), coro);
	fake_set(&f, coro + f.at.async.coro.gen_state, &f.at.async.coro.state_executing, 1);
	assert_int_equal(read_one()->flags, TASK_EXECUTING);
	assert_int_equal(batch.rows[0].frame_cnt, 1);
}

static void test_waiters(void **state)
{
	static uint64_t many[3];
	uint64_t task;
	uint32_t i;

	make(14);
	task = fake_task(&f, fake_int(&f, 1), 0);
	fake_await(&f, task, 4711, false);
	assert_int_equal(read_one()->waiter_cnt, 1);
	assert_int_equal(batch.waiters[0], 4711);
	for (i = 0; i < 3; i++)
		many[i] = 100 + i;
	fake_await(&f, task, fake_set_of(&f, many, 3, 8), true);
	assert_int_equal(read_one()->waiter_cnt, 3);
	assert_memory_equal(batch.waiters, many, sizeof(many));
	assert_int_equal(batch.rows[0].flags, 0);
}

/* A set with more waiters than are listed, one with impossible sizes, and one that never ends. */
static void test_hostile_sets(void **state)
{
	static uint64_t many[TASK_WAITERS_MAX + 1];
	const struct async_coroutine_layout *c = &f.at.async.coro;
	uint64_t task, set;
	uint32_t i;

	make(14);
	for (i = 0; i <= TASK_WAITERS_MAX; i++)
		many[i] = i + 1;
	task = fake_task(&f, fake_int(&f, 1), 0);
	set = fake_set_of(&f, many, TASK_WAITERS_MAX + 1, 32768);
	fake_await(&f, task, set, true);
	assert_int_equal(read_one()->waiter_cnt, TASK_WAITERS_MAX);
	assert_int_equal(batch.rows[0].flags, TASK_CUT);
	fake_word(&f, set + c->set_used, UINT64_MAX);
	assert_true(read_one()->flags & TASK_MOVED);
	make(14);
	task = fake_task(&f, fake_int(&f, 1), 0);
	set = fake_set_of(&f, many, 1, 65536);
	fake_await(&f, task, set, true);
	fake_word(&f, set + c->set_used, 65536);
	fake_word(&f, set + c->set_mask, UINT64_MAX >> 1);
	f.reads = 0;
	assert_true(read_one()->flags & TASK_CUT);
	assert_true(f.reads < 3 * 65536 / 256 + 100);
}

static void test_batches(void **state)
{
	uint64_t name, code;
	uint32_t i, sum = 0;

	make(14);
	code = fake_code(&f, "f");
	name = fake_int(&f, 5);
	for (i = 0; i < 1300; i++)
		fake_task(&f, name, fake_coro(&f, FAKE_CORO, code, 2, 0));
	do {
		assert_int_equal(tasks_read(&f.target, &f.at, UINT64_MAX, &batch), 0);
		assert_true(batch.row_cnt <= TASKS_BATCH && batch.frame_cnt == batch.row_cnt);
		sum += batch.row_cnt;
		f.at.node = batch.next;
	} while (batch.end == TASKS_MORE);
	assert_int_equal(batch.end, TASKS_DONE);
	assert_int_equal(sum, 1300);
	f.at.node = 0;
	assert_int_equal(tasks_read(&f.target, &f.at, 0, &batch), 0);	/* it is late */
	assert_true(batch.row_cnt == 1 && batch.end == TASKS_MORE);
	f.at.max = 3;
	assert_int_equal(tasks_read(&f.target, &f.at, UINT64_MAX, &batch), 0);
	assert_int_equal(batch.row_cnt, 3);
	f.at.max = 0;
	f.at.count = 1;
	f.reads = 0;
	assert_int_equal(tasks_read(&f.target, &f.at, UINT64_MAX, &batch), 0);
	assert_true(!batch.row_cnt && batch.counted == 1300 && batch.end == TASKS_DONE);
	assert_int_equal(f.reads, 1301);
}

/* ---- memory that changes ---- */

static uint64_t nodes[8], when;
static unsigned int gone_from, gone_to;

/* When the task at `when` is read, tasks end. */
static void end_tasks(struct fake_tasks *fake, uint64_t addr)
{
	if (addr != when)
		return;
	when = 0;
	for (unsigned int i = gone_from; i < gone_to; i++)
		fake_unlink(fake, nodes[i]);
}

static void eight_tasks(void)
{
	unsigned int i;

	make(14);
	for (i = 0; i < 8; i++)
		nodes[i] = fake_node(&f, fake_task(&f, fake_int(&f, i), 0));
	f.before = end_tasks;
}

static uint64_t task_at(unsigned int i)
{
	return nodes[i] - f.at.async.task.task_node;
}

/* The task that is read, and some before and behind it, end: the others are all found. */
static void test_tasks_that_end(void **state)
{
	uint32_t i;

	for (gone_from = 0; gone_from < 8; gone_from++)
		for (gone_to = gone_from + 1; gone_to <= 8; gone_to++) {
			eight_tasks();
			when = task_at(gone_to - 1);	/* the last of them */
			assert_int_equal(tasks_read(&f.target, &f.at, UINT64_MAX, &batch), 0);
			if (!gone_from && batch.end == TASKS_LOST)
				continue;	/* no way behind is left */
			assert_int_equal(batch.end, TASKS_DONE);
			for (i = 0; i < batch.row_cnt; i++)
				assert_true(batch.rows[i].addr != task_at(gone_to - 1));
			assert_int_equal(batch.rows[batch.row_cnt - 1].addr,
					 gone_to == 8 ? task_at(gone_to - 2) : task_at(7));
		}
}

/* From the first task on all are gone, and nothing behind leads on: the caller begins again. */
static void test_lost(void **state)
{
	eight_tasks();
	gone_from = 0;
	gone_to = 4;
	when = task_at(0);
	assert_int_equal(tasks_read(&f.target, &f.at, UINT64_MAX, &batch), 0);
	assert_int_equal(batch.end, TASKS_LOST);
	assert_int_equal(batch.row_cnt, 0);
	assert_int_equal(tasks_read(&f.target, &f.at, UINT64_MAX, &batch), 0);
	assert_true(batch.end == TASKS_DONE && batch.row_cnt == 4);
}

static uint64_t coro_moves;
static uint32_t moves;

/* The coroutine goes on, so many times, whenever its bytes are read. */
static void go_on(struct fake_tasks *fake, uint64_t addr)
{
	uint64_t ip = coro_moves + fake->at.async.coro.gen_frame + fake->at.l.fr_ip;

	if (addr != coro_moves || !moves)
		return;
	moves--;
	fake_word(fake, ip, fake_get(fake, ip) + 2);
}

/* A task that moves once is read again; one that never stands still is marked. */
static void test_moved(void **state)
{
	make(15);
	coro_moves = two_coros(fake_code(&f, "f"), fake_code(&f, "g"));
	fake_task(&f, fake_int(&f, 1), coro_moves);
	f.before = go_on;
	moves = 2;
	assert_int_equal(read_one()->flags, 0);
	assert_int_equal(batch.frames[0].lasti, 14);
	moves = UINT32_MAX;
	assert_int_equal(read_one()->flags, TASK_MOVED);
	assert_int_equal(batch.frame_cnt, 2);
}

/* A list that leads into itself without its head: batches go on, and the caller counts. */
static void test_ring(void **state)
{
	eight_tasks();
	fake_word(&f, nodes[7], nodes[2]);
	fake_word(&f, nodes[2] + 8, nodes[7]);
	assert_int_equal(tasks_read(&f.target, &f.at, UINT64_MAX, &batch), 0);
	assert_true(batch.row_cnt <= TASKS_BATCH && batch.end != TASKS_DONE);
}

static void test_unreadable(void **state)
{
	make(14);
	f.at.head = 4096;
	assert_int_equal(tasks_read(&f.target, &f.at, UINT64_MAX, &batch), -EFAULT);
	assert_int_equal(batch.row_cnt, 0);
	make(14);
	fake_word(&f, fake_head(&f), 4096);
	assert_int_equal(tasks_read(&f.target, &f.at, UINT64_MAX, &batch), 0);
	assert_true(batch.end == TASKS_LOST && !batch.row_cnt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_awaited_future),
		cmocka_unit_test(test_lists), cmocka_unit_test(test_endless_lists),
		cmocka_unit_test(test_names), cmocka_unit_test(test_chain),
		cmocka_unit_test(test_frames_of_one), cmocka_unit_test(test_async_generator),
		cmocka_unit_test(test_endless_chain),
		cmocka_unit_test(test_executing), cmocka_unit_test(test_waiters),
		cmocka_unit_test(test_hostile_sets), cmocka_unit_test(test_batches),
		cmocka_unit_test(test_tasks_that_end), cmocka_unit_test(test_lost),
		cmocka_unit_test(test_moved), cmocka_unit_test(test_ring),
		cmocka_unit_test(test_unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
