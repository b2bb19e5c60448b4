// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_sample_filter.c - which samples pass: each condition, all of them, names that
 * attack, and the same answers as a filter that remembers nothing.
 */
#include "tests/unit/tach_test.h"

#include <regex.h>

#include "model/region.h"
#include "model/sample_filter.h"

static const struct profile_meta meta = { .start_us = 1000000, .interval_us = 10000 };

static struct intern *tables(const char *const (*names)[2], uint32_t cnt)
{
	struct intern *in = intern_new();
	uint32_t i, id;

	for (i = 0; i < cnt; i++) {
		struct frame f = { .line = 1 };

		assert_int_equal(intern_string(in, names[i][0], strlen(names[i][0]), &f.func), 0);
		assert_int_equal(intern_string(in, names[i][1], strlen(names[i][1]), &f.file), 0);
		assert_int_equal(intern_frame(in, &f, &id), 0);
		assert_int_equal(id, i);
	}
	return in;
}

static regex_t *regex(const char *text)
{
	regex_t *re = calloc(1, sizeof(*re));

	assert_int_equal(regcomp(re, text, REG_EXTENDED), 0);
	return re;
}

static int count(void *ctx, const struct event *ev)
{
	return ++*(int *)ctx == 1000 ? -ECANCELED : 0;
}

static struct sample_filter *new_filter(const struct sample_filter_options *o,
					const struct profile_meta *m,
					const struct profile_tables *t,
					int (*on_event)(void *ctx, const struct event *ev),
					void *ctx)
{
	struct sample_filter *f = sample_filter_new();

	assert_non_null(f);
	sample_filter_begin(f, o, m, t, on_event, ctx);
	return f;
}

static bool passes(const struct sample_filter_options *o, const struct intern *in,
		   const struct event *ev)
{
	int n = 0;
	struct sample_filter *f = new_filter(o, &meta, intern_tables(in), count, &n);

	assert_non_null(f);
	assert_int_equal(sample_filter_event(f, ev), 0);
	sample_filter_free(f);
	return n;
}

static const char *const names[][2] = {
	{ "main", "/app/main.py" }, { "work", "/app/work.py" }, { "recv", "/usr/lib/socket.py" },
};

static void test_thread_status_time(void **state)
{
	struct intern *in = tables(names, 3);
	uint64_t threads[] = { 7, 1ULL << 40 };
	struct event ev = { .time_us = 1500000, .thread_id = 7, .weight = 1, .status = 1 | 2 };
	struct sample_filter_options o = { 0 };

	assert_true(sample_filter_is_empty(&o));
	assert_true(passes(&o, in, &ev));
	o = (struct sample_filter_options){ .threads = threads, .thread_cnt = 2 };
	assert_false(sample_filter_is_empty(&o));
	assert_true(passes(&o, in, &ev));
	ev.thread_id = 1ULL << 40;
	assert_true(passes(&o, in, &ev));
	ev.thread_id = 8;
	assert_false(passes(&o, in, &ev));
	o = (struct sample_filter_options){ .status_set = 1, .status_clear = 4 };
	assert_true(passes(&o, in, &ev));
	ev.status = 2;
	assert_false(passes(&o, in, &ev));
	ev.status = 1 | 4;
	assert_false(passes(&o, in, &ev));
	o = (struct sample_filter_options){ .from = { true, false, 500000 } };
	assert_true(passes(&o, in, &ev));
	o.from.us++;
	assert_false(passes(&o, in, &ev));
	o = (struct sample_filter_options){ .to = { true, false, 500001 } };
	assert_true(passes(&o, in, &ev));
	o.to.us--;
	assert_false(passes(&o, in, &ev));
	o = (struct sample_filter_options){ .from = { true, true, 1500000 },
					    .to = { true, true, 1500001 } };
	assert_true(passes(&o, in, &ev));
	o.to.us--;
	assert_false(passes(&o, in, &ev));
	/* Beyond what 64 bits hold: never. */
	o = (struct sample_filter_options){ .from = { true, false, UINT64_MAX } };
	assert_false(passes(&o, in, &ev));
	intern_free(in);
}

static void test_processes(void **state)
{
	const char *want[] = { "12", "gunicorn*", "3d" };
	const struct sample_filter_options o = { .processes = want, .process_cnt = 3 };
	const struct sample_filter_options none = { 0 };

	assert_true(sample_filter_wants_process(&none, 0, NULL));
	assert_false(sample_filter_wants_process(&o, 0, NULL));
	assert_true(sample_filter_wants_process(&o, 12, NULL));
	assert_false(sample_filter_wants_process(&o, 1, "python3"));
	assert_true(sample_filter_wants_process(&o, 1, "gunicorn: worker"));
	assert_true(sample_filter_wants_process(&o, 1, "3d"));
	assert_true(sample_filter_wants_process(&o, 1, "12"));
}

static void test_focus_and_ignore(void **state)
{
	struct intern *in = tables(names, 3);
	const uint32_t main_work[] = { 1, 0 }, main_recv[] = { 2, 0 };
	struct event a = { .nframes = 2, .frames = main_work, .weight = 1 };
	struct event b = { .nframes = 2, .frames = main_recv, .weight = 1 };
	struct event none = { .weight = 1 };
	struct sample_filter_options o = { .focus = regex("^work$") };

	assert_true(passes(&o, in, &a));
	assert_false(passes(&o, in, &b));
	assert_false(passes(&o, in, &none));
	o.ignore = regex("main\\.py$");
	assert_false(passes(&o, in, &a));
	sample_filter_options_free(&o);
	o.ignore = regex("/usr/lib/(socket|select)");
	assert_true(passes(&o, in, &a));
	assert_false(passes(&o, in, &b));
	assert_true(passes(&o, in, &none));
	sample_filter_options_free(&o);
	o.focus = regex("nothing like it");
	assert_false(passes(&o, in, &a));
	sample_filter_options_free(&o);
	intern_free(in);
}

/* A name with NULs, one that is not terminated, one of a megabyte: matched within its bytes. */
static void test_hostile_names(void **state)
{
	char *big = malloc(1 << 20);
	struct string_ref strings[] = { { "a\0b", 3 }, { "end", 2 }, { big, 1 << 20 }, { "", 0 } };
	struct frame frames[] = { { .func = 0, .file = 3 }, { .func = 1, .file = 3 },
				  { .func = 2, .file = 3 } };
	const struct profile_tables t = { .frames = frames, .strings = strings, .frame_cnt = 3,
					  .string_cnt = 4 };
	static const struct {
		const char *re;
		uint32_t frame;
		bool matches;
	} cases[] = {
		{ "b$", 0, true }, { "^a$", 0, false }, { "end", 1, false }, { "^en$", 1, true },
		{ "xx", 2, true }, { "y", 2, false }, { "^$", 0, true },
	};
	size_t i;

	memset(big, 'x', 1 << 20);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sample_filter_options o = { .focus = regex(cases[i].re) };
		struct event ev = { .nframes = 1, .frames = &cases[i].frame, .weight = 1 };
		int n = 0;
		struct sample_filter *f = new_filter(&o, &meta, &t, count, &n);

		assert_int_equal(sample_filter_event(f, &ev), 0);
		assert_int_equal(n, cases[i].matches);
		sample_filter_free(f);
		sample_filter_options_free(&o);
	}
	free(big);
}

/* What is remembered of stacks changes no answer; what the consumer says is passed on. */
static void test_memory_of_stacks(void **state)
{
	struct intern *in = tables(names, 3);
	struct sample_filter_options o = { .focus = regex("work"), .ignore = regex("recv") };
	uint64_t seed = 11;
	int n = 0, want = 0, i, j, err = 0;
	struct sample_filter *f = new_filter(&o, &meta, intern_tables(in), count, &n);

	for (i = 0; !err && i < 100000; i++) {
		uint32_t stack[3];
		struct event ev = { .nframes = rnd(&seed) % 4, .frames = stack, .weight = 1 };
		bool focus = false, ignore = false;

		for (j = 0; j < (int)ev.nframes; j++) {
			stack[j] = rnd(&seed) % 3;
			focus |= stack[j] == 1;
			ignore |= stack[j] == 2;
		}
		want += focus && !ignore;
		err = sample_filter_event(f, &ev);
		assert_int_equal(n, want);
	}
	assert_int_equal(err, -ECANCELED);
	assert_int_equal(n, 1000);
	sample_filter_free(f);
	sample_filter_options_free(&o);
	intern_free(in);
}

/* The part of a region in a selected time, as ns; -1: none. */
static void assert_cut(const struct sample_filter_options *o, uint64_t begin_ns, uint64_t end_ns,
		       int64_t want_begin, int64_t want_end)
{
	struct profile_region r = { .thread_id = 7, .begin_ns = begin_ns, .end_ns = end_ns };
	bool some = sample_filter_cut_region(o, &meta, &r);

	assert_int_equal(some ? (int64_t)r.begin_ns : -1, want_begin);
	assert_int_equal(some ? (int64_t)r.end_ns : -1, want_end);
}

static void test_regions(void **state)
{
	uint64_t threads[] = { 7 };
	struct sample_filter_options o = { 0 };

	assert_cut(&o, 0, UINT64_MAX, 0, -1);
	o.from = (struct sample_filter_time){ .given = true, .us = 500 };	/* at 1000500 */
	o.to = (struct sample_filter_time){ .given = true, .absolute = true, .us = 1000700 };
	assert_cut(&o, 1000000000, 1000600000, 1000500000, 1000600000);
	assert_cut(&o, 1000600000, 2000000000, 1000600000, 1000700000);
	assert_cut(&o, 0, INT64_MAX, 1000500000, 1000700000);
	assert_cut(&o, 1000500000, 1000500000, 1000500000, 1000500000);
	assert_cut(&o, 1000400000, 1000500000, -1, -1);
	assert_cut(&o, 1000700000, 1000800000, -1, -1);
	o.threads = threads;
	o.thread_cnt = 1;
	assert_cut(&o, 1000600000, 1000600001, 1000600000, 1000600001);
	threads[0] = 8;
	assert_cut(&o, 1000600000, 1000600001, -1, -1);
	o = (struct sample_filter_options){ .from = { .given = true, .absolute = true,
						      .us = UINT64_MAX } };
	assert_cut(&o, 0, INT64_MAX, -1, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_regions),
		cmocka_unit_test(test_thread_status_time), cmocka_unit_test(test_processes),
		cmocka_unit_test(test_focus_and_ignore),   cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_memory_of_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
