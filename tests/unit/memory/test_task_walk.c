// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_task_walk.c - lists of tasks that are long, change, lead into themselves and lie. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "memory/task_walk.h"

/* A list of so many tasks: task i is at i + 1, and its node, too. */
static struct {
	uint32_t cnt, frames, waiters;
	uint32_t ring;		/* after the last task follows this one; 0: the end */
	uint32_t lost;		/* so many rounds lose their way, */
	uint32_t lost_at;	/* after so many tasks */
	uint32_t reads;		/* that a batch takes */
	uint32_t sparse;	/* so many batches have no task */
	int err, lists_err;
	uint8_t cut, mixed;
} fake;

static struct task_lists lists;
static struct tasks_batch batch;
static uint32_t calls;
static struct task_set set;

static int read_lists(pid_t tgid, const struct tasks_at *at, const struct task_lists **out)
{
	lists = (struct task_lists){
		.cnt = 1, .cut = fake.cut,
		.list = { { .head = 1u << 30, .running = 3, .tid = 7, .main = 1,
			    .mixed = fake.mixed } },
	};
	*out = &lists;
	return fake.lists_err;
}

static void add(uint32_t i)
{
	struct task_row *r = &batch.rows[batch.row_cnt++];

	*r = (struct task_row){
		.addr = i + 1, .frame_at = batch.frame_cnt, .frame_cnt = fake.frames,
		.waiter_at = batch.waiter_cnt, .waiter_cnt = fake.waiters,
		.tid = i % 3, .flags = i % 5 ? 0 : TASK_RUNS | TASK_OF_MAIN, .loop = i + 9,
		.waits = { .kind = WAITS_SOCKET, .fd = (int32_t)i },
		.order = fake.cnt - i,
	};
	snprintf(r->name, sizeof(r->name), "Task-%u", i);
	batch.frame_cnt += fake.frames;
	batch.waiter_cnt += fake.waiters;
}

static int read_tasks(pid_t tgid, const struct tasks_at *at, const struct tasks_batch **out)
{
	uint32_t i = at->node ? (uint32_t)at->node - 1 - fake.sparse : 0;

	calls++;
	memset(batch.rows, 0, sizeof(batch.rows));
	batch.row_cnt = batch.frame_cnt = batch.waiter_cnt = 0;
	batch.end = TASKS_MORE;
	batch.reads = fake.reads;
	*out = &batch;
	if (calls <= fake.sparse) {
		batch.next = 1 + calls;
		return 0;
	}
	while (batch.row_cnt < TASKS_BATCH && i < fake.cnt &&
	       batch.frame_cnt + fake.frames <= TASKS_BATCH_FRAMES &&
	       batch.waiter_cnt + fake.waiters <= TASKS_BATCH_WAITERS) {
		if (fake.lost && i == fake.lost_at) {
			fake.lost--;
			batch.end = TASKS_LOST;
			return fake.err;
		}
		add(i++);
		if (i == fake.cnt && fake.ring)
			i = fake.ring;
	}
	batch.next = i + 1 + fake.sparse;
	if (i == fake.cnt)
		batch.end = TASKS_DONE;
	return fake.err;
}

static const struct task_source source = { read_lists, read_tasks };

static int walk(void)
{
	const struct tasks_at at = { .node = 0 };

	calls = 0;
	return task_walk(&source, 1, &at, &set);
}

static void begin(uint32_t cnt)
{
	memset(&fake, 0, sizeof(fake));
	fake.cnt = cnt;
}

static void test_all(void **state)
{
	uint32_t i;

	begin(2000);
	fake.frames = 3;
	fake.waiters = 2;
	assert_int_equal(walk(), 0);
	assert_int_equal(set.cnt, 2000);
	assert_true(set.frame_cnt == 6000 && set.waiter_cnt == 4000 && !set.cut && !set.changed);
	for (i = 0; i < 2000; i++) {
		assert_int_equal(task_set_find(&set, i + 1), i);
		assert_true(set.tasks[i].running == (i == 2) && set.tasks[i].tid == 7);
		assert_true(set.tasks[i].frame_cnt == 3 && set.tasks[i].waiter_at == 2 * i);
	}
	assert_string_equal(set.tasks[1999].name, "Task-1999");
	assert_int_equal(task_set_find(&set, 2001), UINT32_MAX);
	task_set_free(&set);
}

static void test_sorted(void **state)
{
	uint32_t i;

	begin(1500);
	assert_int_equal(walk(), 0);
	assert_int_equal(task_set_sort(&set), 0);
	for (i = 0; i < 1500; i++) {
		assert_true(set.tasks[i].order == i + 1 && set.tasks[i].addr == 1500 - i);
		assert_int_equal(task_set_find(&set, 1500 - i), i);
	}
	task_set_free(&set);
	begin(0);
	assert_int_equal(walk(), 0);
	assert_int_equal(task_set_sort(&set), 0);
	task_set_free(&set);
}

/* Rows of a list of several threads say which, and all say what is copied. */
static void test_mixed(void **state)
{
	uint32_t i;

	begin(700);
	fake.mixed = 1;
	assert_int_equal(walk(), 0);
	assert_int_equal(set.cnt, 700);
	for (i = 0; i < 700; i++) {
		const struct task *t = &set.tasks[i];

		assert_int_equal(t->tid, i % 3);
		assert_true(t->running == !(i % 5) && t->main_thread == !(i % 5));
		assert_true(t->loop == i + 9 && t->waits.kind == WAITS_SOCKET);
		assert_int_equal(t->waits.fd, i);
	}
	task_set_free(&set);
	/* In other lists a row's tid and flags do not say that. */
	fake.mixed = 0;
	assert_int_equal(walk(), 0);
	for (i = 0; i < 700; i++)
		assert_true(set.tasks[i].tid == 7 && set.tasks[i].running == (i == 2) &&
			    set.tasks[i].main_thread && set.tasks[i].loop == i + 9);
	task_set_free(&set);
}

/* A set may have no task in many slots, but not for ever. */
static void test_sparse(void **state)
{
	begin(700);
	fake.mixed = 1;
	fake.sparse = 500;
	assert_int_equal(walk(), 0);
	assert_true(set.cnt == 700 && !set.changed && calls == 502);
	task_set_free(&set);
	fake.sparse = UINT32_MAX;
	assert_int_equal(walk(), 0);
	assert_true(set.cnt == 0 && set.changed && calls < 20000);
	task_set_free(&set);
	/* Other lists are never empty, and go on. */
	fake.mixed = 0;
	assert_int_equal(walk(), 0);
	assert_true(set.cnt == 0 && set.changed && calls == 1 + TASKS_AGAIN);
	task_set_free(&set);
}

static void test_none(void **state)
{
	begin(0);
	assert_int_equal(walk(), 0);
	assert_true(!set.cnt && !set.changed && !set.cut);
	task_set_free(&set);
	fake.lists_err = -ESRCH;
	assert_int_equal(walk(), -ESRCH);
	task_set_free(&set);
}

/* The way is lost some times: the list is walked again, and no task is there twice. */
static void test_again(void **state)
{
	begin(1500);
	fake.lost = TASKS_AGAIN;
	fake.lost_at = 1000;
	assert_int_equal(walk(), 0);
	assert_true(set.cnt == 1500 && !set.changed);
	task_set_free(&set);
	begin(1500);
	fake.lost = TASKS_AGAIN + 1;
	fake.lost_at = 1000;
	assert_int_equal(walk(), 0);
	assert_true(set.cnt == 1000 && set.changed);
	task_set_free(&set);
}

/* A list that never comes back to its head. */
static void test_ring(void **state)
{
	begin(1000);
	fake.ring = 10;
	assert_int_equal(walk(), 0);
	assert_true(set.cnt == 1000 && set.changed);
	assert_in_range(calls, 1, (TASKS_AGAIN + 1) * 6);
	task_set_free(&set);
}

static void test_too_many(void **state)
{
	begin(TASKS_MAX + 5000);
	assert_int_equal(walk(), 0);
	assert_true(set.cnt == TASKS_MAX && set.cut && !set.changed);
	task_set_free(&set);
	begin(TASKS_MAX);
	fake.frames = 21;
	assert_int_equal(walk(), 0);
	assert_true(set.cnt == TASKS_MAX && set.cut && set.frame_cnt <= TASKS_FRAMES_MAX);
	assert_true(set.tasks[TASKS_MAX - 1].flags & TASK_CUT);
	task_set_free(&set);
	begin(200);
	fake.waiters = TASK_WAITERS_MAX;
	assert_int_equal(walk(), 0);
	assert_true(set.cnt == 200 && set.cut && set.waiter_cnt <= TASKS_WAITERS_MAX);
	task_set_free(&set);
}

/* Each batch takes as many reads as there may be. */
static void test_too_many_reads(void **state)
{
	begin(TASKS_MAX);
	fake.reads = 65536;
	assert_int_equal(walk(), 0);
	assert_true(set.cut && calls == TASKS_READS_MAX / 65536 + 1);
	task_set_free(&set);
}

static void test_cut_and_unreadable(void **state)
{
	begin(10);
	fake.cut = 1;
	assert_int_equal(walk(), 0);
	assert_true(set.cnt == 10 && set.cut);
	task_set_free(&set);
	begin(10);
	fake.err = -EBUSY;
	assert_int_equal(walk(), 0);
	assert_true(!set.cnt && !set.changed && set.unread && calls == 1);
	task_set_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all), cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_sparse),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_sorted),
		cmocka_unit_test(test_again), cmocka_unit_test(test_ring),
		cmocka_unit_test(test_too_many), cmocka_unit_test(test_too_many_reads),
		cmocka_unit_test(test_cut_and_unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
