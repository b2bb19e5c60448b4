// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_output_name.c - which format a name stands for, of convert and of record. */
#include "options_test.h"

#include "formats/formats.h"
#include "formats/sinks.h"

static int record_as(const char *options, const char *name)
{
	char line[200];

	snprintf(line, sizeof(line), "-o %s %s", name, options);
	return parse(line);
}

static const struct { const char *name; const struct sink_ops *format; } names[] = {
	{ "x.html", &sink_flamegraph }, { "x.heatmap.html", &sink_heatmap },
	{ "x.svg", &sink_svg }, { "x.json", &sink_speedscope },
	{ "x.speedscope.json", &sink_speedscope }, { "x.gecko.json", &sink_gecko },
	{ "x.pb.gz", &sink_pprof }, { "x.pprof", &sink_pprof }, { "x.txt", &sink_collapsed },
	{ "x.folded", &sink_collapsed }, { "x.collapsed", &sink_collapsed },
	{ "x.pftrace", &sink_perfetto }, { "x.perfetto-trace", &sink_perfetto },
	{ "x.chrome.json", &sink_chrome },
	{ "x.pstats", &sink_pstats }, { "x.prof", &sink_gperftools }, { "x.csv", &sink_csv },
	{ "x.jsonl", &sink_jsonl }, { "d.tach/x.svg", &sink_svg }, { "x.tach.svg", &sink_svg },
};

static void test_names_of_formats(void **state)
{
	char line[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(line, sizeof(line), "convert a -o %s", names[i].name);
		assert_int_equal(parse(line), 0);
		assert_ptr_equal(o.convert.export.format, names[i].format);
		assert_int_equal(record_as("-a", names[i].name), 0);
		assert_ptr_equal(o.record.export.format, names[i].format);
		assert_string_equal(o.record.export.path, names[i].name);
		/* The recording never has the name itself, whatever is selected. */
		snprintf(line, sizeof(line), "%s.recording", names[i].name);
		assert_string_equal(o.record.recording.output, line);
		assert_string_equal(o.record.recording.shown, names[i].name);
		assert_int_equal(record_as("-p 1", names[i].name), 0);
		assert_int_equal(o.record.recording.place, PLACE_DIR);
		assert_int_equal(record_as("-- x", names[i].name), 0);
		assert_string_equal(o.record.recording.output, line);
		assert_int_equal(o.record.recording.place, PLACE_DIR);
	}
}

static void test_names_of_recordings(void **state)
{
	static const char *const recordings[] = { "x", "x.tach", "d.svg/x", "x.svg/", "3.11",
						  "rec.web1.example", ".svg", "d/.x" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(recordings); i++) {
		assert_int_equal(record_as("-a", recordings[i]), 0);
		assert_null(o.record.export.format);
		assert_null(o.record.recording.shown);
		assert_string_equal(o.record.recording.output, recordings[i]);
	}
	assert_int_equal(record_as("-p 1", "x.tach"), 0);
	assert_int_equal(o.record.recording.place, PLACE_FILE);
	assert_int_equal(record_as("-p 1", "app-3.11"), 0);
	assert_int_equal(o.record.recording.place, PLACE_FILE);
	assert_int_equal(record_as("-m mem -p 1", "x.mlyze"), 0);
	assert_null(o.record.export.format);
	assert_int_equal(parse("-a"), 0);
	assert_null(o.record.export.format);
}

static void test_names_that_are_refused(void **state)
{
	static const struct { const char *options, *name; } bad[] = {
		/* Nothing writes these, and no directory is called so. */
		{ "-a", "x.csv.zip" }, { "-a", "x.svg.gz" }, { "-- x", "x.png" }, { "-a", "x.bin" },
		{ "-p 1", "x.unknown" }, { "-p 1", "x.cpuprofile" },
		/* The format, or the mode, cannot be that. */
		{ "-a", "x.mlyze" }, { "-m mem -a", "x.tach" }, { "-m mem -a", "x.pstats" },
		{ "-m mem -a", "x.prof" }, { "-p 1", "x.native.prof" },
		/* Several recordings, or two files of one name. */
		{ "-a --keep 9s", "x.svg" }, { "-a --signal USR1", "x.json" },
		{ "-a --html x.html", "x.html" }, { "-a --html ./x.html", "x.html" },
		{ "-a --open", "x.json" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (record_as(bad[i].options, bad[i].name) != -EINVAL)
			fail_msg("'%s' was taken with %s", bad[i].name, bad[i].options);
	assert_int_equal(record_as("-m mem -a", "x.html"), 0);
	assert_ptr_equal(o.record.export.format, &sink_flamegraph);
	assert_int_equal(record_as("-a --html y.html", "x.svg"), 0);
	assert_int_equal(record_as("-a --open", "x.svg"), 0);
	assert_int_equal(parse("convert a -o x.csv.zip"), -EINVAL);
}

static void test_endings_for_messages(void **state)
{
	struct buf b = { 0 };

	assert_int_equal(sink_endings(&b), 0);
	assert_non_null(strstr((char *)b.data, ", .svg"));
	assert_non_null(strstr((char *)b.data, ", .txt, .json"));
	buf_free(&b);
}

static int end(void **state)
{
	options_free(&o);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_of_formats),
		cmocka_unit_test(test_names_of_recordings),
		cmocka_unit_test(test_names_that_are_refused),
		cmocka_unit_test(test_endings_for_messages),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
