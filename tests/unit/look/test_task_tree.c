// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_task_tree.c - who is below whom, and that no tree is endless. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "look/task_tree.h"

static struct task_set set;
static uint32_t depths, task_cnt;

/* Task i is at address i + 1, has `frames` coroutines, and is awaited by those of waiters[i]. */
static struct {
	uint32_t cnt, frames, waiter_cnt;
	const uint32_t (*edges)[2];	/* parent, child; by child */
	uint32_t edge_cnt;
} plan;

static int read_lists(pid_t tgid, const struct tasks_at *at, const struct task_lists **out)
{
	static struct task_lists lists = { .cnt = 1, .list = { { .head = 1u << 30 } } };

	*out = &lists;
	return 0;
}

static int read_tasks(pid_t tgid, const struct tasks_at *at, const struct tasks_batch **out)
{
	static struct tasks_batch b;
	static uint32_t edge;
	uint32_t i = at->node ? (uint32_t)at->node - 1 : 0;

	b.row_cnt = b.frame_cnt = b.waiter_cnt = 0;
	b.end = TASKS_DONE;
	*out = &b;
	edge = i ? edge : 0;
	for (; i < plan.cnt && b.row_cnt < TASKS_BATCH; i++) {
		struct task_row *r = &b.rows[b.row_cnt++];

		*r = (struct task_row){ .addr = i + 1, .frame_at = b.frame_cnt,
					.frame_cnt = plan.frames, .waiter_at = b.waiter_cnt };
		b.frame_cnt += plan.frames;
		for (; edge < plan.edge_cnt && plan.edges[edge][1] == i; edge++, r->waiter_cnt++)
			b.waiters[b.waiter_cnt++] = plan.edges[edge][0] + 1;
	}
	if (i < plan.cnt) {
		b.end = TASKS_MORE;
		b.next = i + 1;
	}
	return 0;
}

static struct task_tree *tree_of(uint32_t cnt, uint32_t frames, const uint32_t (*edges)[2],
				 uint32_t edge_cnt)
{
	static const struct task_source source = { read_lists, read_tasks };
	const struct tasks_at at = { .node = 0 };
	struct task_tree *t;

	plan.cnt = cnt;
	plan.frames = frames;
	plan.edges = edges;
	plan.edge_cnt = edge_cnt;
	assert_int_equal(task_walk(&source, 1, &at, &set), 0);
	t = task_tree_new(&set);
	assert_non_null(t);
	return t;
}

static void end(struct task_tree *t)
{
	task_tree_free(t);
	task_set_free(&set);
}

/* Frames say what number they have within their task, or what looks[] says. */
static uint32_t looks[100000];
static uint64_t said[50000];

static struct task_tree *folded(struct task_tree *t)
{
	assert_int_equal(task_tree_fold(t, &(struct task_looks){ looks, said }), 0);
	return t;
}

/* " 0", "  .", " 1!": depth in spaces, the task or . for a coroutine, a mark. */
static void write_line(void *ctx, const struct task_line *l)
{
	static const char marks[] = { ' ', '!', '^', '>', '?', '+', '*' };
	char *text = ctx, one[64];
	bool counts = l->mark == TASK_MARK_MORE || l->mark == TASK_MARK_LIKE;
	uint32_t addr = counts ? l->more : (uint32_t)l->addr - 1;

	assert_true(l->depth <= TASK_DEPTH_MAX && l->last[l->depth] <= 1);
	if (l->frame == UINT32_MAX)
		snprintf(one, sizeof(one), "%*s%u%c%c", l->depth, "", addr, marks[l->mark],
			 l->last[l->depth] ? '\n' : '|');
	else
		snprintf(one, sizeof(one), "%*s.\n", l->depth, "");
	strcat(text, one);
}

static void expect(struct task_tree *t, const char *want)
{
	char text[4096] = "";

	assert_int_equal(task_tree_each(t, write_line, text), 0);
	assert_string_equal(text, want);
	end(t);
}

static void count_line(void *ctx, const struct task_line *l)
{
	uint64_t *lines = ctx;

	++*lines;
	task_cnt += l->frame == UINT32_MAX && !l->mark;
	depths = l->depth > depths ? l->depth : depths;
}

static uint64_t count(struct task_tree *t)
{
	uint64_t lines = 0;

	depths = task_cnt = 0;
	assert_int_equal(task_tree_each(t, count_line, &lines), 0);
	end(t);
	return lines;
}

/* 0 awaits 1 and 2; both await 3; nobody awaits 4. */
static void test_tree(void **state)
{
	static const uint32_t edges[][2] = { { 0, 1 }, { 0, 2 }, { 1, 3 }, { 2, 3 } };

	expect(tree_of(5, 1, edges, 4),
	       "0 \n .\n  1 |   .\n    3 \n     .\n  2 \n   .\n    3^\n4 \n .\n");
	expect(tree_of(3, 0, NULL, 0), "0 \n1 \n2 \n");
	expect(tree_of(0, 0, NULL, 0), "");
}

/* A parent that a child names twice; one that is in no list. */
static void test_odd_parents(void **state)
{
	static const uint32_t twice[][2] = { { 0, 1 }, { 0, 1 } };
	static const uint32_t unlisted[][2] = { { 77, 0 }, { 77, 1 } };

	expect(tree_of(2, 0, twice, 2), "0 \n 1 \n");
	expect(tree_of(3, 1, unlisted, 2), "2 \n .\n77?\n 0 |  .\n 1 \n  .\n");
}

/* 0 awaits 1 awaits 2 awaits 0; 3 awaits itself, and 4. */
static void test_cycles(void **state)
{
	static const uint32_t edges[][2] = { { 2, 0 }, { 0, 1 }, { 1, 2 }, { 3, 3 }, { 3, 4 } };
	struct task_tree *t = tree_of(5, 0, edges, 5);
	uint32_t i;

	for (i = 0; i < 5; i++)
		assert_int_equal(set.tasks[i].cycle, i < 4);
	expect(t, "0 \n 1 \n  2 \n   0!\n3 \n 3!| 4 \n");
}

/* Each of 40 tasks awaits the next one by two ways: 2^20 ways. What is below one is shown once. */
static void test_many_ways(void **state)
{
	static uint32_t edges[200][2];
	uint32_t i, n = 0;

	for (i = 1; i < 61; i++) {
		uint32_t from = (i - 1) / 3 * 3;

		if (i % 3) {
			edges[n][0] = from;
			edges[n++][1] = i;
		} else {
			edges[n][0] = i - 2;
			edges[n++][1] = i;
			edges[n][0] = i - 1;
			edges[n++][1] = i;
		}
	}
	/* 61 tasks with a coroutine each, and 20 that were shown above. */
	assert_int_equal(count(tree_of(61, 1, edges, n)), 61 * 2 + 20);
}

/* Each of 240 tasks awaits all that follow it: some 28,000 ways from one to another. */
static void test_all_ways(void **state)
{
	static uint32_t edges[240 * 239 / 2][2];
	uint32_t i, j, n = 0;

	for (i = 1; i < 240; i++) {
		for (j = 0; j < i; j++, n++) {
			edges[n][0] = j;
			edges[n][1] = i;
		}
	}
	/*
	 * Besides its own two, each has lines for 3 others and their number, and may continue
	 * below.
	 */
	assert_in_range(count(tree_of(240, 1, edges, n)), 240 * 2, 240 * 7);
}

/* 0 and 1 both await all the others. */
static void test_more(void **state)
{
	static const uint32_t edges[][2] = { { 0, 1 }, { 0, 2 }, { 1, 2 }, { 0, 3 }, { 1, 3 },
					     { 0, 4 },
					     { 1, 4 }, { 0, 5 }, { 1, 5 }, { 0, 6 }, { 1, 6 } };

	expect(tree_of(7, 1, edges, 11),
	       "0 \n .\n  1 |   .\n    2 |     .\n    3 |     .\n    4 |     .\n    5 |     .\n"
	       "    6 \n     .\n  2^|  3^|  4^|  2+\n");
}

/* A chain of 20,000 tasks: no stack overflows, and lines stay short. */
static void test_deep(void **state)
{
	static uint32_t edges[20000][2];
	uint64_t lines;
	uint32_t i;

	for (i = 0; i < 19999; i++) {
		edges[i][0] = i;
		edges[i][1] = i + 1;
	}
	lines = count(tree_of(20000, 2, edges, 19999));
	assert_int_equal(task_cnt, 20000);
	assert_true(depths <= TASK_DEPTH_MAX && depths > TASK_DEPTH_MAX / 2);
	assert_in_range(lines, 60000, 61000);
	assert_int_equal(count(tree_of(20000, 0, edges, 19999)), 20000 + 20000 / TASK_DEPTH_MAX);
}

/* A task with as many coroutines as may be, that others await. */
static void test_long_chains(void **state)
{
	static const uint32_t edges[][2] = { { 0, 1 }, { 1, 2 } };

	assert_true(count(tree_of(3, TASK_FRAMES_MAX, edges, 2)) >= 3 * TASK_FRAMES_MAX);
	assert_int_equal(task_cnt, 3);
}

/* 0 awaits 1 to 12, whose lines are the same; then that of 5 differs, and more is said of 6. */
static void test_fold(void **state)
{
	static uint32_t edges[12][2];
	uint32_t i;

	for (i = 0; i < 12; i++)
		edges[i][1] = i + 1;
	expect(folded(tree_of(13, 1, edges, 12)), "0 \n .\n  1 |   .\n  11*\n");
	looks[5] = 7;
	expect(folded(tree_of(13, 1, edges, 12)),
	       "0 \n .\n  1 |   .\n  10*|  5 \n   .\n");
	said[6] = 1;
	expect(folded(tree_of(13, 1, edges, 12)),
	       "0 \n .\n  1 |   .\n  9*|  5 |   .\n  6 \n   .\n");
	/* Too few remain. Others refer to 7. */
	said[7] = TASK_LOOK_OWN;
	said[8] = 2;
	assert_int_equal(count(folded(tree_of(13, 1, edges, 12))), 26);
	said[6] = said[7] = said[8] = 0;
	looks[5] = 0;
	/* Of the root. */
	expect(folded(tree_of(11, 1, NULL, 0)), "0 | .\n10*\n");
	said[3] = TASK_LOOK_OWN;
	expect(folded(tree_of(11, 1, NULL, 0)), "0 | .\n9*\n3 \n .\n");
	said[3] = 0;
}

/* 0 to 10 await two tasks each, which look like those of the others; then another is said of 12. */
static void test_fold_subtrees(void **state)
{
	static uint32_t edges[22][2];
	uint32_t i;

	for (i = 0; i < 22; i++) {
		edges[i][0] = i / 2;
		edges[i][1] = i + 11;
	}
	expect(folded(tree_of(33, 0, edges, 22)), "0 | 11 | 12 \n10*\n");
	said[12] = 1;
	expect(folded(tree_of(33, 0, edges, 22)), "0 \n 11 | 12 \n1 | 13 | 14 \n9*\n");
	said[12] = 0;
}

/* 0 to 10 all await 11, which awaits 12: that is shown once, whole. */
static void test_fold_shared(void **state)
{
	static uint32_t edges[12][2];
	uint32_t i;

	for (i = 0; i < 11; i++) {
		edges[i][0] = i;
		edges[i][1] = 11;
	}
	edges[11][0] = 11;
	edges[11][1] = 12;
	expect(folded(tree_of(13, 0, edges, 12)), "0 | 11 \n  12 \n10*\n");
}

/* A circle of 12: none is left out. 25,000 that look the same, and what they await, are one. */
static void test_fold_limits(void **state)
{
	static uint32_t circle[12][2] = { { 11, 0 } }, pairs[25000][2];
	uint32_t i;

	for (i = 1; i < 12; i++) {
		circle[i][0] = i - 1;
		circle[i][1] = i;
	}
	count(folded(tree_of(12, 1, circle, 12)));
	assert_int_equal(task_cnt, 12);
	for (i = 0; i < 25000; i++) {
		pairs[i][0] = i;
		pairs[i][1] = i + 25000;
	}
	assert_int_equal(count(folded(tree_of(50000, 2, pairs, 25000))), 7);
	/* Each is another. */
	for (i = 0; i < 50000; i++)
		said[i] = i;
	assert_int_equal(count(folded(tree_of(50000, 1, pairs, 25000))), 100000);
	memset(said, 0, sizeof(said));
}

/* Counts the tasks that lines stand for. */
struct sum {
	uint32_t parents[64], total, folds, cnt;
	bool seen[64];	/* one without anything below it has a line below each that awaits it */
	struct {
		uint32_t task, depth, own;	/* own: tasks that are below no other one, too */
	} way[128];
};

/* Ends all of the path that is deeper. */
static void pop_to(struct sum *s, uint32_t depth)
{
	for (; s->cnt && s->way[s->cnt - 1].depth > depth; s->cnt--)
		if (s->cnt > 1 && s->parents[s->way[s->cnt - 1].task] < 2)
			s->way[s->cnt - 2].own += s->way[s->cnt - 1].own;
}

static void sum_line(void *ctx, const struct task_line *l)
{
	struct sum *s = ctx;
	uint32_t own;

	if (l->frame != UINT32_MAX || (l->mark && l->mark != TASK_MARK_LIKE))
		return;
	pop_to(s, l->depth);
	if (l->mark == TASK_MARK_LIKE) {
		own = s->way[s->cnt - 1].own;
		assert_true(s->way[s->cnt - 1].task == l->task && l->more >= TASK_LIKE_MIN - 1);
		assert_true(s->parents[l->task] < 2);
		s->total += l->more * own;
		s->folds++;
		s->way[s->cnt - 1].own += l->more * own;
		return;
	}
	if (s->cnt && s->way[s->cnt - 1].depth == l->depth && l->depth)
		pop_to(s, l->depth - 1);
	if (!l->depth)
		s->cnt = 0;
	s->total += !s->seen[l->task];
	s->seen[l->task] = true;
	s->way[s->cnt].task = l->task;
	s->way[s->cnt].depth = l->depth;
	s->way[s->cnt++].own = 1;
}

/* Graphs of all shapes, with circles: each task has a line, or one that stands for it. */
static void test_fold_any(void **state)
{
	static uint32_t edges[128][2];
	uint32_t round, i, n, one, cnt, folds = 0;

	srand(7);
	for (round = 0; round < 2000; round++) {
		struct sum s = { .total = 0 };
		struct task_tree *t;

		cnt = 1 + (uint32_t)rand() % 60;
		for (i = n = 0; i < cnt; i++) {
			for (one = rand() % 8 ? 1 : (uint32_t)rand() % 3; i && one; one--) {
				edges[n][0] = (uint32_t)rand() % (rand() % 9 ? 1 + i / 12 : cnt);
				edges[n][1] = i;
				s.parents[i] += !n || edges[n - 1][1] != i ||
						edges[n - 1][0] != edges[n][0];
				n++;
			}
			looks[i] = rand() % 20 == 0;
		}
		t = folded(tree_of(cnt, round % 2, edges, n));
		assert_int_equal(task_tree_each(t, sum_line, &s), 0);
		assert_int_equal(s.total, cnt);
		folds += s.folds;
		end(t);
	}
	assert_true(folds > 100);
	memset(looks, 0, sizeof(looks));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree), cmocka_unit_test(test_odd_parents),
		cmocka_unit_test(test_cycles), cmocka_unit_test(test_many_ways),
		cmocka_unit_test(test_all_ways),
		cmocka_unit_test(test_more),
		cmocka_unit_test(test_fold), cmocka_unit_test(test_fold_subtrees),
		cmocka_unit_test(test_fold_shared), cmocka_unit_test(test_fold_limits),
		cmocka_unit_test(test_fold_any),
		cmocka_unit_test(test_deep), cmocka_unit_test(test_long_chains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
