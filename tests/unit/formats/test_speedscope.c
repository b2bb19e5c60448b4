// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_speedscope.c - how long stacks last, units, hostile names, and that
 * memory does not grow with samples. tests/e2e has speedscope's own importer.
 */
#include <sys/resource.h>

#include "bpf/abi.h"
#include "formats/formats.h"
#include "tests/unit/export_test.h"

static struct json_doc *finish(struct export_test *t)
{
	struct buf b = export_close(t);
	struct json_doc *o = parse_json(&b);

	assert_printable(&b);
	buf_free(&b);
	return o;
}

static void test_calls(void **state)
{
	check_calls(&sink_speedscope);
}

/* A gap of more than 1.5 intervals is time off the CPU. */
static void test_cpu_gaps(void **state)
{
	struct export_test t = { .meta = { .interval_us = 1000, .mode = MODE_CPU,
					   .start_us = 5000 } };
	struct json_doc *o;
	uint32_t f, g;

	export_open(&t, &sink_speedscope);
	f = export_frame(&t, "/x/a.py", "f", 3);
	g = export_frame(&t, "/x/a.py", "g", 9);
	export_begin(&t);
	export_event(&t, 7, 6000, 1, 1, &f);
	export_event(&t, 7, 7500, 1, 1, &f);			/* 1500: the sample was late */
	export_event(&t, 7, 9001, 1, 2, (uint32_t[]){ g, f });	/* 1501: 501 were off */
	export_event(&t, 7, 8000, 1, 1, &f);			/* back in time: no time */
	o = finish(&t);
	assert_json(o, "shared.frames", "[{\"name\":\"f\",\"file\":\"/x/a.py\",\"line\":3},"
					"{\"name\":\"g\",\"file\":\"/x/a.py\",\"line\":9}]");
	assert_json(o, "profiles.0.samples", "[[],[0],[],[0]]");
	assert_json(o, "profiles.0.weights", "[1000,2500,501,1000]");
	assert_json(o, "profiles.0.endValue", "5001");
	assert_json(o, "profiles.0.unit", "\"microseconds\"");
	assert_json(o, "profiles.0.name", "\"thread 7\"");
	free(o);
}

/* With wall-clock samples a gap is the profiler's: the stack lasted. */
static void test_wall_gaps(void **state)
{
	struct export_test t = { .meta = { .interval_us = 1000, .mode = MODE_WALL } };
	struct json_doc *o;
	uint32_t f;

	export_open(&t, &sink_speedscope);
	f = export_frame(&t, "a.py", "f", 3);
	export_begin(&t);
	export_event(&t, 7, 1000, 1, 1, &f);
	export_event(&t, 7, 9000, 1, 0, NULL);
	export_event(&t, 8, 2000, 3, 1, &f);
	o = finish(&t);
	assert_json(o, "profiles.0.samples", "[[0],[]]");
	assert_json(o, "profiles.0.weights", "[8000,1000]");
	/* The second thread began 1000 later; its last sample stands for three. */
	assert_json(o, "profiles.1.samples", "[[],[0]]");
	assert_json(o, "profiles.1.weights", "[1000,3000]");
	free(o);
}

/* The busiest: on a CPU for longest, though another one lasted longer, or has more samples. */
static void test_the_busiest_is_active(void **state)
{
	struct export_test t = { .meta = { .interval_us = 1000, .mode = MODE_WALL } };
	struct json_doc *o;
	uint32_t f, i;

	export_open(&t, &sink_speedscope);
	f = export_frame(&t, "a.py", "f", 3);
	export_begin(&t);
	for (i = 0; i < 9; i++)
		export_event(&t, 7, 1000 + i * 1000, 1, 1, &f);	/* asleep all the time */
	t.status = STATUS_ON_CPU;
	export_event(&t, 8, 2000, 1, 1, &f);
	export_event(&t, 9, 2000, 2, 1, &f);
	export_event(&t, 10, 2000, 5, 0, NULL);				/* no Python stack */
	o = finish(&t);
	assert_json(o, "activeProfileIndex", "2");
	assert_json(o, "profiles.2.name", "\"thread 9\"");
	free(o);
}

static void test_units(void **state)
{
	static const struct {
		enum profile_unit unit;
		const char *name;
	} units[] = { { UNIT_BYTES, "\"bytes\"" }, { UNIT_NANOSECONDS, "\"nanoseconds\"" } };
	struct export_test t = { 0 };
	struct json_doc *o;
	uint32_t f, g;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(units); i++) {
		t.meta = (struct profile_meta){ .unit = units[i].unit, .interval_us = 10 };
		export_open(&t, &sink_speedscope);
		f = export_frame(&t, "a.py", "f", 3);
		g = export_frame(&t, "a.py", "g", 3);
		export_begin(&t);
		export_event(&t, 7, 100, 4096, 1, &f);
		export_event(&t, 7, 900, 1, 1, &g);
		export_event(&t, 7, 900, 1ull << 40, 1, &f);
		o = finish(&t);
		assert_json(o, "profiles.0.unit", units[i].name);
		assert_json(o, "profiles.0.weights", "[4096,1,1099511627776]");
		assert_json(o, "profiles.0.endValue", "1099511631873");
		free(o);
	}
}

/* Sums that do not fit stop growing; endValue stays their sum. */
static void test_enormous_weights(void **state)
{
	struct export_test t = { .meta = { .unit = UNIT_BYTES } };
	struct json_doc *o;
	uint32_t f;

	export_open(&t, &sink_speedscope);
	f = export_frame(&t, "a.py", "f", 3);
	export_begin(&t);
	export_event(&t, 7, 100, UINT64_MAX, 1, &f);
	export_event(&t, 7, 100, UINT64_MAX, 1, &f);
	o = finish(&t);
	assert_json(o, "profiles.0.weights", "[9223372036854775807]");
	assert_json(o, "profiles.0.endValue", "9223372036854775807");
	free(o);
}

static void test_lines(void **state)
{
	static const struct {
		enum sink_lines lines;
		const char *want;
	} cases[] = {
		{ LINES_DEFAULT, "[{\"name\":\"f\",\"file\":\"a.py\",\"line\":3}]" },
		{ LINES_MERGED, "[{\"name\":\"f\",\"file\":\"a.py\",\"line\":3}]" },
		{ LINES_APART, "[{\"name\":\"f\",\"file\":\"a.py\",\"line\":8},"
			       "{\"name\":\"f\",\"file\":\"a.py\",\"line\":3}]" },
	};
	struct export_test t = { 0 };
	struct json_doc *o;
	uint32_t f, g;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		t.args.lines = cases[i].lines;
		export_open(&t, &sink_speedscope);
		f = export_frame(&t, "a.py", "f", 8);
		g = export_frame(&t, "a.py", "f", 3);
		export_begin(&t);
		export_event(&t, 7, 100, 1, 1, &f);
		export_event(&t, 7, 200, 1, 1, &g);
		o = finish(&t);
		assert_json(o, "shared.frames", cases[i].want);
		free(o);
	}
}

/* Threads of a process after each other: time in all of them, no gaps. */
static void test_by_process(void **state)
{
	struct export_test t = { .args = { .group = GROUP_PROCESS, .many = true },
				 .meta = { .interval_us = 1000, .mode = MODE_CPU, .tgid = 12,
					   .comm = "app" } };
	struct json_doc *o;
	uint32_t f;

	export_open(&t, &sink_speedscope);
	f = export_frame(&t, "a.py", "f", 3);
	export_begin(&t);
	export_event(&t, 7, 1000, 1, 1, &f);
	export_event(&t, 8, 50000, 1, 1, &f);
	export_event(&t, 7, 90000, 1, 1, &f);
	o = finish(&t);
	assert_int_equal(json_length(o, "profiles"), 1);
	assert_json(o, "profiles.0.name", "\"process 12 app\"");
	assert_json(o, "profiles.0.weights", "[3000]");
	free(o);
}

static void test_hostile_names(void **state)
{
	struct export_test t = { .meta = { .comm = HOSTILE, .tgid = 1, .platform = HOSTILE },
				 .args = { .many = true } };
	struct json_doc *o;
	uint32_t f;

	export_open(&t, &sink_speedscope);
	f = export_frame(&t, HOSTILE, HOSTILE, 3);
	export_begin(&t);
	export_event(&t, 7, 100, 1, 1, &f);
	o = finish(&t);
	assert_non_null(strstr(json_chars(o, "shared.frames.0.name"), "<script>"));
	free(o);
}

static void test_nothing(void **state)
{
	struct export_test t = { 0 };
	struct json_doc *o;

	export_open(&t, &sink_speedscope);
	export_begin(&t);
	o = finish(&t);
	assert_json(o, "profiles", "[]");
	assert_json(o, "shared.frames", "[]");
	free(o);
}

/* Millions of samples of few stacks: they go through a temporary file. */
static void test_memory(void **state)
{
	struct export_test t = { .meta = { .interval_us = 1000, .mode = MODE_WALL } };
	struct rusage before, after;
	uint32_t f[64], i;

	t.args.fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	t.in = intern_new();
	t.s = sink_speedscope.open(&t.args);
	for (i = 0; i < ARRAY_SIZE(f); i++)
		f[i] = export_frame(&t, "a.py", "f", (int32_t)i);
	t.meta.unit = UNIT_BYTES;
	export_begin(&t);
	getrusage(RUSAGE_SELF, &before);
	for (i = 0; i < 4000000; i++)
		export_event(&t, i % 5, i, 1 + i % 7, 1 + i / 5 % 60, f);
	assert_int_equal(t.s->ops->end(t.s, NULL), 0);
	assert_int_equal(t.s->ops->close(t.s), 0);
	getrusage(RUSAGE_SELF, &after);
	/* 4 million pairs would be 12 MB as varints, 64 as words; kilobytes. */
	assert_in_range(after.ru_maxrss - before.ru_maxrss, 0, 6 * 1024);
	close(t.args.fd);
	intern_free(t.in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_calls), cmocka_unit_test(test_cpu_gaps),
		cmocka_unit_test(test_wall_gaps), cmocka_unit_test(test_the_busiest_is_active),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_enormous_weights), cmocka_unit_test(test_lines),
		cmocka_unit_test(test_by_process), cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
