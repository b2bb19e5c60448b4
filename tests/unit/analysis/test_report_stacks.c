// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_report_stacks.c - samples of many threads in turn, against sums that are made frame by
 * frame; and the same as runs of which a reader knows what they keep.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report.h"
#include "base/util.h"
#include "model/intern.h"

#define FUNCTIONS 40
#define LINES 3			/* of each function */
#define FRAMES (FUNCTIONS * LINES + 1)	/* the last one is <GC>, a detail */
#define THREADS 30

struct stack {
	uint64_t thread_id;
	uint32_t interp_id, depth, frames[EVENT_MAX_FRAMES];
};

struct run {
	uint64_t random;
	struct intern *in;
	uint32_t ids[FRAMES];
	uint32_t threads;
	struct stack stacks[THREADS];
	uint64_t self[FUNCTIONS + 1], total[FUNCTIONS + 1], squares[FUNCTIONS + 1];
	struct report *single[REPORT_BY_THREAD + 1], *runs[REPORT_BY_THREAD + 1];
};

static uint32_t below(struct run *r, uint32_t limit)
{
	r->random ^= r->random << 13;
	r->random ^= r->random >> 7;
	r->random ^= r->random << 17;
	return (uint32_t)(r->random >> 32) % limit;
}

static void make_frames(struct run *r)
{
	uint32_t i;

	r->in = intern_new();
	assert_non_null(r->in);
	for (i = 0; i < FRAMES - 1; i++) {
		struct frame f = { .line = 10 * (int32_t)(i / LINES + 1) + (int32_t)(i % LINES),
				   .column = 0, .end_column = 1, .opcode = OPCODE_NONE };
		char name[16];
		int len = snprintf(name, sizeof(name), "f%u", i / LINES);

		f.end_line = f.line;
		assert_int_equal(intern_string(r->in, "/x.py", 5, &f.file), 0);
		assert_int_equal(intern_string(r->in, name, (size_t)len, &f.func), 0);
		assert_int_equal(intern_frame(r->in, &f, &r->ids[i]), 0);
	}
	assert_int_equal(intern_synthetic(r->in, FRAME_SYNTHETIC, "<GC>", &r->ids[i]), 0);
}

/* Which function a frame is of; FUNCTIONS: <GC>. */
static uint32_t function_of(const struct run *r, uint32_t id)
{
	uint32_t i = 0;

	while (r->ids[i] != id)
		i++;
	return i / LINES;
}

/* Frame by frame. */
static void add_up(struct run *r, const struct stack *st, uint64_t weight, uint64_t cnt)
{
	bool seen[FUNCTIONS + 1] = { false };
	uint32_t i, self = FUNCTIONS, f;

	for (i = st->depth; i--;) {
		f = function_of(r, st->frames[i]);
		if (f == FUNCTIONS)
			continue;
		r->total[f] += seen[f] ? 0 : weight * cnt;
		seen[f] = true;
		self = f;
	}
	if (!st->depth)
		return;
	r->self[self] += weight * cnt;
	r->squares[self] += weight * weight * cnt;
	if (self == FUNCTIONS)
		r->total[self] += weight * cnt;
}

static void feed(struct report *const *reports, const struct event *ev)
{
	enum report_by by;

	for (by = 0; by <= REPORT_BY_THREAD; by++)
		assert_int_equal(report_event(reports[by], ev), 0);
}

/* Change a stack; how many frames are kept. */
static uint32_t change(struct run *r, struct stack *st)
{
	uint32_t frames[EVENT_MAX_FRAMES], keep = below(r, st->depth + 1), fresh, i;
	uint32_t most = below(r, 30) ? 10 : EVENT_MAX_FRAMES;

	fresh = below(r, (EVENT_MAX_FRAMES - keep < most ? EVENT_MAX_FRAMES - keep : most) + 1);
	for (i = 0; i < fresh; i++)
		frames[i] = r->ids[below(r, 9) ? below(r, FRAMES) : FRAMES - 1];
	memcpy(frames + fresh, st->frames + st->depth - keep, keep * sizeof(*frames));
	memcpy(st->frames, frames, (keep + fresh) * sizeof(*frames));
	st->depth = keep + fresh;
	return keep;
}

static void add_sample(struct run *r, bool weights)
{
	struct stack *st = &r->stacks[below(r, r->threads)];
	uint32_t keep = below(r, 3) ? change(r, st) : st->depth, i;
	struct event ev = { .thread_id = st->thread_id, .interp_id = st->interp_id,
			    .nframes = st->depth, .frames = st->frames,
			    .weight = weights ? below(r, 6) : 1 };
	uint32_t more = below(r, 3) ? 0 : below(r, 5);

	add_up(r, st, ev.weight, more + 1);
	for (i = 0; i <= more; i++)
		feed(r->single, &ev);
	ev.more = more;
	/* A reader may not know, or know less than there is. */
	ev.kept_1 = below(r, 10) ? keep + 1 : below(r, keep + 2);
	feed(r->runs, &ev);
}

static void assert_sums(const struct run *r, struct report *report)
{
	size_t cnt, i;
	const struct report_row *rows = report_rows(report, REPORT_SORT_SELF, &cnt);
	uint32_t found = 0, f;

	assert_non_null(rows);
	for (i = 0; i < cnt; i++) {
		f = rows[i].func.data[0] == 'f' ? (uint32_t)atoi(rows[i].func.data + 1) : FUNCTIONS;
		assert_true(rows[i].self == r->self[f]);
		assert_true(rows[i].total == r->total[f]);
		assert_true(rows[i].self_squares == (double)r->squares[f]);
		found++;
	}
	for (f = 0; f <= FUNCTIONS; f++)
		found -= r->total[f] > 0;
	assert_int_equal(found, 0);
}

static void assert_same(struct report *a, struct report *b)
{
	size_t a_cnt, b_cnt, i;
	const struct report_row *x = report_rows(a, REPORT_SORT_FILE, &a_cnt);
	const struct report_row *y = report_rows(b, REPORT_SORT_FILE, &b_cnt);

	assert_int_equal(a_cnt, b_cnt);
	assert_true(report_sample_cnt(a) == report_sample_cnt(b));
	assert_true(report_squares(a) == report_squares(b));
	for (i = 0; i < a_cnt; i++) {
		assert_true(x[i].self == y[i].self && x[i].total == y[i].total);
		assert_true(x[i].self_squares == y[i].self_squares);
		assert_true(x[i].line == y[i].line && x[i].thread_id == y[i].thread_id);
	}
}

/* apart: of the threads' ids. */
static void check(uint64_t seed, uint32_t threads, uint64_t apart, bool weights)
{
	struct run r = { .random = seed, .threads = threads };
	enum report_by by;
	uint32_t i;

	make_frames(&r);
	for (by = 0; by <= REPORT_BY_THREAD; by++) {
		r.single[by] = report_new(by);
		r.runs[by] = report_new(by);
	}
	for (i = 0; i < threads; i++)
		r.stacks[i] = (struct stack){ .thread_id = 100 + i / 2 * apart,
					      .interp_id = i % 2 };
	for (by = 0; by <= REPORT_BY_THREAD; by++) {
		assert_int_equal(report_begin(r.single[by], intern_tables(r.in), "x"), 0);
		assert_int_equal(report_begin(r.runs[by], intern_tables(r.in), "x"), 0);
	}
	for (i = 0; i < 5000; i++)
		add_sample(&r, weights);
	for (by = 0; by <= REPORT_BY_THREAD; by++) {
		assert_int_equal(report_end(r.single[by]), 0);
		assert_int_equal(report_end(r.runs[by]), 0);
		assert_same(r.single[by], r.runs[by]);
	}
	assert_sums(&r, r.single[REPORT_BY_FUNCTION]);
	assert_sums(&r, r.runs[REPORT_BY_FUNCTION]);
	for (by = 0; by <= REPORT_BY_THREAD; by++) {
		report_free(r.single[by]);
		report_free(r.runs[by]);
	}
	intern_free(r.in);
}

static void test_threads(void **state)
{
	check(1, 1, 1, false);
	check(2, 4, 1, false);
	check(3, THREADS, 1, false);	/* more than stacks that are kept */
	check(4, THREADS, 64, false);	/* all have the same place */
}

static void test_weights(void **state)
{
	check(5, 4, 1, true);
	check(6, THREADS, 3, true);
}

/* A function that is all 256 frames counts once, and again in the next stack. */
static void test_recursion(void **state)
{
	struct run r = { .random = 1 };
	struct report *report = report_new(REPORT_BY_FUNCTION);
	uint32_t frames[EVENT_MAX_FRAMES], i;
	struct event ev = { .nframes = EVENT_MAX_FRAMES, .frames = frames, .weight = 1 };
	const struct report_row *rows;
	size_t cnt;

	make_frames(&r);
	for (i = 0; i < EVENT_MAX_FRAMES; i++)
		frames[i] = r.ids[i % LINES];
	assert_int_equal(report_begin(report, intern_tables(r.in), "x"), 0);
	for (i = 0; i < 100; i++) {
		ev.thread_id = i % 20 * 8;
		ev.nframes = i % 3 ? EVENT_MAX_FRAMES : i % 2;
		assert_int_equal(report_event(report, &ev), 0);
	}
	assert_int_equal(report_end(report), 0);
	rows = report_rows(report, REPORT_SORT_SELF, &cnt);
	assert_int_equal(cnt, 1);
	assert_int_equal(rows[0].self, rows[0].total);
	assert_int_equal(rows[0].total, 100 - 17);	/* i of 0, 6, 12 ... 96 have no frames */
	report_free(report);
	intern_free(r.in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_recursion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
