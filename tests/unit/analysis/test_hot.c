// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_hot.c - where time goes, of stacks whose sums can be checked by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "analysis/hot.h"
#include "analysis/idle_place.h"
#include "base/util.h"
#include "bpf/abi.h"
#include "model/intern.h"

static struct intern *in;
static struct hot *hot;

static uint32_t add(const char *file, const char *func, int line)
{
	struct frame f = { .line = line, .end_line = line, .column = COLUMN_NONE,
			   .end_column = COLUMN_NONE, .opcode = OPCODE_NONE, .first_line = 1 };
	uint32_t id;

	assert_int_equal(intern_string(in, file, strlen(file), &f.file), 0);
	assert_int_equal(intern_string(in, func, strlen(func), &f.func), 0);
	assert_int_equal(intern_frame(in, &f, &id), 0);
	return id;
}

static uint32_t says(const char *name)
{
	uint32_t id;

	assert_int_equal(intern_synthetic(in, FRAME_SYNTHETIC, name, &id), 0);
	return id;
}

static void begin(enum profile_mode mode)
{
	in = intern_new();
	hot = hot_new(mode);
	assert_true(in && hot);
}

static void end(void)
{
	hot_free(hot);
	intern_free(in);
}

/* A sample of this weight, whose stack is innermost first. */
static void sample(uint64_t weight, uint64_t tid, uint8_t status, uint32_t depth, ...)
{
	uint32_t frames[8], i;
	struct event ev = { .thread_id = tid, .nframes = depth, .frames = frames,
			    .weight = weight, .status = status };
	va_list ap;

	va_start(ap, depth);
	for (i = 0; i < depth; i++)
		frames[i] = va_arg(ap, uint32_t);
	va_end(ap);
	assert_int_equal(hot_event(hot, &ev), 0);
}

static void assert_ref(struct string_ref ref, const char *want)
{
	assert_int_equal(ref.len, strlen(want));
	assert_memory_equal(ref.data, want, ref.len);
}

/* The i-th row of a table. */
static void assert_row(enum hot_table table, size_t i, uint64_t weight, const char *func, int line,
		       const char *what)
{
	struct hot_row *rows;
	size_t cnt;

	assert_int_equal(hot_rows(hot, table, &rows, &cnt), 0);
	assert_true(i < cnt);
	assert_int_equal(rows[i].weight, weight);
	assert_ref(rows[i].func, func);
	assert_int_equal(rows[i].line, line);
	assert_ref(rows[i].what, what);
	free(rows);
}

static size_t row_cnt(enum hot_table table)
{
	struct hot_row *rows;
	size_t cnt;

	assert_int_equal(hot_rows(hot, table, &rows, &cnt), 0);
	free(rows);
	return cnt;
}

/* A function is shown at its hottest line, not at its first one, which may be a decorator's. */
static void test_lines_and_functions(void **state)
{
	struct hot_row *rows;
	uint32_t main_line, f2, f3, g, gc, c, i;
	size_t cnt;

	(void)state;
	begin(MODE_CPU);
	main_line = add("/x.py", "main", 9);
	f2 = add("/x.py", "f", 2);
	f3 = add("/x.py", "f", 3);
	g = add("/x.py", "g", 5);
	gc = says("<GC>");
	assert_int_equal(intern_native(in, "libx.so", NULL, "c_work", LINE_NONE, &c), 0);
	/* The same profile again: rows are the same. */
	for (i = 0; i < 2; i++) {
		hot_begin(hot, intern_tables(in), false);
		sample(2, 1, STATUS_ON_CPU, 2, f2, main_line);
		sample(3, 1, STATUS_ON_CPU, 3, c, f3, main_line);
		sample(4, 2, STATUS_ON_CPU, 3, gc, g, main_line);
	}
	assert_row(HOT_LINES, 0, 8, "g", 5, "<GC>");
	assert_row(HOT_LINES, 1, 6, "f", 3, "");
	assert_row(HOT_LINES, 2, 4, "f", 2, "");
	assert_row(HOT_C, 0, 6, "c_work", LINE_NONE, "");
	assert_int_equal(row_cnt(HOT_C), 1);
	assert_int_equal(hot_functions(hot, HOT_LINES, &rows, &cnt), 0);
	assert_int_equal(cnt, 2);
	assert_ref(rows[0].func, "f");
	assert_int_equal(rows[0].weight, 10);
	assert_int_equal(rows[0].line, 3);
	free(rows);
	assert_int_equal(hot_total(hot), 18);
	assert_int_equal(hot_threads(hot, false), 2);
	end();
}

/* Waits are at the caller's line; threads that wait for work are apart. */
static void test_waits(void **state)
{
	uint32_t app, wait, get, other, cpu, blocked;

	(void)state;
	begin(MODE_WALL);
	app = add("/srv/app.py", "serve", 7);
	wait = add("/usr/lib/python3.11/threading.py", "Condition.wait", 320);
	get = add("/usr/lib/python3.11/queue.py", "Queue.get", 171);
	other = add("/usr/lib/python3.11/threading.py", "Thread.join", 1112);
	cpu = says("<waiting for a CPU>");
	blocked = says("<blocked in read>");
	hot_begin(hot, intern_tables(in), false);
	sample(1, 1, STATUS_ON_CPU, 1, app);
	sample(2, 1, 0, 2, cpu, app);
	sample(4, 1, 0, 2, other, app);
	sample(8, 1, STATUS_GIL_REQUESTED, 1, app);
	sample(16, 2, 0, 3, wait, get, app);
	sample(32, 3, 0, 2, wait, app);		/* for what is not known */
	sample(64, 2, 0, 2, blocked, app);
	sample(128, 4, STATUS_GIL_REQUESTED, 2, get, app);
	assert_int_equal(hot_in_state(hot, HOT_RUNS), 1);
	assert_int_equal(hot_in_state(hot, HOT_RUNNABLE), 2);
	assert_int_equal(hot_in_state(hot, HOT_WAITS), 4 + 8 + 32 + 64 + 128);
	assert_int_equal(hot_in_state(hot, HOT_IDLE), 16);
	assert_int_equal(hot_threads(hot, true), 1);
	assert_int_equal(hot_threads(hot, false), 4);
	assert_row(HOT_LINES, 0, 3, "serve", 7, "");
	assert_row(HOT_WAITING, 0, 136, "serve", 7, "<waiting for the GIL>");
	assert_row(HOT_WAITING, 1, 64, "serve", 7, "<blocked in read>");
	assert_row(HOT_WAITING, 2, 32, "serve", 7, "Condition.wait");
	assert_row(HOT_WAITING, 3, 4, "serve", 7, "Thread.join");
	assert_row(HOT_IDLES, 0, 16, "Queue.get", 171, "");
	end();
}

static void test_what_is_idle(void **state)
{
	static const struct {
		const char *file, *func;
		enum idle_place place;
	} table[] = {
		{ "/usr/lib/python3.11/queue.py", "get", IDLE_YES },
		{ "/usr/lib/python3.11/queue.py", "Queue.get", IDLE_YES },
		{ "/usr/lib/python3.11/queue.py", "budget", IDLE_NO },
		{ "/srv/my_queue.py", "get", IDLE_NO },
		{ "/usr/lib/python3.11/selectors.py", "EpollSelector.select", IDLE_YES },
		{ "/usr/lib/python3.11/concurrent/futures/thread.py", "_worker", IDLE_YES },
		{ "/usr/lib/python3.11/threading.py", "Condition.wait", IDLE_PART },
		{ "/usr/lib/python3.11/multiprocessing/connection.py", "Connection._recv",
		  IDLE_PART },
		{ "", "", IDLE_NO }, { "queue.py", "get", IDLE_NO },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		struct string_ref file = { table[i].file, strlen(table[i].file) };
		struct string_ref func = { table[i].func, strlen(table[i].func) };

		assert_int_equal(idle_place_of(file, func), table[i].place);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_and_functions), cmocka_unit_test(test_waits),
		cmocka_unit_test(test_what_is_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
