// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_foreign.c - files of other tools: named, with what to do, and never called damaged.
 */
#include "tests/unit/tach_test.h"

#include "formats/foreign.h"
#include "formats/readers.h"

#define TEXT(s) (s), sizeof(s) - 1

/* The beginning of a real file of each. */
static const struct {
	const char *data;
	size_t len;
	const char *what, *way;
} files[] = {
	{ TEXT("PERFILE2h\0\0\0"), "perf's data", "perf script -i FILE" },
	{ TEXT("# ========\n# captured on: Sat\n#\n\n"
	       "python3 17 11773.282278:   10101010 cpu-clock:pppH: \n"
	       "\t  2c6fff f+0xebf (/usr/lib/x.so)\n\n"), "'perf script'",
	       "stackcollapse-perf.pl" },
	{ TEXT("python3 17/18 [001] 11773.282278: cycles: \n\t  2c6fff f (x)\n"), "'perf script'",
	  "stackcollapse-perf.pl" },
	{ TEXT("MOJ\x03\x01mode\0wall\0"), "austin (MOJO)", "mojo2austin" },
	{ TEXT("# austin: 3.6.0\n# interval: 1000\n# mode: full\n\nP1;T0:1;a:f:1 110,0,0\n"),
	  "several values a line", "without" },
	{ TEXT("\x04\x22\x4d\x18\x40\x40\xc0memray\0\x0d"), "memray",
	  "memray transform speedscope" },
	{ TEXT("memray\0\x0d"), "memray", "memray transform speedscope" },
	{ TEXT("{\"nodes\":[{\"id\":1,\"hitCount\":0}],\"startTime\":1,\"samples\":[],"
	       "\"timeDeltas\":[]}"),
	  "a Chrome CPU profile", "speedscope.app" },
	{ TEXT("{\"head\":{\"selfSize\":0},\"samples\":[]}"), "a Chrome heap profile",
	  "speedscope.app" },
	{ TEXT("{\"traceEvents\": [{\"ph\": \"M\"}]}"), "a trace for Chrome", "speedscope.app" },
	{ TEXT("[{\"args\":{\"line\":1176},\"name\":\"f\",\"ph\":\"B\"},"), "a trace for Chrome",
	  "speedscope.app" },
	{ TEXT("{\"meta\":{\"interval\":1},\"libs\":[],\"threads\":[]}"), "the Firefox Profiler",
	  "speedscope.app" },
	{ TEXT("{\"start_time\": 1.5,\"root_frame\": {}}"), "pyinstrument's JSON",
	  "pyinstrument -r speedscope" },
	{ TEXT("{\"start_time\": 1.5,\"start_call_stack\": []}"), "a session of pyinstrument",
	  "--load" },
	{ TEXT("{\"alloc_samples\": 0, \"growth_rate\": 0.0}"), "Scalene", "scalene view" },
	{ TEXT("\xfb)\x03\xfa\x07prog.py\xe9"), "cProfile", "python3 -m pstats" },
	{ TEXT("{(\x03\0\0\0s"), "cProfile", "python3 -m pstats" },
	{ TEXT("\x80\x04\x95\x0b\0"), "a Python pickle", "run code" },
	{ TEXT("\x1f\x8b\x08\0\0"), "compressed with gzip", "decompress it first" },
	{ TEXT("{\"resourceProfiles\":[]}\n"), "OTLP profiles in JSON", "format: proto" },
	{ TEXT("heap profile:   1:   2 [ 3:  4] @ heapprofile\n"), "gperftools",
	  "google-pprof --collapsed" },
	{ TEXT("heap_v2/524288\n"), "jemalloc", "jeprof --collapsed" },
	{ TEXT("version: 1\ncreator: callgrind-3.19.0\n"), "callgrind", "KCachegrind" },
	{ TEXT("<?xml version=\"1.0\" standalone=\"no\"?><svg>"), "an image",
	  "--format speedscope" },
	{ TEXT("<!DOCTYPE html>\n"), "an HTML page", ".tach" },
	{ TEXT("\x28\xb5\x2f\xfd\x04"), "zstd", "decompress" },
	{ TEXT("{\"type\":\"meta\",\"v\":0,\"sample_interval_usec\":1}\n{}\n"), "jsonl", ".tach" },
	{ TEXT("{\"duration_s\":1,\"processes\":[]}"), "tachbpf's summary of a recording",
	  "directory" },
	{ TEXT("{\"heap_census\":1,\"processes\":[]}"), "a census of a heap", "tachbpf diff A B" },
	{ TEXT("{\"a\":[1]}"), "JSON, but not speedscope's", "--input-format help" },
};

static void test_named(void **state)
{
	char path[PATH_BYTES], why[256];
	int fd = memory_file(path);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		set_file(fd, files[i].data, files[i].len);
		*why = '\0';
		assert_null(reader_open(path, NULL, why, sizeof(why)));
		assert_int_equal(errno, EBADMSG);
		if (strncmp(why, "this is ", 8) || !strstr(why, files[i].what) ||
		    !strstr(strstr(why, files[i].what), files[i].way) || strstr(why, "damaged"))
			fail_msg("case %zu: '%s', wanted '%s' and '%s'", i, why, files[i].what,
				 files[i].way);
		/* Not cut. */
		assert_true(strlen(why) < 220);
	}
	close(fd);
}

/* What is read, however damaged, and what nobody knows, are not given another's name. */
static void test_not_named(void **state)
{
	static const struct {
		const char *data;
		size_t len;
		const char *why;
	} cases[] = {
		{ TEXT("{\"profiles\":[3]}"), "damaged at byte 13" },
		{ TEXT("{\"shared\":{\"frames\":[]},\"head\":1"), "damaged" },
		{ TEXT("{\"a\":"), "damaged" },
		{ TEXT("a 1\nb\n"), "damaged at byte 4" },
		{ TEXT(".123456:\n"), "not a profile" },
		{ TEXT("a.py:12: x\n"), "not a profile" },
		{ TEXT("#"), "not a profile" },
		{ TEXT("x"), "not a profile" },
	};
	char path[PATH_BYTES], why[256];
	struct reader_args args = { .format = "speedscope" };
	int fd = memory_file(path);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		set_file(fd, cases[i].data, cases[i].len);
		*why = '\0';
		assert_null(reader_open(path, NULL, why, sizeof(why)));
		if (!strstr(why, cases[i].why))
			fail_msg("case %zu: '%s'", i, why);
	}
	/* Who names the format gets its reader's word. */
	set_file(fd, TEXT("{\"head\":1}"));
	assert_null(reader_open(path, &args, why, sizeof(why)));
	assert_non_null(strstr(why, "byte 10"));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_named),
		cmocka_unit_test(test_not_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
