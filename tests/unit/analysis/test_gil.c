// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_gil.c - made-up profiles whose waits and holders can be counted by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/gil.h"
#include "analysis/gil_holders.h"
#include "analysis/gil_rows.h"
#include "base/util.h"
#include "bpf/abi.h"
#include "model/intern.h"

#define STEP 1000	/* us */
#define HOLDS (STATUS_HAS_GIL | STATUS_ON_CPU)
#define WAITS STATUS_GIL_REQUESTED

struct kept {
	uint64_t time_us, tid;
	uint32_t interp, frames[4], n;
	uint8_t status;
};

/* A profile in the making; its samples go through both runs as they were added. */
struct made {
	struct intern *in;
	struct profile_meta meta;
	struct buf events;
	struct gil *gil;
	struct gil_rows *rows;
};

static struct made start(enum profile_mode mode, int minor)
{
	return (struct made){ .in = intern_new(), .meta = {
		.python_major = 3, .python_minor = minor, .interval_us = STEP, .mode = mode } };
}

static uint32_t frame(struct made *m, const char *func, int line, int column)
{
	struct frame f = { .line = line, .end_line = line, .column = column,
			   .end_column = column, .opcode = OPCODE_NONE };
	uint32_t id;

	if (line < 0) {
		assert_int_equal(intern_synthetic(m->in, FRAME_SYNTHETIC, func, &id), 0);
		return id;
	}
	assert_int_equal(intern_string(m->in, "/x.py", 5, &f.file), 0);
	assert_int_equal(intern_string(m->in, func, strlen(func), &f.func), 0);
	assert_int_equal(intern_frame(m->in, &f, &id), 0);
	return id;
}

/* cnt samples of a thread, STEP apart, all with these frames, innermost first. */
static void samples(struct made *m, uint64_t tid, uint32_t interp, uint64_t time_us,
		    unsigned int cnt, uint8_t status, uint32_t n, ...)
{
	struct kept k = { .tid = tid, .interp = interp, .n = n, .status = status };
	va_list ap;
	uint32_t i;

	va_start(ap, n);
	for (i = 0; i < n; i++)
		k.frames[i] = va_arg(ap, uint32_t);
	va_end(ap);
	for (i = 0; i < cnt; i++) {
		k.time_us = time_us + (uint64_t)i * STEP;
		assert_int_equal(buf_add(&m->events, &k, sizeof(k)), 0);
	}
}

static void feed(struct made *m, int (*run)(void *ctx, const struct event *ev), uint64_t from_us)
{
	const struct kept *k = (const struct kept *)(const void *)m->events.data;
	size_t i;

	for (i = 0; i < m->events.len / sizeof(*k); i++) {
		struct event ev = { .time_us = k[i].time_us, .thread_id = k[i].tid,
				    .interp_id = k[i].interp, .nframes = k[i].n,
				    .frames = k[i].frames, .weight = 1, .status = k[i].status };

		if (ev.time_us >= from_us)
			assert_int_equal(run(m->gil, &ev), 0);
	}
}

/* waits_from_us: a condition that only waits must meet. */
static void finish_from(struct made *m, bool shared, uint64_t waits_from_us)
{
	m->gil = gil_new(&m->meta, intern_tables(m->in), shared);
	assert_non_null(m->gil);
	feed(m, gil_hold_event, 0);
	assert_int_equal(gil_holds_done(m->gil), 0);
	feed(m, gil_wait_event, waits_from_us);
	gil_waits_done(m->gil);
	/* Results outlive the profile. */
	intern_free(m->in);
	m->in = NULL;
	m->rows = gil_rows_new(m->gil);
	assert_non_null(m->rows);
}

static void finish(struct made *m)
{
	finish_from(m, false, 0);
}

static void clean(struct made *m)
{
	gil_rows_free(m->rows);
	gil_free(m->gil);
	buf_free(&m->events);
}

static bool is_place(const struct made *m, uint32_t place, const char *func, int line)
{
	const struct profile_tables *t = gil_tables(m->gil);
	const struct frame *f = &t->frames[place];
	const struct string_ref *s = &t->strings[f->func];

	return s->len == strlen(func) && !memcmp(s->data, func, s->len) && f->line == line;
}

static uint32_t line_no(const struct made *m, const char *func, int line)
{
	uint32_t cnt, i;
	const struct gil_line *lines = gil_lines(m->gil, &cnt);

	for (i = 0; i < cnt; i++)
		if (is_place(m, lines[i].place, func, line))
			return i;
	return GIL_NO_LINE;
}

static uint64_t pair(const struct made *m, const char *holder, int hline, const char *waiter,
		     int wline)
{
	uint32_t h = holder ? line_no(m, holder, hline) : GIL_NO_LINE, i;
	uint32_t w = line_no(m, waiter, wline);

	for (i = 0; i < gil_pair_cnt(m->gil); i++) {
		struct gil_pair p = gil_pair(m->gil, i);

		if (p.holder == h && p.waiter == w)
			return p.waited;
	}
	return 0;
}

static const struct gil_process *process(const struct made *m, uint32_t i)
{
	uint32_t cnt;
	const struct gil_process *p = gil_processes(m->gil, &cnt);

	assert_true(i < cnt);
	return &p[i];
}

static const struct gil_thread *thread(const struct made *m, uint64_t tid)
{
	uint32_t cnt, i;
	const struct gil_thread *threads = gil_threads(m->gil, &cnt);

	for (i = 0; i < cnt; i++)
		if (threads[i].thread_id == tid)
			return &threads[i];
	fail_msg("no thread %d", (int)tid);
	return NULL;
}

/* Two threads take turns; the file has one of them whole before the other. */
static void test_turns(void **state)
{
	struct made m = start(MODE_WALL, 14);
	uint32_t main_ = frame(&m, "main", 1, 0), hold = frame(&m, "hold", 10, 0);
	uint32_t hold_b = frame(&m, "hold", 10, 8), want = frame(&m, "want", 20, 0);
	const struct gil_line *lines;
	uint32_t cnt;

	samples(&m, 2, 0, 1300, 50, WAITS, 2, want, main_);
	samples(&m, 2, 0, 51300, 30, HOLDS, 2, want, main_);
	/* Columns tell no lines apart. */
	samples(&m, 1, 0, 1000, 25, HOLDS | STATUS_MAIN_THREAD, 2, hold, main_);
	samples(&m, 1, 0, 26000, 25, HOLDS, 2, hold_b, main_);
	samples(&m, 1, 0, 51000, 30, WAITS, 2, hold, main_);
	finish(&m);
	assert_int_equal(gil_known(m.gil, process(&m, 0), false), GIL_KNOWN);
	assert_true(gil_holders_known(process(&m, 0)));
	assert_int_equal(process(&m, 0)->held, 80);
	assert_int_equal(process(&m, 0)->waited, 80);
	assert_int_equal(process(&m, 0)->first_us, 1000);
	assert_int_equal(process(&m, 0)->last_us, 80300);
	assert_int_equal(pair(&m, "hold", 10, "want", 20), 50);
	assert_int_equal(pair(&m, "want", 20, "hold", 10), 30);
	assert_int_equal(gil_pair_cnt(m.gil), 2);
	assert_int_equal(thread(&m, 1)->held, 50);
	assert_int_equal(thread(&m, 1)->waited, 30);
	assert_true(thread(&m, 1)->is_main);
	assert_int_equal(thread(&m, 2)->waited, 50);
	lines = gil_lines(m.gil, &cnt);
	assert_int_equal(cnt, 2);
	assert_int_equal(lines[line_no(&m, "hold", 10)].blamed, 50);
	assert_int_equal(lines[line_no(&m, "hold", 10)].waited, 30);
	assert_int_equal(lines[line_no(&m, "want", 20)].blamed, 30);
	clean(&m);
}

/* The longest wait first; a stack is told by all its lines. */
static void test_rows(void **state)
{
	struct made m = start(MODE_GIL, 14);
	uint32_t a = frame(&m, "a", 1, 0), b = frame(&m, "b", 2, 0), w = frame(&m, "w", 3, 0);
	struct gil_order threads, pairs, stacks;
	struct gil_stack s;
	uint32_t cnt;

	samples(&m, 1, 0, 1000, 60, HOLDS, 1, a);
	samples(&m, 2, 0, 1000, 20, WAITS, 2, w, a);
	samples(&m, 3, 0, 1000, 40, WAITS, 2, w, b);
	samples(&m, 4, 0, 1000, 60, 0, 1, b);
	finish(&m);
	threads = gil_rows_threads(m.rows, 0);
	assert_int_equal(threads.cnt, 3);	/* the fourth has nothing to do with it */
	assert_int_equal(gil_rows_thread_cnt(m.rows, 0), 4);
	assert_int_equal(gil_threads(m.gil, &cnt)[threads.ids[0]].thread_id, 3);
	assert_int_equal(gil_threads(m.gil, &cnt)[threads.ids[1]].thread_id, 2);
	assert_int_equal(gil_threads(m.gil, &cnt)[threads.ids[2]].thread_id, 1);
	pairs = gil_rows_pairs(m.rows, 0);
	assert_int_equal(pairs.cnt, 1);
	assert_int_equal(gil_pair(m.gil, pairs.ids[0]).waited, 60);
	stacks = gil_rows_stacks(m.rows, 0);
	assert_int_equal(stacks.cnt, 2);
	s = gil_stack(m.gil, stacks.ids[0]);
	assert_int_equal(s.waited, 40);
	assert_int_equal(s.n, 2);
	assert_true(is_place(&m, s.places[0], "w", 3) && is_place(&m, s.places[1], "b", 2));
	assert_int_equal(gil_stack(m.gil, stacks.ids[1]).waited, 20);
	clean(&m);
}

/* Nobody near, and oneself, are no holders. */
static void test_nobody(void **state)
{
	struct made m = start(MODE_WALL, 14);
	uint32_t hold = frame(&m, "hold", 10, 0), want = frame(&m, "want", 20, 0);

	samples(&m, 1, 0, 10000, 5, HOLDS, 1, hold);	/* until 14000 */
	samples(&m, 2, 0, 8000, 8, WAITS, 1, want);	/* until 15000: 9000 and 15000 are near */
	samples(&m, 2, 0, 16000, 3, WAITS, 1, want);
	samples(&m, 2, 0, 19000, 1, HOLDS, 1, want);
	samples(&m, 2, 0, 20000, 1, WAITS, 1, want);
	finish(&m);
	assert_int_equal(pair(&m, "hold", 10, "want", 20), 7);
	assert_int_equal(pair(&m, NULL, 0, "want", 20), 5);
	assert_int_equal(process(&m, 0)->waited, 12);
	clean(&m);
}

/* Samples far apart, turns short: the nearest one decides, not the stretch that is going on. */
static void test_the_nearest_counts(void **state)
{
	struct made m = start(MODE_WALL, 14);
	uint32_t a = frame(&m, "a", 1, 0), b = frame(&m, "b", 2, 0), w = frame(&m, "w", 3, 0);

	samples(&m, 1, 0, 10000, 40, HOLDS, 1, a);
	samples(&m, 2, 0, 10400, 40, HOLDS, 1, b);
	samples(&m, 3, 0, 10500, 40, WAITS, 1, w);	/* 100 us from b, 500 from a */
	samples(&m, 4, 0, 10100, 40, WAITS, 1, w);	/* 100 us from a */
	finish(&m);
	assert_int_equal(pair(&m, "b", 2, "w", 3), 40);
	assert_int_equal(pair(&m, "a", 1, "w", 3), 40);
	clean(&m);
}

/* C and kernel frames are where their caller is; a collection is a place of its own. */
static void test_places(void **state)
{
	struct made m = start(MODE_WALL, 14);
	uint32_t py = frame(&m, "py", 7, 0), gc = frame(&m, "<GC>", -1, 0);
	uint32_t native = frame(&m, "<native>", -1, 0), code;

	assert_int_equal(intern_native(m.in, "libfoo.so", "foo.c", "foo", 7, &code), 0);
	samples(&m, 1, 0, 1000, 3, HOLDS, 3, native, code, py);
	samples(&m, 1, 0, 4000, 3, HOLDS, 2, gc, py);
	samples(&m, 2, 0, 1000, 3, WAITS, 0);
	samples(&m, 2, 0, 4000, 3, WAITS, 1, native);
	finish(&m);
	assert_int_equal(pair(&m, "py", 7, "<no Python frame>", -1), 3);
	assert_int_equal(pair(&m, "<GC>", -1, "<native>", -1), 3);
	clean(&m);
}

/* From 3.12 on interpreters may have a GIL each; before, there was one. */
static void test_interpreters(void **state)
{
	int minor;

	for (minor = 11; minor <= 12; minor++) {
		struct made m = start(MODE_WALL, minor);
		uint32_t a = frame(&m, "a", 1, 0), b = frame(&m, "b", 2, 0);
		uint32_t w = frame(&m, "w", 3, 0), cnt;
		const struct gil_interp *interps;

		samples(&m, 1, 0, 10000, 10, HOLDS, 1, a);
		samples(&m, 2, 5, 10300, 10, HOLDS, 1, b);
		samples(&m, 3, 0, 10300, 10, WAITS, 1, w);
		samples(&m, 3, 5, 30000, 1, WAITS, 1, w);
		finish(&m);
		assert_int_equal(pair(&m, "a", 1, "w", 3), minor == 12 ? 10 : 0);
		assert_int_equal(pair(&m, "b", 2, "w", 3), minor == 12 ? 0 : 10);
		interps = gil_rows_interps(m.rows, 0, &cnt);
		assert_int_equal(cnt, 2);
		assert_int_equal(interps[0].interp_id, 0);
		assert_int_equal(interps[0].waited, 10);
		assert_int_equal(interps[1].interp_id, 5);
		assert_int_equal(interps[1].held, 10);
		assert_int_equal(interps[1].waited, 1);
		clean(&m);
	}
}

/* One file of two processes: neither is blamed for the other. */
static void test_processes(void **state)
{
	struct made m = start(MODE_WALL, 14);
	uint32_t one = frame(&m, "<process 11 one>", -1, 0);
	uint32_t two = frame(&m, "<process 22 two>", -1, 0);
	uint32_t h = frame(&m, "h", 1, 0), w = frame(&m, "w", 2, 0), cnt, i;

	samples(&m, 11, 0, 1000, 10, HOLDS, 2, h, one);
	samples(&m, 12, 0, 1000, 10, WAITS, 2, w, one);
	samples(&m, 22, 0, 1000, 10, WAITS, 2, w, two);
	samples(&m, 33, 0, 1000, 10, WAITS, 1, w);
	finish_from(&m, true, 0);
	gil_processes(m.gil, &cnt);
	assert_int_equal(cnt, 3);
	assert_int_equal(process(&m, 0)->tgid, 11);
	assert_string_equal(process(&m, 0)->comm, "one");
	assert_int_equal(process(&m, 1)->tgid, 22);
	assert_int_equal(process(&m, 2)->tgid, 0);
	for (i = 0; i < 3; i++) {
		struct gil_order pairs = gil_rows_pairs(m.rows, i);
		struct gil_order stacks = gil_rows_stacks(m.rows, i);
		struct gil_pair p;

		assert_int_equal(process(&m, i)->waited, 10);
		assert_int_equal(pairs.cnt, 1);
		p = gil_pair(m.gil, pairs.ids[0]);
		assert_int_equal(p.waited, 10);
		assert_int_equal(p.holder == GIL_NO_LINE, i > 0);
		assert_int_equal(stacks.cnt, 1);
		assert_int_equal(gil_stack(m.gil, stacks.ids[0]).n, 1);
		assert_int_equal(gil_rows_thread_cnt(m.rows, i), i ? 1 : 2);
	}
	clean(&m);
}

/* A condition chooses waits; holders are looked for everywhere. */
static void test_chosen_waits(void **state)
{
	struct made m = start(MODE_WALL, 14);
	uint32_t h = frame(&m, "h", 1, 0), w = frame(&m, "w", 2, 0);

	samples(&m, 1, 0, 1000, 10, HOLDS, 1, h);
	samples(&m, 2, 0, 1000, 10, WAITS, 1, w);
	finish_from(&m, false, 6000);
	assert_int_equal(process(&m, 0)->held, 10);
	assert_int_equal(process(&m, 0)->wanted, 10);
	assert_int_equal(process(&m, 0)->waited, 5);
	assert_int_equal(pair(&m, "h", 1, "w", 2), 5);
	clean(&m);
}

static enum gil_known known(enum profile_mode mode, uint8_t status, bool free_threaded)
{
	struct made m = start(mode, 14);
	enum gil_known is;

	if (status != 0xff)
		samples(&m, 1, 0, 1000, 10, status, 1, frame(&m, "f", 1, 0));
	finish(&m);
	is = gil_known(m.gil, process(&m, 0), free_threaded);
	clean(&m);
	return is;
}

static void test_what_is_known(void **state)
{
	assert_int_equal(known(MODE_WALL, HOLDS, false), GIL_KNOWN);
	assert_int_equal(known(MODE_GIL, WAITS, false), GIL_KNOWN);
	assert_int_equal(known(MODE_ALL, HOLDS, true), GIL_NO_GIL);
	assert_int_equal(known(MODE_WALL, STATUS_ON_CPU, false), GIL_NEVER_SEEN);
	assert_int_equal(known(MODE_WALL, 0xff, false), GIL_NEVER_SEEN);
	assert_int_equal(known(MODE_CPU, HOLDS, false), GIL_NOT_RECORDED);
	assert_int_equal(known(MODE_CPU, WAITS | STATUS_ON_CPU, false), GIL_NOT_RECORDED);
	assert_int_equal(known(MODE_EXCEPTION, HOLDS, false), GIL_NOT_RECORDED);
	assert_int_equal(known(MODE_UNKNOWN, HOLDS, false), GIL_NOT_RECORDED);
	assert_int_equal(known(MODE_UNKNOWN, WAITS, false), GIL_KNOWN);
}

/* Only threads that are off the CPU: nobody can be seen holding. */
static void test_holders_not_recorded(void **state)
{
	struct made m = start(MODE_WALL, 14);

	samples(&m, 1, 0, 1000, 10, WAITS, 1, frame(&m, "w", 1, 0));
	finish(&m);
	assert_false(gil_holders_known(process(&m, 0)));
	clean(&m);
}

/* Two threads that hold the GIL at the same time, and two that take turns with each sample. */
/* Threads of C count as time of the process, and not as threads that could want the GIL. */
static void test_native_threads(void **state)
{
	struct made m = start(MODE_WALL, 12);
	uint32_t f = frame(&m, "f", 10, 0), native = frame(&m, "<native thread blas>", -1, -1);
	uint32_t code, none = frame(&m, "<no Python frame>", -1, -1), cnt;

	samples(&m, 1, 0, 0, 10, HOLDS, 1, f);
	samples(&m, 2, 0, 0, 20, STATUS_ON_CPU, 1, native);
	samples(&m, 3, 0, 0, 5, STATUS_ON_CPU, 1, none);
	/* With its machine code. */
	assert_int_equal(intern_native(m.in, "libblas.so", "d.c", "dgemm", 7, &code), 0);
	samples(&m, 4, 0, 0, 4, STATUS_ON_CPU, 2, code, native);
	finish(&m);
	assert_int_equal(process(&m, 0)->samples, 39);
	assert_int_equal(process(&m, 0)->on_cpu, 39);
	assert_int_equal(process(&m, 0)->held, 10);
	assert_int_equal(process(&m, 0)->last_us, 19 * STEP);
	gil_threads(m.gil, &cnt);
	assert_int_equal(cnt, 2);
	assert_int_equal(gil_rows_thread_cnt(m.rows, 0), 2);
	clean(&m);
}

static void test_crowds(void **state)
{
	int parallel;

	for (parallel = 0; parallel < 2; parallel++) {
		struct made m = start(MODE_WALL, 14);
		uint32_t a = frame(&m, "a", 1, 0), b = frame(&m, "b", 2, 0), i;

		for (i = 0; i < 1000; i++) {
			if (parallel || i & 1)
				samples(&m, 1, 0, i * STEP, 1, HOLDS, 1, a);
			if (parallel || !(i & 1))
				samples(&m, 2, 0, i * STEP + 400, 1, HOLDS, 1, b);
			/* An interpreter with a GIL of its own. */
			samples(&m, 3, 1, i * STEP + 700, 1, HOLDS, 1, b);
		}
		finish(&m);
		assert_int_equal(gil_known(m.gil, process(&m, 0), false),
				 parallel ? GIL_NO_GIL : GIL_KNOWN);
		clean(&m);
	}
}

static void test_holders_are_bounded(void **state)
{
	struct gil_holders *h = gil_holders_new(1500, false);
	struct gil_moment m = { .thread = 1 };
	uint32_t open = 0, i;

	assert_non_null(h);
	for (i = 0; i < GIL_HOLDS_MAX; i++) {
		m.time_us = i * 10ull;
		m.line = i & 1;
		assert_int_equal(gil_holders_add(h, &m, &open), 0);
	}
	m.line = 7;
	assert_int_equal(gil_holders_add(h, &m, &open), -ENOSPC);
	/* What goes on needs no room. */
	m.line = (i - 1) & 1;
	assert_int_equal(gil_holders_add(h, &m, &open), 0);
	gil_holders_sort(h);
	m = (struct gil_moment){ .time_us = 100001, .thread = 2 };
	assert_int_equal(gil_holders_find(h, &m, NULL), 10000 & 1);
	m.time_us = 100011;
	assert_int_equal(gil_holders_find(h, &m, NULL), 10001 & 1);
	m.process = 1;
	assert_int_equal(gil_holders_find(h, &m, NULL), GIL_NOBODY);
	gil_holders_free(h);
}

/* Cells are the pairs of lines and of threads at once; a full table leaves out what is new. */
static void test_cells(void **state)
{
	struct gil_cells *c = gil_cells_new();
	struct gil_cell cell = { .holder = 1, .waiter = 2, .holder_line = 3, .waiter_line = 4,
				 .waited = 5 }, got;
	uint32_t i;

	assert_int_equal(gil_cells_add(c, &cell), 0);
	assert_int_equal(gil_cells_add(c, &cell), 0);
	cell.holder = 4;
	assert_int_equal(gil_cells_add(c, &cell), 0);
	cell.holder_line = cell.holder = GIL_NOBODY;
	assert_int_equal(gil_cells_add(c, &cell), 0);
	assert_int_equal(gil_cells_cnt(c), 3);
	got = gil_cells_get(c, 0);
	assert_int_equal(got.waited, 10);
	assert_int_equal(got.holder, 1);
	assert_int_equal(got.waiter, 2);
	assert_int_equal(got.holder_line, 3);
	assert_int_equal(got.waiter_line, 4);
	assert_int_equal(gil_cells_get(c, 2).holder_line, GIL_NOBODY);
	for (i = 3; i < GIL_CELLS_MAX; i++) {
		cell.waiter_line = 100 + i % 1024;
		cell.waiter = i / 1024;
		assert_int_equal(gil_cells_add(c, &cell), 0);
	}
	cell.waiter = 7777;
	assert_int_equal(gil_cells_add(c, &cell), -ENOSPC);
	cell.waiter = 1;
	assert_int_equal(gil_cells_add(c, &cell), 0);
	assert_int_equal(gil_cells_cnt(c), GIL_CELLS_MAX);
	gil_cells_free(c);
}

/* Times and intervals that files may claim. */
static void test_extreme_times(void **state)
{
	static const uint64_t times[] = { 0, 1, UINT64_MAX / 2, UINT64_MAX - 1, UINT64_MAX };
	struct gil_holders *h = gil_holders_new(UINT64_MAX, true);
	struct gil_moment m = { .thread = 1, .line = 3 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(times); i++) {
		uint32_t open = 0;

		m.time_us = times[i];
		assert_int_equal(gil_holders_add(h, &m, &open), 0);
		m.time_us = times[ARRAY_SIZE(times) - 1 - i];
		assert_int_equal(gil_holders_add(h, &m, &open), 0);
	}
	gil_holders_sort(h);
	m.thread = 2;
	for (i = 0; i < ARRAY_SIZE(times); i++) {
		m.time_us = times[i];
		assert_int_equal(gil_holders_find(h, &m, NULL), 3);
	}
	gil_holders_free(h);
}

/* 1,100 lines that hold, as many that wait, all pairs of them. */
static void test_pairs_are_bounded(void **state)
{
	enum { LINES = 1100 };
	struct made m = start(MODE_WALL, 14);
	struct event ev = { .nframes = 1, .weight = 1 };
	uint32_t *ids = malloc(2 * LINES * sizeof(*ids)), h, w;
	char name[16];

	for (h = 0; h < 2 * LINES; h++) {
		snprintf(name, sizeof(name), "f%u", h);
		ids[h] = frame(&m, name, 1, 0);
	}
	m.gil = gil_new(&m.meta, intern_tables(m.in), false);
	for (h = 0; h < LINES; h++) {
		ev = (struct event){ .time_us = h * 10000ull, .thread_id = 1, .nframes = 1,
				     .frames = &ids[h], .weight = 1, .status = HOLDS };
		assert_int_equal(gil_hold_event(m.gil, &ev), 0);
	}
	assert_int_equal(gil_holds_done(m.gil), 0);
	for (h = 0; h < LINES; h++) {
		for (w = 0; w < LINES; w++) {
			ev = (struct event){ .time_us = h * 10000ull, .thread_id = 2, .nframes = 1,
					     .frames = &ids[LINES + w], .weight = 1,
					     .status = WAITS };
			assert_int_equal(gil_wait_event(m.gil, &ev), 0);
		}
	}
	gil_waits_done(m.gil);
	assert_int_equal(gil_pair_cnt(m.gil), GIL_PAIRS_MAX);
	assert_int_equal(process(&m, 0)->waited, LINES * LINES);
	assert_int_equal(process(&m, 0)->pairs_left_out, LINES * LINES - GIL_PAIRS_MAX);
	assert_int_equal(gil_stack_cnt(m.gil), LINES);
	free(ids);
	intern_free(m.in);
	clean(&m);
}

/* Deep stacks, all different: their bytes are bounded, and every wait is counted all the same. */
static void test_stacks_are_bounded(void **state)
{
	enum { DEEP = EVENT_MAX_FRAMES, MANY = 70000 };
	struct made m = start(MODE_WALL, 14);
	uint32_t a = frame(&m, "a", 1, 0), b = frame(&m, "b", 2, 0), frames[DEEP], i, n;
	struct event ev = { .thread_id = 2, .nframes = DEEP, .frames = frames, .weight = 1,
			    .status = WAITS };

	m.gil = gil_new(&m.meta, intern_tables(m.in), false);
	assert_int_equal(gil_holds_done(m.gil), 0);
	for (i = 0; i < MANY; i++) {
		for (n = 0; n < DEEP; n++)
			frames[n] = n < 17 && i >> n & 1 ? a : b;
		assert_int_equal(gil_wait_event(m.gil, &ev), 0);
	}
	gil_waits_done(m.gil);
	assert_in_range(gil_stack_cnt(m.gil), GIL_STACKS_MAX_BYTES / 1028,
			GIL_STACKS_MAX_BYTES / 1028 + 1);
	assert_int_equal(process(&m, 0)->waited, MANY);
	assert_int_equal(process(&m, 0)->stacks_left_out, MANY - gil_stack_cnt(m.gil));
	intern_free(m.in);
	clean(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_nobody),
		cmocka_unit_test(test_the_nearest_counts),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_interpreters),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_chosen_waits),
		cmocka_unit_test(test_what_is_known),
		cmocka_unit_test(test_holders_not_recorded),
		cmocka_unit_test(test_native_threads),
		cmocka_unit_test(test_crowds),
		cmocka_unit_test(test_cells),
		cmocka_unit_test(test_holders_are_bounded),
		cmocka_unit_test(test_extreme_times),
		cmocka_unit_test(test_pairs_are_bounded),
		cmocka_unit_test(test_stacks_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
