// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_live_rows.c - lists of one process: functions, lines, threads, callers, tree, recent ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"
#include "live/live_rows.h"

/* Functions a, b, c; a has two lines; then <GC>. Strings: file, a, b, c, <GC>, ~. */
enum { A1, A2, B, C, GC };
static const char *const texts[] = { "app.py", "a", "b", "c", "<GC>", "~" };
static struct string_ref strings[6];
static const struct frame frames[] = {
	[A1] = { .file = 0, .func = 1, .line = 1, .end_line = -1, .column = -1, .end_column = -1 },
	[A2] = { .file = 0, .func = 1, .line = 2, .end_line = -1, .column = -1, .end_column = -1 },
	[B] = { .file = 0, .func = 2, .line = 5, .end_line = -1, .column = -1, .end_column = -1 },
	[C] = { .file = 0, .func = 3, .line = 9, .end_line = -1, .column = -1, .end_column = -1 },
	[GC] = { .file = 5, .func = 4, .line = LINE_NONE, .end_line = -1, .column = -1,
		 .end_column = -1,
		 .kind = FRAME_SYNTHETIC },
};
static const struct profile_tables tables = { frames, strings, 5, 6, NULL, 0 };
static struct stack_tree *tree;
static uint64_t weights[32];

static void event(uint64_t tid, uint8_t status, uint64_t weight, uint32_t n, const uint32_t *stack)
{
	const struct event ev = { .thread_id = tid, .status = status, .weight = weight,
				  .nframes = n,
				  .frames = stack };

	assert_int_equal(stack_tree_event(tree, &ev), 0);
}

#define EVENT(tid, status, weight, ...)                                                            \
	event(tid, status, weight, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, \
	      (uint32_t[]){ __VA_ARGS__ })

static struct live_weights seen(void)
{
	struct live_weights w = { .v = stack_tree_view(tree), .weights = weights };
	uint32_t i;

	assert_true(w.v.share_cnt <= 32);
	for (i = 0; i < w.v.share_cnt; i++)
		weights[i] = w.v.shares[i].weight;
	return w;
}

static void set_up(void)
{
	size_t i;

	for (i = 0; i < 6; i++)
		strings[i] = (struct string_ref){ texts[i], (uint32_t)strlen(texts[i]) };
	tree = stack_tree_new(DETAIL_LINE);
	assert_non_null(tree);
	assert_int_equal(stack_tree_begin(tree, &tables), 0);
	/* c calls a, which calls b; a calls itself; a collection below b. Innermost first. */
	EVENT(7, STATUS_ON_CPU | STATUS_HAS_GIL, 10, B, A1, C);
	EVENT(7, STATUS_ON_CPU | STATUS_HAS_GIL, 20, A2, A1, C);
	EVENT(8, STATUS_ON_CPU, 30, C);
	EVENT(8, STATUS_GIL_REQUESTED, 40, C);
	EVENT(7, STATUS_ON_CPU, 1, GC, B, A1, C);
}

static void tear_down(void)
{
	stack_tree_end(tree);
	stack_tree_free(tree);
}

/* The row of a function, at a depth and a line. */
static const struct live_row *row(const struct live_rows *l, const char *name, uint32_t depth,
				  int32_t line)
{
	const struct profile_tables *t = stack_tree_view(tree).tables;
	size_t i;

	for (i = 0; i < l->cnt; i++)
		if (t->strings[l->rows[i].func].len == strlen(name) && l->rows[i].depth == depth &&
		    l->rows[i].line == line &&
		    !memcmp(t->strings[l->rows[i].func].data, name, strlen(name)))
			return &l->rows[i];
	fail_msg("no row %s", name);
	return NULL;
}

static void test_functions(void **state)
{
	struct live_rows l;
	struct live_weights w;

	set_up();
	w = seen();
	assert_int_equal(live_rows_functions(&w, &l), 0);
	assert_int_equal(l.cnt, 3);
	assert_int_equal(l.total, 101);
	assert_int_equal(row(&l, "c", 0, 9)->self, 70);
	assert_int_equal(row(&l, "c", 0, 9)->total, 101);
	assert_int_equal(row(&l, "c", 0, 9)->wants, 40);
	assert_int_equal(row(&l, "a", 0, 2)->self, 20);
	/* once, although it is there twice */
	assert_int_equal(row(&l, "a", 0, 2)->total, 31);
	assert_int_equal(row(&l, "a", 0, 2)->holds, 20);
	assert_int_equal(row(&l, "b", 0, 5)->self, 11);	/* also that of the collection */
	assert_int_equal(l.rows[0].self, 70);
	live_rows_free(&l);
	assert_int_equal(live_rows_lines(&w, &l), 0);
	assert_int_equal(l.cnt, 4);
	assert_int_equal(row(&l, "a", 0, 2)->self, 20);
	assert_int_equal(row(&l, "a", 0, 1)->self, 0);
	assert_int_equal(row(&l, "a", 0, 1)->total, 31);
	live_rows_free(&l);
	tear_down();
}

static void test_threads(void **state)
{
	struct live_rows l;
	struct live_weights w;

	set_up();
	w = seen();
	assert_int_equal(live_rows_threads(&w, &l), 0);
	assert_int_equal(l.cnt, 2);
	assert_int_equal(l.rows[0].thread_id, 7);
	assert_int_equal(l.rows[0].cpu, 31);
	assert_int_equal(l.rows[0].holds, 30);
	assert_int_equal(l.rows[1].cpu, 30);
	assert_int_equal(l.rows[1].wants, 40);
	assert_int_equal(l.rows[1].total, 70);
	live_rows_free(&l);
	tear_down();
}

static void test_callers(void **state)
{
	const struct profile_tables *t;
	struct live_rows l;
	struct live_weights w;

	set_up();
	w = seen();
	t = w.v.tables;
	assert_int_equal(live_rows_functions(&w, &l), 0);
	{
		const struct live_row a = *row(&l, "a", 0, 2);

		live_rows_free(&l);
		assert_int_equal(live_rows_callers(&w, a.file, a.func, &l), 0);
	}
	assert_non_null(t);
	assert_int_equal(row(&l, "c", 0, LINE_NONE)->total, 31);
	assert_int_equal(row(&l, "a", 0, LINE_NONE)->total, 20);	/* its own caller */
	assert_int_equal(row(&l, "a", 1, LINE_NONE)->total, 31);
	assert_int_equal(row(&l, "b", 2, LINE_NONE)->total, 11);
	assert_int_equal(row(&l, "a", 2, LINE_NONE)->total, 20);
	assert_int_equal(l.cnt, 5);
	assert_int_equal(l.rows[0].depth, 0);
	assert_int_equal(l.rows[4].depth, 2);
	live_rows_free(&l);
	tear_down();
}

/* Shares of the process' time: none is above all of it, in no list and of no kind. */
static void test_no_share_is_above_the_whole(void **state)
{
	struct live_rows lists[4];
	struct live_weights w;
	size_t i, j;

	set_up();
	w = seen();
	assert_int_equal(live_rows_functions(&w, &lists[0]), 0);
	assert_int_equal(live_rows_lines(&w, &lists[1]), 0);
	assert_int_equal(live_rows_callers(&w, 0, 1, &lists[2]), 0);
	assert_int_equal(live_rows_tree(&w, 0, &lists[3]), 0);
	for (i = 0; i < 4; i++) {
		uint64_t self = 0;

		assert_true(lists[i].cnt);
		for (j = 0; j < lists[i].cnt; j++) {
			const struct live_row *r = &lists[i].rows[j];

			assert_true(r->self <= lists[i].total && r->total <= lists[i].total);
			assert_true(r->wants + r->holds <= lists[i].total);
			self += r->self;
		}
		assert_true(self <= lists[i].total);
		live_rows_free(&lists[i]);
	}
	tear_down();
}

static void test_tree(void **state)
{
	struct live_rows l;
	struct live_weights w;

	set_up();
	w = seen();
	assert_int_equal(live_rows_tree(&w, 0, &l), 0);
	assert_int_equal(l.cnt, 5);
	assert_int_equal(l.rows[0].total, 101);
	assert_int_equal(l.rows[0].self, 70);
	assert_int_equal(l.rows[1].depth, 1);
	assert_int_equal(l.rows[1].total, 31);
	assert_int_equal(l.rows[2].total, 20);		/* the largest call first */
	assert_int_equal(l.rows[3].total, 11);
	assert_int_equal(l.rows[4].depth, 3);
	live_rows_free(&l);
	assert_int_equal(live_rows_tree(&w, 12, &l), 0);
	assert_int_equal(l.cnt, 3);
	live_rows_free(&l);
	tear_down();
}

static void test_nothing(void **state)
{
	struct live_rows l;
	struct live_weights w;

	tree = stack_tree_new(DETAIL_LINE);
	w = seen();
	assert_int_equal(live_rows_functions(&w, &l), 0);
	assert_int_equal(l.cnt, 0);
	live_rows_free(&l);
	assert_int_equal(live_rows_tree(&w, 0, &l), 0);
	assert_int_equal(l.cnt, 0);
	live_rows_free(&l);
	stack_tree_free(tree);
}

/* After so many seconds the first ones do not count any more; new stacks count from their begin. */
static void test_recent(void **state)
{
	struct live_recent r = { .begun_ns = 0 };
	struct stack_tree_view v;
	uint64_t *recent, ns = 1000;
	int i;

	set_up();
	v = stack_tree_view(tree);
	assert_int_equal(live_recent_span(&r, ns), 0);
	live_recent_second(&r, &v, ns);
	EVENT(9, STATUS_ON_CPU, 5, C);
	EVENT(8, STATUS_ON_CPU, 3, C);
	v = stack_tree_view(tree);
	recent = live_recent_weights(&r, &v);
	assert_int_equal(recent[2], 3);
	assert_int_equal(recent[v.share_cnt - 1], 5);
	assert_int_equal(recent[0], 0);
	free(recent);
	for (i = 0; i < LIVE_RECENT_S - 1; i++)
		live_recent_second(&r, &v, ns += 1000);
	assert_int_equal(live_recent_span(&r, ns), 9000);
	recent = live_recent_weights(&r, &v);
	assert_int_equal(recent[2], 3);
	free(recent);
	live_recent_second(&r, &v, ns += 1000);
	assert_int_equal(live_recent_span(&r, ns), 9000);
	recent = live_recent_weights(&r, &v);
	assert_int_equal(recent[2], 0);
	free(recent);
	live_recent_reset(&r);
	assert_int_equal(live_recent_span(&r, ns), 0);
	tear_down();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions), cmocka_unit_test(test_threads),
		cmocka_unit_test(test_callers), cmocka_unit_test(test_tree),
		cmocka_unit_test(test_nothing), cmocka_unit_test(test_recent),
		cmocka_unit_test(test_no_share_is_above_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
