// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_memory_rows.c - rows of two small files, by everything; what checks say of the kernel's
 * count; moments of files with and without checks.
 */
#include "analysis/memory_rows.h"
#include "analysis/memory_series.h"
#include "tests/unit/mlyze_test.h"

#define START 1000000ull
#define MINUTE 60000000ull

struct file {
	struct mlyze_test m;
	struct mlyze_notes notes;
};

static void mark(struct mlyze_test *m, uint64_t time_us, const char *text)
{
	mlyze_test_mark(m, time_us, text, strlen(text));
}

/* A stack of main and f(). */
static void alloc_in_f(struct mlyze_test *m, uint64_t time_us, uint64_t addr, uint64_t bytes,
		       int32_t line, uint16_t thread)
{
	const struct string_ref a = { "/a.py", 5 }, b = { "/b.py", 5 }, top = { "main", 4 },
				f = { "f", 1 };
	const uint32_t frames[] = { mlyze_test_frame(m, &b, &f, line),
				    mlyze_test_frame(m, &a, &top, 1) };

	assert_int_equal(mlyze_stream_alloc(m->stream, time_us, addr, bytes, (uint32_t)line,
					    frames, 2, thread), 0);
}

/* f() at line 11 keeps 100 bytes a minute, at line 10 it gives back what it took. */
static void write_events(struct mlyze_test *m, bool recorded)
{
	uint64_t i, t = START;
	char text[128];

	if (recorded) {
		mark(m, t, "tachbpf recording mode=sampled every=65536");
		mark(m, t, "tachbpf process pid=7 comm=app container=web");
		mark(m, t, "tachbpf thread n=3 tid=70 name=worker");
		mark(m, t, "tachbpf check rss_anon=1000000 swapped=0 held=0 unchecked=0");
	}
	for (i = 1; i <= 5; i++) {
		t += MINUTE;
		alloc_in_f(m, t - 2, i * 16, 100, 11, 3);
		alloc_in_f(m, t - 2, 8, 50, 10, 4);
		assert_int_equal(mlyze_stream_freed(m->stream, t - 1, 8), 0);
		snprintf(text, sizeof(text), "tachbpf check rss_anon=%llu swapped=%d held=%llu "
			 "unchecked=9", (unsigned long long)(1000000 + i * 100000), 5,
			 (unsigned long long)i * 95000);
		if (recorded)
			mark(m, t, text);
	}
}

/* Of f() at line 11, the first stack: three quarters are others' now. Of line 10 too little. */
static void write_fates(struct mlyze_test *m)
{
	mark(m, START + 5 * MINUTE, "tachbpf fate stack=0 pages=8 own=100 reused=250 unused=50");
	mark(m, START + 5 * MINUTE, "tachbpf fate stack=1 pages=2 own=0 reused=20 unused=0");
	mark(m, START + 5 * MINUTE, "tachbpf fate stack=2 pages=9 own=0 reused=2000 unused=0");
	mark(m, START + 5 * MINUTE, "tachbpf fate pages=9 own=0 reused=2000 unused=0");
}

static struct file file_new(bool recorded)
{
	struct file f = { .m = mlyze_test_new(START) };

	write_events(&f.m, recorded);
	if (recorded)
		write_fates(&f.m);
	mlyze_test_open(&f.m);
	assert_int_equal(mlyze_notes_read(f.m.file, &f.notes), 0);
	return f;
}

static void file_free(struct file *f)
{
	mlyze_notes_free(&f->notes);
	mlyze_test_free(&f->m);
}

/* Join a file to rows. Returns how many it has itself. */
static size_t add(struct memory_rows *rows, const struct file *f, const struct memory_scope *scope,
		  struct memory_list *list)
{
	struct memory_source src = { .file = f->m.file, .notes = &f->notes, .pid = f->notes.pid,
				     .comm = f->notes.comm, .container = f->notes.container,
				     .names = f->notes.names };
	struct mlyze_stats stats;

	assert_int_equal(memory_rows_add(rows, &src, scope, &stats, list), 0);
	mlyze_stats_free(&stats);
	return list->cnt;
}

static void test_by_everything(void **state)
{
	static const size_t wanted[] = {
		[MEM_BY_STACK] = 2, [MEM_BY_FILE] = 1, [MEM_BY_FUNCTION] = 1, [MEM_BY_LINE] = 2,
		[MEM_BY_PROCESS] = 1, [MEM_BY_CONTAINER] = 1, [MEM_BY_THREAD] = 2,
	};
	struct file a = file_new(true), b = file_new(false);
	enum mem_by by;

	(void)state;
	for (by = MEM_BY_STACK; by <= MEM_BY_THREAD; by++) {
		struct memory_scope scope = { .by = by, .intervals = 5 };
		struct memory_rows *rows = memory_rows_new(by);
		struct memory_list of_a, of_b;
		struct memory_row *all;
		bool code = by <= MEM_BY_LINE;
		uint64_t held = 0;
		size_t cnt, i;

		assert_int_equal(add(rows, &a, &scope, &of_a), wanted[by]);
		assert_int_equal(add(rows, &b, &scope, &of_b), wanted[by]);
		assert_int_equal(of_a.intervals, 5);
		assert_int_equal(of_a.total.held, 500);
		all = memory_rows_list(rows, &cnt);
		/* The same code in both files; but the second file's process is not known. */
		assert_int_equal(cnt, code ? wanted[by] : 2 * wanted[by]);
		for (i = 0; i < cnt; i++)
			held += (uint64_t)all[i].held;
		assert_int_equal(held, 1000);
		free(all);
		memory_list_free(&of_a);
		memory_list_free(&of_b);
		memory_rows_free(rows);
	}
	file_free(&a);
	file_free(&b);
}

static void test_keys(void **state)
{
	struct file a = file_new(true);
	struct memory_scope scope = { .by = MEM_BY_FUNCTION, .intervals = 5 };
	struct memory_rows *rows = memory_rows_new(MEM_BY_FUNCTION);
	struct memory_list list;
	struct memory_key key;

	(void)state;
	add(rows, &a, &scope, &list);
	key = memory_rows_key(rows, list.rows[0].key);
	assert_int_equal(key.own->line, 10);	/* the lowest */
	assert_int_equal(memory_rows_tables(rows)->strings[key.own->func].len, 1);
	assert_int_equal(list.rows[0].sums.allocated, 750);
	assert_true(list.rows[0].leaks);
	assert_true(list.rows[0].growth > 99.9 && list.rows[0].growth < 100.1);
	memory_list_free(&list);
	memory_rows_free(rows);

	rows = memory_rows_new(MEM_BY_THREAD);
	add(rows, &a, &(struct memory_scope){ .by = MEM_BY_THREAD, .intervals = 5 }, &list);
	assert_int_equal(memory_rows_sort(list.rows, list.cnt, MEM_SORT_LIVE, true), 1);
	key = memory_rows_key(rows, list.rows[0].key);
	assert_int_equal(key.tid, 70);
	assert_string_equal(key.thread, "worker");
	assert_string_equal(key.comm, "app");
	assert_string_equal(key.container, "web");
	assert_int_equal(key.pid, 7);
	memory_list_free(&list);
	memory_rows_free(rows);
	file_free(&a);
}

/* From minute 2 to minute 4: two blocks more, and what was there before is not new. */
static void test_range(void **state)
{
	struct file a = file_new(true);
	struct memory_scope scope = { .by = MEM_BY_FUNCTION, .intervals = 3,
				      .from_us = START + 2 * MINUTE,
				      .to_us = START + 4 * MINUTE };
	struct memory_rows *rows = memory_rows_new(MEM_BY_FUNCTION);
	struct memory_list list;

	(void)state;
	add(rows, &a, &scope, &list);
	assert_int_equal(list.total.held, 200);
	assert_int_equal(list.total.sums.before, 200);
	assert_int_equal(list.total.sums.live, 400);
	assert_int_equal(list.total.sums.allocated, 300);
	assert_int_equal(list.total.sums.peak, 450);
	assert_int_equal(list.intervals, 0);
	memory_list_free(&list);
	memory_rows_free(rows);
	file_free(&a);
}

/* The contents of the row with this many bytes allocated. */
static struct memory_contents contents_of(const struct memory_list *list, uint64_t allocated)
{
	size_t i;

	for (i = 0; i < list->cnt; i++)
		if (list->rows[i].sums.allocated == allocated)
			return list->rows[i].contents;
	fail();
	return (struct memory_contents){ 0 };
}

static void test_what_is_reused(void **state)
{
	struct file a = file_new(true), b = file_new(false);
	struct memory_scope scope = { .by = MEM_BY_LINE, .intervals = 5 };
	struct memory_rows *rows = memory_rows_new(MEM_BY_LINE);
	struct memory_contents c, none = { 0 };
	struct memory_list list;

	(void)state;
	add(rows, &a, &scope, &list);
	c = contents_of(&list, 500);
	assert_true(c.pages == 8 && c.own == 100 && c.reused == 250 && c.unused == 50);
	assert_true(memory_reused_share(&c) == 0.75);
	c = contents_of(&list, 250);
	assert_int_equal(c.reused, 20);
	assert_true(memory_reused_share(&c) < 0);	/* of two pages */
	/* The third mark is of a stack that is not there, and the fourth of none. */
	assert_int_equal(list.total.contents.pages, 10);
	assert_true(memory_reuse_is_large(&list.total.contents));
	memory_list_free(&list);
	/* Another file says nothing of it; and what is there at the end, not earlier. */
	add(rows, &b, &scope, &list);
	assert_memory_equal(&list.total.contents, &none, sizeof(none));
	assert_false(memory_reuse_is_large(&none));
	memory_list_free(&list);
	scope.to_us = START + 4 * MINUTE;
	add(rows, &a, &scope, &list);
	assert_memory_equal(&list.total.contents, &none, sizeof(none));
	memory_list_free(&list);
	memory_rows_free(rows);

	rows = memory_rows_new(MEM_BY_PROCESS);
	add(rows, &a, &(struct memory_scope){ .by = MEM_BY_PROCESS, .intervals = 5 }, &list);
	assert_int_equal(list.rows[0].contents.pages, 10);
	memory_list_free(&list);
	memory_rows_free(rows);
	rows = memory_rows_new(MEM_BY_THREAD);
	add(rows, &a, &(struct memory_scope){ .by = MEM_BY_THREAD, .intervals = 5 }, &list);
	assert_int_equal(list.rows[0].contents.pages, 0);
	memory_list_free(&list);
	memory_rows_free(rows);
	file_free(&a);
	file_free(&b);
}

static void test_what_the_kernel_counts(void **state)
{
	struct file a = file_new(true), b = file_new(false);
	struct memory_grown g = memory_grown(&a.notes, START, UINT64_MAX);

	(void)state;
	assert_true(g.known && g.seconds == 300 && g.unchecked == 9);
	assert_int_equal(g.resident, 500005);
	assert_int_equal(g.held, 475000);
	assert_true(memory_explained(&g) > 94.9 && memory_explained(&g) < 95.1);
	g = memory_grown(&a.notes, START + MINUTE, START + MINUTE);
	assert_false(g.known);
	assert_true(memory_explained(&g) < 0);
	assert_false(memory_grown(&b.notes, 0, UINT64_MAX).known);
	file_free(&a);
	file_free(&b);
}

static void test_moments(void **state)
{
	struct file a = file_new(true), b = file_new(false);
	uint64_t *moments, end = START + 5 * MINUTE;
	size_t cnt;

	(void)state;
	moments = memory_moments(&a.notes, START + 1, end, &cnt);
	assert_int_equal(cnt, 5);
	assert_int_equal(moments[0], START + MINUTE);
	free(moments);
	moments = memory_moments(&b.notes, START, end, &cnt);
	assert_int_equal(cnt, MEMORY_MOMENTS);
	assert_int_equal(moments[0], START);
	assert_int_equal(moments[cnt - 1], end);
	free(moments);
	moments = memory_moments(&b.notes, 5, 5, &cnt);
	assert_int_equal(cnt, 0);
	free(moments);
	file_free(&a);
	file_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_everything), cmocka_unit_test(test_keys),
		cmocka_unit_test(test_range), cmocka_unit_test(test_what_the_kernel_counts),
		cmocka_unit_test(test_moments), cmocka_unit_test(test_what_is_reused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
