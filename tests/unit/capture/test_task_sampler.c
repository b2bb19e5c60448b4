// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_task_sampler.c - time of waiting tasks: sums are right whatever a step walks. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "capture/task_sampler.h"

#define STEP_NS 100000000ull

/* Task i is at i + 1, and stands at code 1000 + i. Task 0 awaits all others, or as deep[] says. */
static struct {
	uint32_t cnt, lists;
	bool chain;		/* each task awaits the next one */
	bool ring;		/* ... and the last one the first */
	uint64_t running;
	uint32_t fails;		/* so many reads of tasks fail */
	uint32_t lost;		/* so many counts lose their way */
	bool mixed;		/* a list of three threads' tasks: that of task i is 20 + i % 3 */
	bool sparse;		/* each second batch has no tasks, but goes on */
	bool orphans;		/* awaiting tasks that are not in the batch are unreadable */
} fake;

static struct task_sampler *sampler;
static uint64_t sum_ns, calls, deepest, parents, parent_calls, cuts;
static uint64_t thread_ns[3], locks_ns;

static int read_lists(pid_t tgid, const struct tasks_at *at, const struct task_lists **out)
{
	static struct task_lists lists;
	uint32_t i;

	lists.cnt = fake.lists;
	for (i = 0; i < fake.lists; i++)
		lists.list[i] = (struct task_list){ .head = 1ull << 40 | i,
						    .tid = fake.mixed ? 0 : 7 + i,
						    .running = fake.mixed ? 0 : fake.running,
						    .mixed = fake.mixed };
	*out = &lists;
	return 0;
}

static uint64_t waiter_of(uint32_t i)
{
	if (fake.chain)
		return i ? i : fake.ring ? fake.cnt : 0;
	return i ? 1 : 0;
}

/* What only a mixed list's rows have. */
static void mix(struct task_row *r, uint32_t i)
{
	r->tid = 20 + i % 3;
	r->flags = r->addr == fake.running ? TASK_RUNS : 0;
	r->waits.kind = i % 2 ? WAITS_LOCK : WAITS_UNKNOWN;
}

static void add_row(struct tasks_batch *b, uint32_t i)
{
	struct task_row *r = &b->rows[b->row_cnt++];

	*r = (struct task_row){ .addr = i + 1, .frame_at = b->frame_cnt, .frame_cnt = 1,
				.waiter_at = b->waiter_cnt };
	if (fake.mixed)
		mix(r, i);
	b->frames[b->frame_cnt++] = (struct raw_frame){ .code = 1000 + i };
	if (waiter_of(i))
		b->waiters[b->waiter_cnt + r->waiter_cnt++] = waiter_of(i);
	b->waiter_cnt += r->waiter_cnt;
}

static int read_ones(const struct tasks_at *at, struct tasks_batch *b)
{
	uint32_t i;

	assert_true(at->one_cnt <= TASK_ONES_MAX && !at->waits && !at->count);
	parents += at->one_cnt;
	parent_calls++;
	if (fake.orphans)
		return -EBUSY;
	for (i = 0; i < at->one_cnt; i++)
		add_row(b, (uint32_t)at->ones[i] - 1);
	b->end = TASKS_DONE;
	return 0;
}

static int read_tasks(pid_t tgid, const struct tasks_at *at, const struct tasks_batch **out)
{
	static struct tasks_batch b;
	uint32_t i = at->node ? (uint32_t)at->node - 1 : 0, max = at->max ? at->max : TASKS_BATCH;
	static bool empty;

	b.row_cnt = b.frame_cnt = b.waiter_cnt = b.counted = 0;
	b.reads = 10;
	b.end = TASKS_MORE;
	*out = &b;
	if (fake.fails && fake.fails--)
		return -EBUSY;
	if (at->one_cnt)
		return read_ones(at, &b);
	assert_true(at->waits);
	empty = fake.sparse && !at->count && !empty;
	if (empty)
		max = 0;
	for (; i < fake.cnt && (at->count ? b.counted < 10000 : b.row_cnt < max); i++) {
		b.counted += at->count;
		if (!at->count)
			add_row(&b, i);
	}
	b.next = i + 1;
	if (at->count && fake.lost && i == fake.cnt && fake.lost--)
		b.end = TASKS_LOST;
	else
	if (i == fake.cnt)
		b.end = TASKS_DONE;
	return 0;
}

static int take(void *ctx, const struct task_wait *w)
{
	assert_true(w->frame_cnt && w->frame_cnt <= TASK_CHAIN_FRAMES && w->tid >= 7);
	cuts += w->cut;
	if (!fake.chain && !w->cut)
		assert_true(w->frame_cnt == 2 && w->frames[1].code == 1000);
	if (fake.mixed) {
		assert_int_equal(w->tid, 20 + (w->frames[0].code - 1000) % 3);
		thread_ns[w->tid - 20] += w->ns;
		locks_ns += w->waits->kind == WAITS_LOCK ? w->ns : 0;
	}
	deepest = w->frame_cnt > deepest ? w->frame_cnt : deepest;
	sum_ns += w->ns;
	calls++;
	return 0;
}

static void run(uint32_t steps)
{
	static const struct task_source source = { read_lists, read_tasks };
	const struct tasks_at at = { .node = 0 };
	uint64_t now = 5000000000ull;
	uint32_t i;

	sum_ns = calls = deepest = parents = parent_calls = cuts = locks_ns = 0;
	memset(thread_ns, 0, sizeof(thread_ns));
	sampler = task_sampler_new(&source, 1, &at);
	assert_non_null(sampler);
	for (i = 0; i <= steps; i++, now += STEP_NS)
		assert_int_equal(task_sampler_step(sampler, now, take, NULL), 0);
}

static void begin(uint32_t cnt)
{
	memset(&fake, 0, sizeof(fake));
	fake.cnt = cnt;
	fake.lists = 1;
}

/* All tasks but the one that awaits them, in each step. */
static void test_few(void **state)
{
	begin(11);
	run(20);
	assert_int_equal(calls, 200);
	assert_int_equal(sum_ns, 10 * 20 * STEP_NS);
	task_sampler_free(sampler);
}

/* Far more than a step walks: all time is there, of all tasks, and only some are read. */
static void test_many(void **state)
{
	uint64_t want;

	begin(50000);
	run(100);
	want = 50000ull * 100 * STEP_NS;
	assert_in_range(sum_ns, want / 100 * 98, want / 100 * 102);
	/* it counts first */
	assert_in_range(calls, 95 * (TASKS_A_STEP - 2), 100 * TASKS_A_STEP);
	assert_in_range(parents, 1, 101);	/* the one that awaits them, once in a step */
	task_sampler_free(sampler);
}

/* A list whose end is not reached is counted again. */
static void test_lost_count(void **state)
{
	uint64_t want = 30000ull * 60 * STEP_NS;

	begin(30000);
	fake.lost = TASK_COUNTS - 1;
	run(60);
	assert_int_equal(fake.lost, 0);
	assert_in_range(sum_ns, want / 100 * 97, want / 100 * 103);
	task_sampler_free(sampler);
}

/* Steps in which nothing can be read lose no time. */
static void test_failures(void **state)
{
	begin(11);
	fake.fails = 7;
	run(20);
	assert_int_equal(sum_ns, 10 * 13 * STEP_NS);	/* nothing is known before the first read */
	assert_int_equal(task_sampler_stats(sampler)->unread, 7);
	fake.fails = 5;
	sum_ns = 0;
	for (uint64_t i = 1; i <= 6; i++)
		assert_int_equal(task_sampler_step(sampler, 5000000000ull + (20 + i) * STEP_NS,
						   take, NULL), 0);
	assert_int_equal(sum_ns, 10 * 6 * STEP_NS);
	task_sampler_free(sampler);
}

static void test_running(void **state)
{
	begin(11);
	fake.running = 3;
	run(10);
	assert_int_equal(sum_ns, 9 * 10 * STEP_NS);
	task_sampler_free(sampler);
}

/* Up to 3.13: a list of several threads. Each task says whose it is, and whether it runs. */
static void test_mixed(void **state)
{
	begin(13);
	fake.mixed = true;
	run(10);
	for (int i = 0; i < 3; i++)
		assert_int_equal(thread_ns[i], 4 * 10 * STEP_NS);
	assert_int_equal(locks_ns, 6 * 10 * STEP_NS);
	task_sampler_free(sampler);
	begin(13);
	fake.mixed = true;
	fake.running = 6;
	run(10);
	assert_int_equal(thread_ns[2], 3 * 10 * STEP_NS);
	assert_int_equal(sum_ns, 11 * 10 * STEP_NS);
	assert_int_equal(locks_ns, 5 * 10 * STEP_NS);
	task_sampler_free(sampler);
}

/* A batch of a sparse set may have no tasks: the next one has their time, too. */
static void test_sparse(void **state)
{
	uint64_t want = 5000ull * 400 * STEP_NS;

	begin(5000);
	fake.mixed = fake.sparse = true;
	run(400);
	assert_in_range(sum_ns, want / 100 * 96, want / 100 * 104);
	task_sampler_free(sampler);
}

/* A chain whose awaiting task cannot be read says that it is cut. */
static void test_unread_parents(void **state)
{
	begin(5000);
	fake.orphans = true;
	run(400);
	assert_true(cuts && cuts < calls && task_sampler_stats(sampler)->cut == cuts);
	task_sampler_free(sampler);
}

/* A chain of tasks that begins in other batches: it is read level by level. */
static void test_parents_of_parents(void **state)
{
	begin(2000);
	fake.chain = true;
	run(200);
	assert_true(calls && parent_calls && parents <= parent_calls * TASK_ONES_MAX);
	assert_int_equal(deepest, TASK_CHAIN_MAX);
	task_sampler_free(sampler);
}

/* A chain of tasks: the last one waits, and its stack has all; or as many as fit. */
static void test_chain(void **state)
{
	begin(20);
	fake.chain = true;
	run(3);
	assert_true(calls == 3 && deepest == 20 && !task_sampler_stats(sampler)->cut);
	task_sampler_free(sampler);
	begin(500);
	fake.chain = true;
	run(3);
	assert_int_equal(deepest, TASK_CHAIN_MAX);
	assert_int_equal(task_sampler_stats(sampler)->cut, 3);
	task_sampler_free(sampler);
	begin(20);
	fake.chain = fake.ring = true;
	run(3);
	assert_int_equal(calls, 0);	/* each awaits another one: none waits for anything else */
	task_sampler_free(sampler);
}

/* More loops than a step has batches: each has its time. */
static void test_many_loops(void **state)
{
	uint64_t want = 10 * 10 * 400 * STEP_NS;

	begin(11);
	fake.lists = 10;
	run(400);
	assert_in_range(sum_ns, want / 100 * 98, want);
	task_sampler_free(sampler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few), cmocka_unit_test(test_many),
		cmocka_unit_test(test_lost_count), cmocka_unit_test(test_failures),
		cmocka_unit_test(test_running),
		cmocka_unit_test(test_mixed), cmocka_unit_test(test_sparse),
		cmocka_unit_test(test_unread_parents), cmocka_unit_test(test_parents_of_parents),
		cmocka_unit_test(test_chain), cmocka_unit_test(test_many_loops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
