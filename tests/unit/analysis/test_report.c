// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_report.c - sums that can be checked by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "analysis/report.h"
#include "base/util.h"
#include "model/intern.h"
#include "model/thread_map.h"

/* A profile with frames "a:1", "a:2", "b:10", "<GC>" and ids in that order, or reversed. */
struct profile {
	struct intern *in;
	uint32_t a1, a2, b, gc;
};

static uint32_t add(struct intern *in, const char *func, int line)
{
	struct frame f = { .line = line, .end_line = line, .column = 0, .end_column = 1,
			   .opcode = OPCODE_NONE };
	uint32_t id;

	assert_int_equal(intern_string(in, "/x.py", 5, &f.file), 0);
	assert_int_equal(intern_string(in, func, strlen(func), &f.func), 0);
	assert_int_equal(intern_frame(in, &f, &id), 0);
	return id;
}

static struct profile new_profile(bool reversed)
{
	struct profile p = { .in = intern_new() };

	if (reversed) {
		assert_int_equal(intern_synthetic(p.in, FRAME_SYNTHETIC, "<GC>", &p.gc), 0);
		p.b = add(p.in, "b", 10);
	}
	p.a2 = add(p.in, "a", 2);
	p.a1 = add(p.in, "a", 1);
	if (!reversed) {
		p.b = add(p.in, "b", 10);
		assert_int_equal(intern_synthetic(p.in, FRAME_SYNTHETIC, "<GC>", &p.gc), 0);
	}
	return p;
}

/* n samples of the given stack, innermost first, in a thread. */
static void sample(struct report *r, unsigned int n, uint64_t tid, uint32_t depth, ...)
{
	uint32_t frames[8], i;
	struct event ev = { .thread_id = tid, .nframes = depth, .frames = frames, .weight = 1 };
	va_list ap;

	va_start(ap, depth);
	for (i = 0; i < depth; i++)
		frames[i] = va_arg(ap, uint32_t);
	va_end(ap);
	while (n--)
		assert_int_equal(report_event(r, &ev), 0);
}

static const struct report_row *find(const struct report_row *rows, size_t cnt, const char *func,
				     int line)
{
	size_t i;

	for (i = 0; i < cnt; i++)
		if (rows[i].func.len == strlen(func) &&
		    !memcmp(rows[i].func.data, func, rows[i].func.len) &&
		    (!line || rows[i].line == line))
			return &rows[i];
	fail_msg("no row %s:%d", func, line);
	return NULL;
}

static void assert_row(const struct report_row *rows, size_t cnt, const char *func, int line,
		       uint64_t self, uint64_t total)
{
	const struct report_row *row = find(rows, cnt, func, line);

	assert_int_equal(row->self, self);
	assert_int_equal(row->total, total);
}

static void add_profile(struct report *r, const struct profile *p, const char *label)
{
	assert_int_equal(report_begin(r, intern_tables(p->in), label), 0);
	sample(r, 3, 7, 2, p->a1, p->b);
	sample(r, 2, 8, 4, p->a1, p->a2, p->a1, p->b);
	sample(r, 1, 7, 2, p->a1, p->b);
	sample(r, 1, 7, 3, p->gc, p->a2, p->b);
	sample(r, 1, 7, 0);
	assert_int_equal(report_end(r), 0);
}

static struct report *start(enum report_by by, bool detail)
{
	struct report *r = report_new(by);

	assert_non_null(r);
	if (detail)
		report_show_detail(r);
	return r;
}

/* Two profiles with different ids for the same things, recursion, an empty stack. */
static struct report *fill(enum report_by by, bool detail, struct profile p[2])
{
	struct report *r = start(by, detail);
	int i;

	for (i = 0; i < 2; i++) {
		p[i] = new_profile(i == 1);
		add_profile(r, &p[i], i ? "two" : "one");
	}
	assert_int_equal(report_sample_cnt(r), 16);
	return r;
}

static void clean(struct report *r, struct profile p[2])
{
	report_free(r);
	intern_free(p[0].in);
	intern_free(p[1].in);
}

static void assert_same_text(struct string_ref a, struct string_ref b)
{
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.data, b.data, a.len);
}

static void assert_same(struct report *a, struct report *b)
{
	const struct report_row *x, *y;
	size_t x_cnt, y_cnt, i;

	assert_int_equal(report_sample_cnt(a), report_sample_cnt(b));
	assert_true(report_squares(a) == report_squares(b));
	assert_int_equal(report_hides_native(a), report_hides_native(b));
	x = report_rows(a, REPORT_SORT_SELF, &x_cnt);
	y = report_rows(b, REPORT_SORT_SELF, &y_cnt);
	assert_int_equal(x_cnt, y_cnt);
	for (i = 0; i < x_cnt; i++) {
		assert_same_text(x[i].func, y[i].func);
		assert_same_text(x[i].file, y[i].file);
		assert_true(x[i].self == y[i].self && x[i].total == y[i].total);
		assert_true(x[i].self_squares == y[i].self_squares);
		assert_true(x[i].kind == y[i].kind && x[i].line == y[i].line);
		assert_true(x[i].profile == y[i].profile && x[i].profile_cnt == y[i].profile_cnt);
		assert_true(x[i].thread_id == y[i].thread_id && x[i].main == y[i].main);
	}
}

/* Three profiles, and the same as one and two that are joined, or as three and none. */
static void check_merge(enum report_by by, bool detail)
{
	static const char *const labels[] = { "one", "two", "two" };
	struct profile p[3] = { new_profile(false), new_profile(true), new_profile(true) };
	struct report *whole = start(by, detail), *joined, *part;
	size_t split, i;

	for (i = 0; i < 3; i++)
		add_profile(whole, &p[i], labels[i]);
	for (split = 0; split <= 3; split++) {
		joined = start(by, detail);
		part = start(by, detail);
		for (i = 0; i < 3; i++)
			add_profile(i < split ? joined : part, &p[i], labels[i]);
		assert_int_equal(report_merge(joined, part), 0);
		report_free(part);
		assert_same(whole, joined);
		report_free(joined);
	}
	report_free(whole);
	for (i = 0; i < 3; i++)
		intern_free(p[i].in);
}

static void test_merge(void **state)
{
	enum report_by by;

	for (by = REPORT_BY_FUNCTION; by <= REPORT_BY_CONTAINER; by++) {
		check_merge(by, false);
		check_merge(by, true);
	}
}

static void test_by_function(void **state)
{
	struct profile p[2];
	struct report *r = fill(REPORT_BY_FUNCTION, false, p);
	const struct report_row *rows;
	size_t cnt;

	rows = report_rows(r, REPORT_SORT_SELF, &cnt);
	assert_int_equal(cnt, 2);
	/* What <GC> was on top of had the self. */
	assert_row(rows, cnt, "a", 1, 14, 14);
	assert_row(rows, cnt, "b", 10, 0, 14);
	clean(r, p);
}

static void test_detail(void **state)
{
	struct profile p[2];
	struct report *r = fill(REPORT_BY_FUNCTION, true, p);
	const struct report_row *rows;
	size_t cnt;

	rows = report_rows(r, REPORT_SORT_SELF, &cnt);
	assert_int_equal(cnt, 3);
	assert_row(rows, cnt, "a", 1, 12, 14);
	assert_row(rows, cnt, "b", 10, 0, 14);
	assert_row(rows, cnt, "<GC>", LINE_NONE, 2, 2);
	assert_memory_equal(rows[1].func.data, "<GC>", 4);
	rows = report_rows(r, REPORT_SORT_TOTAL, &cnt);
	assert_memory_equal(rows[1].func.data, "b", 1);
	rows = report_rows(r, REPORT_SORT_NAME, &cnt);
	assert_memory_equal(rows[0].func.data, "<GC>", 4);
	rows = report_rows(r, REPORT_SORT_FILE, &cnt);
	assert_memory_equal(rows[2].func.data, "<GC>", 4);
	clean(r, p);
}

/* Stacks without a Python function: the self is the root's, and nothing else has a row. */
static void test_no_function(void **state)
{
	struct report *r = report_new(REPORT_BY_FUNCTION);
	struct intern *in = intern_new();
	const struct report_row *rows;
	uint32_t kernel, root, cut, b;
	size_t cnt;

	b = add(in, "b", 10);
	assert_int_equal(intern_synthetic(in, FRAME_KERNEL, "<kernel read>", &kernel), 0);
	assert_int_equal(intern_synthetic(in, FRAME_SYNTHETIC, "<native thread x>", &root), 0);
	assert_int_equal(intern_synthetic(in, FRAME_SYNTHETIC, "<truncated>", &cut), 0);
	assert_int_equal(report_begin(r, intern_tables(in), "x"), 0);
	sample(r, 3, 7, 1, root);
	sample(r, 4, 7, 2, kernel, root);
	sample(r, 5, 7, 3, kernel, b, cut);
	assert_int_equal(report_end(r), 0);
	rows = report_rows(r, REPORT_SORT_SELF, &cnt);
	assert_int_equal(cnt, 3);
	assert_row(rows, cnt, "<native thread x>", LINE_NONE, 7, 7);
	assert_row(rows, cnt, "b", 10, 5, 5);
	assert_row(rows, cnt, "<truncated>", LINE_NONE, 0, 5);
	report_free(r);
	intern_free(in);
}

/* Machine code is the Python function's that called it, or has rows of its own. */
static void check_native(bool shown)
{
	struct report *r = report_new(REPORT_BY_FUNCTION);
	struct intern *in = intern_new();
	const struct report_row *rows;
	uint32_t kernel, c, other, root, b;
	size_t cnt;

	if (shown)
		report_show_native(r);
	b = add(in, "b", 10);
	assert_int_equal(intern_synthetic(in, FRAME_KERNEL, "<kernel read>", &kernel), 0);
	assert_int_equal(intern_synthetic(in, FRAME_SYNTHETIC, "<native thread x>", &root), 0);
	assert_int_equal(intern_native(in, "libfoo.so", NULL, "c", 0, &c), 0);
	assert_int_equal(intern_native(in, "libbar.so", NULL, "c", 0, &other), 0);
	assert_int_equal(report_begin(r, intern_tables(in), "x"), 0);
	sample(r, 2, 7, 1, b);
	assert_int_equal(report_end(r), 0);
	assert_false(report_hides_native(r));
	assert_int_equal(report_begin(r, intern_tables(in), "y"), 0);
	sample(r, 3, 7, 4, kernel, c, c, b);
	sample(r, 4, 7, 3, b, c, b);
	sample(r, 5, 7, 2, other, root);
	assert_int_equal(report_end(r), 0);
	rows = report_rows(r, REPORT_SORT_SELF, &cnt);
	assert_int_equal(report_hides_native(r), !shown);
	assert_int_equal(cnt, shown ? 4 : 2);
	assert_row(rows, cnt, "b", 10, shown ? 6 : 9, 9);
	assert_row(rows, cnt, "<native thread x>", LINE_NONE, shown ? 0 : 5, 5);
	if (shown) {
		assert_row(rows, cnt, "c", LINE_NONE, 5, 5);	/* of libbar.so */
		assert_memory_equal(find(rows, cnt, "c", LINE_NONE)->file.data, "[libbar.so]", 11);
		assert_int_equal(find(rows, cnt, "c", LINE_NONE)->kind, FRAME_NATIVE);
	}
	report_free(r);
	intern_free(in);
}

static void test_native(void **state)
{
	check_native(false);
	check_native(true);
}

/* By function, a row has the first line, even if another recording does not know it. */
static void test_first_line(void **state)
{
	struct report *r = report_new(REPORT_BY_FUNCTION);
	struct intern *in = intern_new();
	uint32_t ids[3], id, i;
	struct frame f;
	size_t cnt;

	for (i = 0; i < 3; i++) {
		id = add(in, i ? "a" : "unknown", 20 + (int)i);
		f = intern_tables(in)->frames[id];
		f.first_line = i == 1 ? 17 : 0;
		assert_int_equal(intern_frame(in, &f, &ids[i]), 0);
	}
	assert_int_equal(report_begin(r, intern_tables(in), "x"), 0);
	sample(r, 1, 7, 3, ids[0], ids[1], ids[2]);
	assert_int_equal(report_end(r), 0);
	assert_row(report_rows(r, REPORT_SORT_SELF, &cnt), cnt, "a", 17, 0, 1);
	assert_row(report_rows(r, REPORT_SORT_SELF, &cnt), cnt, "unknown", 20, 1, 1);
	report_free(r);
	intern_free(in);
}

static void test_by_line(void **state)
{
	struct profile p[2];
	struct report *r = fill(REPORT_BY_LINE, false, p);
	const struct report_row *rows;
	size_t cnt;

	rows = report_rows(r, REPORT_SORT_SELF, &cnt);
	assert_int_equal(cnt, 3);
	assert_row(rows, cnt, "a", 1, 12, 12);
	assert_row(rows, cnt, "a", 2, 2, 6);
	assert_row(rows, cnt, "b", 10, 0, 14);
	clean(r, p);
}

static void test_by_process(void **state)
{
	struct profile p[2];
	struct report *r = fill(REPORT_BY_PROCESS, false, p);
	const struct report_row *rows;
	size_t cnt;

	rows = report_rows(r, REPORT_SORT_NAME, &cnt);
	assert_int_equal(cnt, 2);
	assert_int_equal(rows[1].profile, 1);
	assert_row(rows, cnt, "one", 0, 8, 8);
	assert_row(rows, cnt, "two", 0, 8, 8);
	clean(r, p);
}

static void test_by_thread(void **state)
{
	struct profile p[2];
	struct report *r = fill(REPORT_BY_THREAD, false, p);
	const struct report_row *rows;
	size_t cnt;

	/* The same thread id in another process is another thread. */
	rows = report_rows(r, REPORT_SORT_SELF, &cnt);
	assert_int_equal(cnt, 4);
	assert_int_equal(rows[0].self, 6);
	assert_int_equal(rows[0].thread_id, 7);
	assert_int_equal(rows[0].profile, 0);
	assert_int_equal(rows[1].profile, 1);
	assert_int_equal(rows[2].self, 2);
	assert_int_equal(rows[2].thread_id, 8);
	clean(r, p);
}

static void test_nothing(void **state)
{
	struct report *r = report_new(REPORT_BY_FUNCTION);
	size_t cnt = 1;

	assert_non_null(report_rows(r, REPORT_SORT_SELF, &cnt));
	assert_int_equal(cnt, 0);
	report_free(r);
}

static uint32_t add_in(struct intern *in, const char *file, const char *func)
{
	struct frame f = { .line = 1, .end_line = 1, .opcode = OPCODE_NONE };
	uint32_t id;

	assert_int_equal(intern_string(in, file, strlen(file), &f.file), 0);
	assert_int_equal(intern_string(in, func, strlen(func), &f.func), 0);
	assert_int_equal(intern_frame(in, &f, &id), 0);
	return id;
}

/* Only project code has rows: libraries, machine code and details count for their caller in it. */
static void test_mine(void **state)
{
	struct report *r = start(REPORT_BY_FUNCTION, false);
	struct intern *in = intern_new();
	uint32_t own = add_in(in, "/srv/app.py", "own"), other = add_in(in, "/srv/b.py", "other");
	uint32_t json = add_in(in, "/usr/lib/python3.11/json/encoder.py", "encode");
	uint32_t flask = add_in(in, "/v/lib/python3.11/site-packages/flask/app.py", "run");
	const struct report_row *rows;
	uint32_t gc, read;
	size_t cnt;

	assert_int_equal(intern_synthetic(in, FRAME_SYNTHETIC, "<GC>", &gc), 0);
	assert_int_equal(intern_native(in, "libc.so.6", NULL, "read", 0, &read), 0);
	report_show_mine(r);
	assert_int_equal(report_begin(r, intern_tables(in), "x"), 0);
	sample(r, 1, 7, 2, own, flask);
	sample(r, 2, 7, 3, json, own, flask);
	sample(r, 4, 7, 5, gc, json, own, flask, other);
	sample(r, 8, 7, 2, json, flask);
	sample(r, 16, 7, 2, read, other);
	sample(r, 32, 7, 1, read);
	sample(r, 64, 7, 0);
	assert_int_equal(report_end(r), 0);
	rows = report_rows(r, REPORT_SORT_SELF, &cnt);
	assert_int_equal(report_sample_cnt(r), 127);
	assert_int_equal(cnt, 2);
	assert_row(rows, cnt, "own", 1, 7, 7);
	assert_row(rows, cnt, "other", 1, 16, 20);
	report_free(r);
	intern_free(in);
}

static void test_thread_map(void **state)
{
	struct thread_map *m = thread_map_new();
	uint32_t index, round, i;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < 10000; i++) {
			assert_int_equal(thread_map_get(m, i / 2 * 64, i % 2, &index), 0);
			assert_int_equal(index, i);
		}
	}
	thread_map_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_function), cmocka_unit_test(test_by_line),
		cmocka_unit_test(test_by_process),  cmocka_unit_test(test_by_thread),
		cmocka_unit_test(test_nothing),	    cmocka_unit_test(test_thread_map),
		cmocka_unit_test(test_detail),	    cmocka_unit_test(test_no_function),
		cmocka_unit_test(test_native),	    cmocka_unit_test(test_mine),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_first_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
