// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_gecko.c - markers, weights, hostile names and memory of the Firefox
 * Profiler's format. tests/e2e compares whole files with CPython's.
 */
#include <sys/resource.h>

#include "bpf/abi.h"
#include "formats/formats.h"
#include "model/native_library.h"
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
	check_calls(&sink_gecko);
}

static void put(struct export_test *t, uint64_t time_us, uint8_t status, uint32_t frame)
{
	const struct event ev = { .thread_id = 7, .time_us = time_us, .weight = 1, .nframes = 1,
				  .frames = &frame, .status = status };

	assert_int_equal(t->s->ops->event(t->s, &ev), 0);
}

/* The i-th marker as "name start-end". */
static void assert_marker(struct json_doc *o, size_t i, const char *want)
{
	static const char *const keys[] = { "name", "startTime", "endTime" };
	double values[3];
	char got[128], path[64];
	size_t k;

	for (k = 0; k < 3; k++) {
		snprintf(path, sizeof(path), "threads.0.markers.%s.%zu", keys[k], i);
		values[k] = json_number(o, path);
	}
	snprintf(path, sizeof(path), "shared.stringArray.%d", (int)values[0]);
	snprintf(got, sizeof(got), "%.40s %g-%g", json_chars(o, path), values[1], values[2]);
	assert_string_equal(got, want);
}

static void assert_text(struct json_doc *o, const char *path, const char *want)
{
	assert_string_equal(json_chars(o, path), want);
}

/* Libraries, the resources that are in them, and categories of our own. */
static void test_libraries(void **state)
{
	static const uint8_t build_id[20] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
					      17, 18, 19, 20 };
	struct export_test t = { .meta = { .interval_us = 1000 } };
	struct json_doc *o;
	uint32_t f[5];

	export_open(&t, &sink_gecko);
	assert_int_equal(intern_synthetic(t.in, FRAME_KERNEL, "<kernel read>", &f[0]), 0);
	assert_int_equal(intern_native(t.in, "libz.so.1", NULL, "crc32", 0, &f[1]), 0);
	assert_int_equal(intern_native(t.in, "libfoo.so", "src/foo.c", "foo", 12, &f[2]), 0);
	assert_int_equal(intern_native(t.in, "libfoo.so", NULL, "bar", 0, &f[3]), 0);
	f[4] = export_frame(&t, "/x/a.py", "main", 3);
	assert_int_equal(native_library_add(t.in, "libfoo.so", "/lib/libfoo.so", build_id, 20), 0);
	export_begin(&t);
	export_event(&t, 7, 1000, 1, 5, f);
	o = finish(&t);
	assert_text(o, "libs.0.name", "libz.so.1");
	assert_text(o, "libs.0.breakpadId", "");
	assert_text(o, "libs.1.path", "/lib/libfoo.so");
	assert_text(o, "libs.1.codeId", "0102030405060708090a0b0c0d0e0f1011121314");
	assert_text(o, "libs.1.breakpadId", "0403020106050807090A0B0C0D0E0F100");
	assert_text(o, "meta.categories.9.name", "Kernel");
	/* The tables are from the root: main, bar, foo, crc32, <kernel read>. */
	assert_int_equal((int)json_number(o, "threads.0.frameTable.category.0"), 1);
	assert_int_equal((int)json_number(o, "threads.0.frameTable.category.1"), 2);
	assert_int_equal((int)json_number(o, "threads.0.frameTable.category.3"), 2);
	assert_int_equal((int)json_number(o, "threads.0.frameTable.category.4"), 9);
	assert_int_equal((int)json_number(o, "threads.0.resourceTable.lib.1"), 1);
	assert_int_equal((int)json_number(o, "threads.0.resourceTable.lib.2"), 1);
	assert_int_equal((int)json_number(o, "threads.0.resourceTable.lib.3"), 0);
	assert_int_equal((int)json_number(o, "threads.0.funcTable.lineNumber.2"), 12);
	free(o);
}

static void test_markers(void **state)
{
	struct export_test t = { .meta = { .interval_us = 1000 } };
	struct json_doc *o;
	uint32_t f, gc;

	export_open(&t, &sink_gecko);
	f = export_frame(&t, "a.py", "f", 3);
	assert_int_equal(intern_synthetic(t.in, FRAME_SYNTHETIC, "<GC>", &gc), 0);
	export_begin(&t);
	put(&t, 10000, STATUS_HAS_GIL | STATUS_ON_CPU, f);
	put(&t, 11000, STATUS_HAS_GIL | STATUS_ON_CPU, gc);
	put(&t, 12500, STATUS_ON_CPU | STATUS_GIL_REQUESTED, f);
	put(&t, 13000, 0, f);
	o = finish(&t);
	assert_int_equal((int)json_number(o, "threads.0.markers.length"), 9);
	assert_marker(o, 0, "Has GIL 0-2.5");
	assert_marker(o, 1, "Python Code 0-2.5");
	assert_marker(o, 2, "GC Collecting 1-2.5");
	assert_marker(o, 3, "On CPU 0-3");
	assert_marker(o, 4, "Native Code 2.5-3");
	assert_marker(o, 5, "Waiting for GIL 2.5-3");
	/* Open at the end. */
	assert_marker(o, 6, "No GIL 2.5-3");
	assert_marker(o, 7, "Off CPU 3-3");
	assert_marker(o, 8, "No Exception 0-3");
	free(o);
}

static void test_markers_end(void **state)
{
	struct export_test t = { .meta = { .interval_us = 1000 } };
	struct json_doc *o;
	uint32_t f;

	export_open(&t, &sink_gecko);
	f = export_frame(&t, "a.py", "f", 3);
	export_begin(&t);
	put(&t, 10000, STATUS_HAS_GIL | STATUS_HAS_EXCEPTION, f);
	put(&t, 11000, STATUS_HAS_GIL, f);
	o = finish(&t);
	assert_marker(o, 0, "Has Exception 0-1");
	assert_json(o, "threads.0.samples.time", "[0,1]");
	assert_json(o, "threads.0.samples.weight", "null");
	assert_json(o, "meta.interval", "0.500000");
	free(o);
}

static void test_weights(void **state)
{
	static const struct {
		enum profile_unit unit;
		const char *type, *weights;
	} cases[] = {
		{ UNIT_SAMPLES, "\"samples\"", "[1500000,1]" },
		{ UNIT_BYTES, "\"bytes\"", "[1500000,1]" },
		{ UNIT_NANOSECONDS, "\"tracing-ms\"", "[1.5,0]" },
	};
	struct export_test t = { 0 };
	struct json_doc *o;
	uint32_t f;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		t.meta.unit = cases[i].unit;
		export_open(&t, &sink_gecko);
		f = export_frame(&t, "a.py", "f", 3);
		export_begin(&t);
		export_event(&t, 7, 100, 1500000, 1, &f);
		export_event(&t, 7, 100, 1, 1, &f);
		o = finish(&t);
		assert_json(o, "threads.0.samples.weightType", cases[i].type);
		assert_json(o, "threads.0.samples.weight", cases[i].weights);
		free(o);
	}
}

static void test_hostile_names(void **state)
{
	struct export_test t = { .meta = { .comm = HOSTILE, .tgid = 3, .platform = HOSTILE } };
	struct json_doc *o;
	uint32_t f[2];

	export_open(&t, &sink_gecko);
	f[0] = export_frame(&t, HOSTILE, HOSTILE, 3);
	f[1] = export_frame(&t, "", "", LINE_NONE);
	export_begin(&t);
	/* Times at both ends of the range. */
	export_event(&t, 7, UINT64_MAX, 1, 2, f);
	export_event(&t, UINT64_MAX, 0, 1, 2, f);
	export_event(&t, UINT64_MAX, UINT64_MAX / 2, 1, 2, f);
	o = finish(&t);
	assert_int_equal(json_length(o, "threads"), 2);
	free(o);
}

/* Recursion: the same frame under itself is another node each time. */
static void test_tree(void **state)
{
	struct export_test t = { 0 };
	struct json_doc *o;
	uint32_t f, g;

	export_open(&t, &sink_gecko);
	f = export_frame(&t, "a.py", "f", 3);
	g = export_frame(&t, "a.py", "g", 3);
	export_begin(&t);
	export_event(&t, 7, 1, 1, 3, (uint32_t[]){ f, f, f });
	export_event(&t, 7, 2, 1, 2, (uint32_t[]){ g, f });
	export_event(&t, 7, 3, 1, 3, (uint32_t[]){ g, f, f });
	export_event(&t, 7, 4, 1, 3, (uint32_t[]){ f, f, f });
	o = finish(&t);
	assert_json(o, "threads.0.stackTable.prefix", "[null,0,1,0,1]");
	assert_json(o, "threads.0.stackTable.frame", "[0,0,0,1,1]");
	assert_json(o, "threads.0.samples.stack", "[2,3,4,2]");
	free(o);
}

static void test_memory(void **state)
{
	struct export_test t = { .meta = { .interval_us = 1000 } };
	struct rusage before, after;
	uint32_t f[64], i;

	t.args.fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	t.in = intern_new();
	t.s = sink_gecko.open(&t.args);
	for (i = 0; i < ARRAY_SIZE(f); i++)
		f[i] = export_frame(&t, "a.py", "f", (int32_t)i);
	export_begin(&t);
	getrusage(RUSAGE_SELF, &before);
	for (i = 0; i < 400000; i++)
		export_event(&t, i % 5, i, 1, 1 + i / 5 % 60, f);
	assert_int_equal(t.s->ops->end(t.s, NULL), 0);
	assert_int_equal(t.s->ops->close(t.s), 0);
	getrusage(RUSAGE_SELF, &after);
	assert_in_range(after.ru_maxrss - before.ru_maxrss, 0, 6 * 1024);
	close(t.args.fd);
	intern_free(t.in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_calls), cmocka_unit_test(test_libraries),
		cmocka_unit_test(test_markers),
		cmocka_unit_test(test_markers_end), cmocka_unit_test(test_weights),
		cmocka_unit_test(test_hostile_names), cmocka_unit_test(test_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
