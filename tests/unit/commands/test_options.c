// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_options.c - command lines, good and bad. What is printed is looked at by
 * tests/e2e/files/test_commands.py.
 */
#include "options_test.h"

#include <stdlib.h>

#include "formats/formats.h"
#include "formats/sinks.h"

/* Parse "tachbpf -a", this option and its value. */
static int parse_value(const char *option, const char *value)
{
	char *argv[] = { (char *)"tachbpf", (char *)"-a", (char *)option, (char *)value, NULL };

	options_free(&o);
	return options_parse(&o, 4, argv);
}

static void test_help_of_commands(void **state)
{
	assert_int_equal(parse("help"), 0);
	assert_int_equal(o.show, SHOW_HELP);
	assert_false(o.named);
	assert_int_equal(parse("help diff"), 0);
	assert_int_equal(o.command, COMMAND_DIFF);
	assert_true(o.named && o.show == SHOW_HELP);
	assert_int_equal(parse("help --color never"), 0);
	assert_int_equal(parse("help dif"), -EINVAL);
	assert_int_equal(parse("report --color always a"), 0);
	assert_int_equal(o.colour, COLOUR_ALWAYS);
	assert_int_equal(parse("report --color sometimes a"), -EINVAL);
}

/* Its words are not ours: they are neither parsed nor answered. */
static void test_agent_takes_all_words(void **state)
{
	assert_int_equal(parse("agent --help --no-such-option ctl -- x"), 0);
	assert_int_equal(o.command, COMMAND_AGENT);
	assert_int_equal(o.show, SHOW_NOTHING);
	assert_string_equal(o.agent.words[0], "--help");
	assert_string_equal(o.agent.words[4], "x");
	assert_null(o.agent.words[5]);
	assert_int_equal(parse("help agent"), 0);
	assert_int_equal(o.show, SHOW_NOTHING);
	assert_string_equal(o.agent.words[0], "--help");
	assert_null(o.agent.words[1]);
}

static void test_diff_options(void **state)
{
	assert_int_equal(parse("diff a b"), 0);
	assert_true(o.diff.fail_over < 0 && !o.diff.force);
	assert_int_equal(parse("diff --fail-over 0.5 --force a b"), 0);
	assert_true(o.diff.fail_over == 0.5 && o.diff.force);
	assert_int_equal(parse("diff --fail-over 2% a b"), 0);
	assert_true(o.diff.fail_over == 2);
	assert_int_equal(parse("diff --fail-over 0 a b"), 0);
	assert_int_equal(parse("diff --fail-over 101 a b"), -EINVAL);
	assert_int_equal(parse("diff --fail-over -1 a b"), -EINVAL);
	assert_int_equal(parse("diff --fail-over 2%% a b"), -EINVAL);
	assert_int_equal(parse("diff --fail-over x a b"), -EINVAL);
	assert_int_equal(parse("diff --fail-over 2 --format flamegraph -o x a b"), -EINVAL);
}

static void test_rates(void **state)
{
	static const struct {
		const char *text;
		uint32_t hz;
	} good[] = {
		{ "1", 1 }, { "99", 99 }, { "999hz", 999 }, { "999Hz", 999 }, { "1k", 1000 },
		{ "10khz", 10000 }, { "10KHZ", 10000 }, { "1.5k", 1500 }, { "50000", 50000 },
		{ "50kHz", 50000 }, { "0.5k", 500 },
	};
	static const char *const bad[] = {
		"", "0", "0.5", "50001", "51k", "abc", "-1", "+1", " 1", "1 ", "1e3", "0x10", "nan",
		"inf", "1m", "khz", ".", "1..2", "10hzz", "99999999999999999999999999999999999999",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(parse_value("-r", good[i].text), 0);
		assert_int_equal(o.record.rate_hz, good[i].hz);
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_not_equal(parse_value("-r", bad[i]), 0);
}

static void test_durations(void **state)
{
	static const struct {
		const char *text;
		double seconds;
	} good[] = {
		{ "30", 30 }, { "0.5", 0.5 }, { "30s", 30 }, { "5m", 300 }, { "1h", 3600 },
		{ "1.5H", 5400 }, { ".25", 0.25 }, { "366h", 366 * 3600 },
		/* As everywhere. */
		{ "1d", 86400 }, { "366d", 366 * 86400 }, { "5ms", 0.005 }, { "100us", 1e-4 },
	};
	static const char *const bad[] = { "",	  "0",	 "0s",	"-1",	"s",	       "5x",
					   "1e4", "nan", "inf", "367d", "99999999999", "0ms" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(parse_value("-d", good[i].text), 0);
		assert_true(o.record.duration_s == good[i].seconds);
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_not_equal(parse_value("-d", bad[i]), 0);
}

static void test_record(void **state)
{
	assert_int_equal(parse("-a -r 10khz -d 0.5 -o out --compression none --layout draft2 "
			       "--opcodes --no-gc --self-time --json --ignore-kernel-bugs "
			       "--no-native-threads --no-sample-limit --no-direct-reads -v"), 0);
	assert_int_equal(o.command, COMMAND_RECORD);
	assert_true(o.record.select.all && o.record.json && o.record.ignore_kernel_bugs);
	assert_true(o.record.capture.opcodes && o.record.capture.self_time &&
		    o.record.capture.no_sample_limit &&
		    o.record.capture.no_direct_reads);
	assert_false(o.record.capture.gc || o.record.recording.compress);
	assert_false(o.record.capture.native_threads);
	assert_int_equal(o.record.rate_hz, 10000);
	assert_true(o.record.duration_s == 0.5);
	assert_string_equal(o.record.recording.output, "out");
	assert_int_equal(o.record.recording.layout, LAYOUT_DRAFT2);
	assert_int_equal(o.verbose, 1);

	assert_int_equal(parse("record -avv"), 0);
	assert_true(o.record.capture.native_threads);
	assert_int_equal(o.verbose, 2);
	assert_int_equal(parse("-aq"), 0);
	assert_int_equal(o.verbose, -1);
	assert_int_equal(o.record.rate_hz, 0);
	assert_true(o.record.duration_s == 0);
	assert_null(o.record.recording.output);
	assert_int_equal(o.record.capture.event, SAMPLER_ANY);
	assert_int_equal(parse("-a -e cycles"), 0);
	assert_int_equal(o.record.capture.event, SAMPLER_CYCLES);
	assert_int_equal(parse("-a --event=cpu-cycles"), 0);
	assert_int_equal(o.record.capture.event, SAMPLER_CYCLES);
	assert_int_equal(parse("-aecpu-clock"), 0);
	assert_int_equal(o.record.capture.event, SAMPLER_CLOCK);
	assert_int_equal(o.record.event.kind, EVENT_NONE);
	assert_int_equal(parse("-a -e cycles -e cs -c 10k"), 0);
	assert_int_equal(o.record.event.kind, EVENT_SOFTWARE);
	assert_int_equal(o.record.capture.event_every, 10000);
	assert_int_equal(parse("-a -e cs"), 0);
	assert_int_equal(o.record.capture.event_every, 1);
	assert_int_equal(parse("-a -e cache-misses"), 0);
	assert_int_equal(o.record.capture.event_every, 0);
	assert_int_equal(parse("-a -e cache-misses -r 499"), 0);
	assert_int_equal(o.record.rate_hz, 499);
	assert_int_equal(parse("-a -e cs -C 0"), 0);
	assert_int_equal(parse("-a -e cs -e cycles"), 0);
	assert_int_equal(o.record.event.kind, EVENT_NONE);
	assert_int_equal(parse("-ar99 --compression=zstd"), 0);
	assert_int_equal(o.record.rate_hz, 99);
	assert_true(o.record.recording.compress);
}

/* What -o is: a directory, a file, or a file for the command and a directory for its children. */
static void test_place(void **state)
{
	static const struct {
		const char *line;
		enum place_kind place;
	} lines[] = {
		{ "-a", PLACE_DIR }, { "-a -o x.tach", PLACE_DIR }, { "-p 1", PLACE_FILE },
		{ "-p 1 -o x", PLACE_FILE }, { "-p 1,2 -o x.tach", PLACE_DIR },
		{ "-p 1 --children -o x.tach", PLACE_DIR }, { "-- cmd", PLACE_DIR },
		{ "-o x -- cmd", PLACE_DIR }, { "-o x.tach -- cmd", PLACE_COMMAND },
		{ "-o x.tach --no-children -- cmd", PLACE_COMMAND },
		{ "-o .tach -- cmd", PLACE_DIR }, { "-o x.tach/ -- cmd", PLACE_DIR },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		assert_int_equal(parse(lines[i].line), 0);
		assert_int_equal(o.record.recording.place, lines[i].place);
		assert_false(o.record.recording.force || o.record.kill);
	}
	assert_int_equal(parse("--force --kill -d 1 -- cmd"), 0);
	assert_true(o.record.recording.force && o.record.kill);
	assert_int_equal(parse("-a --kill"), -EINVAL);
	assert_int_equal(parse("-p 1 --kill"), -EINVAL);
}

/* The command would have the standard input and output by which tachbpf is controlled. */
static void test_control(void **state)
{
	assert_int_equal(parse("-p 1"), 0);
	assert_false(o.record.control);
	assert_int_equal(parse("-p 1 --control"), 0);
	assert_true(o.record.control);
	assert_int_equal(parse("--control -- cmd"), -EINVAL);
}

static void test_pids(void **state)
{
	static const pid_t want[] = { 12, 3, 4194304 };
	size_t i;

	assert_int_equal(parse("-p 12,3 --pid=12 -p4194304"), 0);
	assert_int_equal(o.record.select.pid_cnt, ARRAY_SIZE(want));
	for (i = 0; i < ARRAY_SIZE(want); i++)
		assert_int_equal(o.record.select.pids[i], want[i]);
}

static void test_command(void **state)
{
	assert_int_equal(parse("-r 99 -- python3 -p x --help -- y"), 0);
	assert_false(o.record.select.all);
	assert_int_equal(o.record.select.pid_cnt, 0);
	assert_string_equal(o.record.command[0], "python3");
	assert_string_equal(o.record.command[3], "--help");
	assert_string_equal(o.record.command[5], "y");
	assert_null(o.record.command[6]);
}

static void test_files(void **state)
{
	assert_int_equal(parse("info --json a b"), 0);
	assert_int_equal(o.command, COMMAND_INFO);
	assert_true(o.info.json);
	assert_int_equal(o.input.path_cnt, 2);
	assert_string_equal(o.input.paths[1], "b");

	assert_int_equal(parse("report a"), 0);
	assert_int_equal(o.report.limit, 20);
	assert_int_equal(o.report.by, REPORT_BY_FUNCTION);
	assert_int_equal(o.report.sort, REPORT_SORT_SELF);
	assert_false(o.report.detail);
	assert_int_equal(parse("report a --detail --by line"), 0);
	assert_true(o.report.detail);
	assert_int_equal(parse("diff a b --detail"), 0);
	assert_true(o.diff.detail);
	assert_false(o.diff.native);
	assert_int_equal(parse("diff a b --native"), 0);
	assert_true(o.diff.native);
	assert_int_equal(parse("report a --native --by line"), 0);
	assert_true(o.report.native);
	assert_null(o.report.annotate);
	assert_int_equal(parse("report --annotate a --mine --sort total --by line"), 0);
	assert_string_equal(o.report.annotate, "");
	assert_true(o.report.mine);
	assert_string_equal(o.input.paths[0], "a");
	assert_int_equal(parse("report --annotate=b a"), 0);
	assert_string_equal(o.report.annotate, "b");
	assert_int_equal(o.input.path_cnt, 1);
	assert_int_equal(parse("report a --by thread --sort=file --limit 0 -- -b"), 0);
	assert_int_equal(o.report.limit, 0);
	assert_int_equal(o.report.by, REPORT_BY_THREAD);
	assert_int_equal(o.report.sort, REPORT_SORT_FILE);
	assert_string_equal(o.input.paths[1], "-b");

	assert_int_equal(parse("top"), 0);
	assert_true(o.top.select.all);
	assert_float_equal(o.top.interval_s, 2, 0);
	assert_int_equal(o.top.limit, 20);
	assert_int_equal(parse("top 12 -b -i 0.5 -n 3 --limit 0 -r 999 --json"), 0);
	assert_false(o.top.select.all);
	assert_int_equal(o.top.select.pids[0], 12);
	assert_int_equal(o.top.rate_hz, 999);
	assert_true(o.top.batch && o.top.json && !o.top.once);
	assert_int_equal(o.top.count, 3);
	assert_int_equal(o.top.limit, 0);

	assert_int_equal(parse("dump 12 34,56 -p 78 --json"), 0);
	assert_int_equal(o.dump.select.pid_cnt, 4);
	assert_int_equal(o.dump.select.pids[2], 56);
	assert_true(o.dump.json);
	assert_false(o.dump.select.all);
	assert_int_equal(parse("dump -a --blocked 1m"), 0);
	assert_float_equal(o.dump.blocked_s, 60, 0);
	assert_int_equal(parse("dump --comm x"), 0);
	assert_true(o.dump.select.all);

	/* The alias is the same command. */
	assert_int_equal(parse("replay a"), 0);
	assert_int_equal(o.command, COMMAND_CONVERT);
	assert_ptr_equal(o.convert.export.format, &sink_collapsed);
	assert_string_equal(o.convert.export.output, "-");
	assert_int_equal(parse("convert a"), 0);
	assert_ptr_equal(o.convert.export.format, &sink_collapsed);
	assert_string_equal(o.convert.export.output, "-");
	assert_int_equal(parse("replay a -o x.html --layout draft1"), 0);
	assert_ptr_equal(o.convert.export.format, &sink_flamegraph);
	assert_int_equal(parse("replay a --format collapsed -o -"), 0);
	assert_string_equal(o.convert.export.output, "-");
	assert_int_equal(o.convert.export.lines, LINES_DEFAULT);
	assert_int_equal(o.convert.export.group, GROUP_DEFAULT);
	assert_int_equal(parse("replay --format=pprof a --by process --no-lines"), 0);
	assert_ptr_equal(o.convert.export.format, &sink_pprof);
	assert_int_equal(o.convert.export.lines, LINES_MERGED);
	assert_int_equal(o.convert.export.group, GROUP_PROCESS);
	assert_int_equal(parse("replay a --lines --by=thread"), 0);
	assert_int_equal(o.convert.export.lines, LINES_APART);
	assert_int_equal(o.convert.export.group, GROUP_THREAD);
}

static void test_show(void **state)
{
	assert_int_equal(parse("--help"), 0);
	assert_int_equal(o.show, SHOW_HELP);
	assert_int_equal(parse("report -h"), 0);
	assert_int_equal(o.show, SHOW_HELP);
	assert_int_equal(parse("--version"), 0);
	assert_int_equal(o.show, SHOW_VERSION);
	assert_int_equal(parse("open a"), 0);
	assert_int_equal(o.command, COMMAND_OPEN);
	assert_ptr_equal(o.convert.export.format, &sink_flamegraph);
	assert_null(o.convert.export.output);
	assert_int_equal(parse("-p 1 --no-source"), 0);
	assert_true(o.record.no_source);
	assert_int_equal(parse("open a --format heatmap --no-source -o x.html"), 0);
	assert_ptr_equal(o.convert.export.format, &sink_heatmap);
	assert_true(o.convert.export.no_source);
	assert_int_equal(parse("replay --format help"), 0);
	assert_int_equal(o.show, SHOW_FORMATS);
	/* Behind -- it is the program's. */
	assert_int_equal(parse("-- app --help"), 0);
	assert_int_equal(o.show, SHOW_NOTHING);
}

static void test_conditions(void **state)
{
	const struct proc_filter *s = &o.record.select.proc_filter;

	assert_int_equal(parse("--container web --container 0123 --exclude-comm pip* "
			       "--min-age 1.5"), 0);
	assert_true(o.record.select.all);
	assert_int_equal(s->cnt, 3);
	assert_int_equal(s->rules[1].kind, FILTER_CONTAINER);
	assert_false(s->rules[1].exclude);
	assert_string_equal(s->rules[2].text, "pip*");
	assert_true(s->rules[2].exclude);
	assert_true(s->min_age_s == 1.5);
	assert_int_equal(s->children, CHILDREN_DEFAULT);
	assert_int_equal(parse("--min-age=5m"), 0);
	assert_true(o.record.select.all);
	assert_int_equal(parse("-p 1 --children --uid root,12 --exclude-pid 3,4"), 0);
	assert_false(o.record.select.all);
	assert_int_equal(s->cnt, 4);
	assert_int_equal(s->rules[1].number, 12);
	assert_int_equal(s->children, CHILDREN_YES);
	assert_int_equal(parse("--no-children --pod a --cgroup /b --unit c --exe d "
			       "-- app --uid x"), 0);
	assert_false(o.record.select.all);
	assert_int_equal(s->cnt, 4);
	assert_int_equal(s->children, CHILDREN_NO);
	assert_int_equal(parse("-a --exclude-container a --exclude-pod b --exclude-cgroup c "
			       "--exclude-unit d --exclude-uid 0 --exclude-exe e"), 0);
	assert_int_equal(s->cnt, 6);
}

static void test_usage_errors(void **state)
{
	static const char *const bad[] = {
		"record", "-r 99", "-a -p 1", "-a -- x", "-p 1 -- x", "--", "-a --",
		"frobnicate", "-a x", "--children", "--no-children", "--container",
		"--container=", "-a --uid nosuchuser", "--min-age 0", "--min-age x",
		"--exclude-pid 0", "--exclude-min-age 1", "info --uid 0 a", "-a --children=1",
		"-a -p 1 --uid 0",
		"-a -o x --html ./x", "-p 1 -o ./x --html x", "-p 1 -o x --html x.json",
		"-p 1 -o x --html x.sources.json",
		"-o ./x.tach --html x.tach.d -- x", "-a --frob",
		"-a -z", "-a --al", "-a --rate", "-a -r",
		"-a -r 0", "-a -d 0", "-a -d -1", "-a --json=1", "-a --rate=", "-a -o",
		"-a --output=", "-p", "-p x", "-p 0", "-p -1", "-p 1,", "-p ,1", "-p 1,,2",
		"-p 1x", "-p 4194305", "-p 99999999999999999999", "-a -e", "-a -e instruktions",
		"-a --layout old", "-a --compression gzip", "info", "report", "replay",
		"info --by line a", "report --by x a", "report --sort x a", "report --limit x a",
		"report --limit -1 a", "report --limit= a", "report --limit 4294967296 a",
		"top x", "top -a 1", "top -i 0", "top -n x", "top -m wall", "top -o x",
		"dump", "dump x", "dump -a 1", "dump 1 -p", "dump 1 -m wall", "dump 1 --blocked 0",
		"dump 1 --blocked 10m", "dump -a --blocked 0.01",
		"open", "open --format pprof a", "open --by thread a",
		"replay --format nonsense a", "convert --format nonsense a", "replay --json a",
		"replay --by cgroup a", "replay --by a", "replay --lines=1 a",
		"replay --by thread --format jsonl a", "replay --lines a --format gecko",
		"replay --format gperftools-native --no-lines a", "convert --json a", "convert",
		"merge a", "split a -o x", "split a --by thread", "split a -o x --by frame",
		"split a -o x --by time --every 0", "diff a", "diff a b c",
		"diff a b --sort self", "diff a b -o x", "diff a b --format flamegraph",
		"diff a b --format gecko -o x", "diff a b --format flamegraph -o x --json",
		"diff a b --format markdown -o x", "diff a b --format markdown --json",
		"merge --value live a -o x", "recover", "recover a b -o x",
		"convert a -o x --layout old", "convert a -o x --compression gzip",
		"info --thread 1 a", "recover --thread 1 a", "report --thread x a",
		"report --status gil,!gil a", "report --status nogil a", "report --from 1e9 a",
		"report --to @ a", "report --focus ( a", "report --focus a --focus b c",
		"report --detail --by thread a", "report --detail --by gil a",
		"diff a b --format flamegraph -o x --detail", "replay --detail a",
		"report --annotate a --by process", "report --mine a --by gil",
		"report --annotate a --native", "report --mine a --detail",
		"report --annotate a --sort name", "report --mine=a a", "diff --mine a b",
		"report --ignore [ a", "merge --format tach a -o x",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (!parse(bad[i]))
			fail_msg("'%s' was taken", bad[i]);
}

static void test_debuginfod(void **state)
{
	setenv("DEBUGINFOD_URLS", "http://a http://b", 1);
	assert_int_equal(parse("-a --native"), 0);
	assert_null(o.record.capture.debug_urls);
	assert_int_equal(parse("-a --native --debuginfod"), 0);
	assert_string_equal(o.record.capture.debug_urls, "http://a http://b");
	assert_int_equal(parse("-a --native=lines --debuginfod=https://c"), 0);
	assert_string_equal(o.record.capture.debug_urls, "https://c");
	assert_int_not_equal(parse("-a --native --debuginfod=file:///c"), 0);
	assert_int_not_equal(parse("-a --debuginfod"), 0);
	setenv("DEBUGINFOD_URLS", "", 1);
	assert_int_not_equal(parse("-a --native --debuginfod"), 0);
	unsetenv("DEBUGINFOD_URLS");
	assert_int_not_equal(parse("-a --native --debuginfod"), 0);
}

static void test_filters(void **state)
{
	const struct sample_filter_options *f = &o.input.filter;

	assert_int_equal(parse("report a"), 0);
	assert_true(sample_filter_is_empty(f));
	assert_int_equal(parse("merge a -o x --thread 1 --thread 18446744073709551615 "
			       "--process 12 --process app* --status gil,!exception "
			       "--status no-on-cpu,main"), 0);
	assert_int_equal(f->thread_cnt, 2);
	assert_true(f->threads[0] == 1 && f->threads[1] == UINT64_MAX);
	assert_int_equal(f->process_cnt, 2);
	assert_string_equal(f->processes[1], "app*");
	assert_int_equal(f->status_set, 1 | 32);
	assert_int_equal(f->status_clear, 16 | 2);
	assert_int_equal(parse("split a -o x --by time --every 1.5 --from @2.5 --to 500ms "
			       "--focus a|b --ignore ^c$"), 0);
	assert_int_equal(o.split.every_us, 1500000);
	assert_true(f->from.given && f->from.absolute && f->from.us == 2500000);
	assert_true(f->to.given && !f->to.absolute && f->to.us == 500000);
	assert_non_null(f->focus);
	assert_int_equal(regexec(f->focus, "xbx", 0, NULL, 0), 0);
	assert_int_equal(regexec(f->ignore, "cc", 0, NULL, 0), REG_NOMATCH);
}

/* Every format has a suffix, and the longest that fits says which it is. */
static void test_suffixes(void)
{
	const struct sink_ops *ops;
	char path[64];
	size_t i;

	for (i = 0; (ops = sink_at(i)); i++) {
		snprintf(path, sizeof(path), "x%s", ops->suffix ? ops->suffix : "");
		assert_ptr_equal(sink_for_path(path), ops);
		snprintf(path, sizeof(path), "x.html.%s", ops->name);
		assert_ptr_equal(sink_for_path(path), ops);
	}
}

static void test_native(void **state)
{
	static const char *const bad[] = { "-a --native=", "-a --native=ful", "-a --native=fulll",
					   "-a --native=full,", "-a --native=,lines",
					   "-a --native=full,all", "-a --native full",
					   "report --native=lines a" };
	const struct capture_args *args = &o.record.capture;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(parse(bad[i]), -EINVAL);
	assert_int_equal(parse("-a"), 0);
	assert_false(args->native || args->native_full || args->native_lines);
	assert_int_equal(parse("-a --native"), 0);
	assert_true(args->native && !args->native_full && !args->native_lines);
	assert_int_equal(parse("-m gil --native=lines -p 1"), 0);
	assert_true(args->native && !args->native_full && args->native_lines);
	assert_int_equal(parse("-m exception --native=full,lines -- python3 --native"), 0);
	assert_true(args->native && args->native_full && args->native_lines);
	/* The words add up, and the command's own are not ours. */
	assert_int_equal(parse("-m wall --native=full --native -- full"), 0);
	assert_true(args->native && args->native_full && !args->native_lines);
	/* In each mode. */
	assert_int_equal(parse("-a --kernel"), 0);
	assert_true(o.record.kernel && o.record.mode == RECORD_CPU);
}

static void test_writers(void **state)
{
	assert_int_equal(parse("convert a b -o x.tach --layout draft2 --compression none"), 0);
	assert_int_equal(o.command, COMMAND_CONVERT);
	assert_ptr_equal(o.convert.export.format, &sink_tach);
	assert_int_equal(o.convert.export.tach.layout, LAYOUT_DRAFT2);
	assert_true(!o.convert.export.tach.compress);
	assert_int_equal(parse("convert a -o x --format tach"), 0);
	assert_ptr_equal(o.convert.export.format, &sink_tach);
	assert_int_equal(parse("convert a -o x"), 0);
	assert_ptr_equal(o.convert.export.format, &sink_tach);
	assert_int_equal(parse("convert a -o x.unknown"), -EINVAL);
	assert_int_equal(parse("convert a -o x.unknown --format tach"), 0);
	assert_int_equal(parse("convert a -o d.d/x"), 0);
	assert_int_equal(parse("convert a -o d/.x"), 0);
	assert_ptr_equal(o.convert.export.format, &sink_tach);
	assert_int_equal(parse("convert a -o x.json --format gecko --value samples"), 0);
	assert_ptr_equal(o.convert.export.format, &sink_gecko);
	assert_int_equal(parse("convert a -o x.pstats --by thread"), -EINVAL);
	assert_int_equal(parse("diff a b"), 0);
	assert_int_equal(o.diff.format, DIFF_TABLE);
	assert_int_equal(parse("diff a b --format flamegraph -o x"), 0);
	assert_int_equal(o.diff.format, DIFF_FLAMEGRAPH);
	assert_int_equal(parse("split --by thread -o x a"), 0);
	assert_int_equal(o.split.by, SPLIT_BY_THREAD);
	assert_int_equal(o.split.every_us, 10000000);
	assert_int_equal(parse("diff a b --sort total --limit 0"), 0);
	assert_int_equal(o.diff.sort, DIFF_SORT_TOTAL_DELTA);
	assert_int_equal(parse("recover a b"), 0);
	assert_int_equal(o.input.path_cnt, 2);
	assert_int_equal(parse("info --verify a"), 0);
	assert_true(o.info.verify);
	assert_ptr_equal(sink_for_path("x.tach"), &sink_tach);
	assert_ptr_equal(sink_for_path("dir.tach/x.collapsed"), &sink_collapsed);
	test_suffixes();
	assert_null(sink_for_path("tach"));
	assert_null(sink_for_path(".tach"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_help_of_commands),
		cmocka_unit_test(test_agent_takes_all_words), cmocka_unit_test(test_diff_options),
		cmocka_unit_test(test_rates),	cmocka_unit_test(test_durations),
		cmocka_unit_test(test_record),	cmocka_unit_test(test_place),
		cmocka_unit_test(test_control),
		cmocka_unit_test(test_native), cmocka_unit_test(test_pids),
		cmocka_unit_test(test_command), cmocka_unit_test(test_files),
		cmocka_unit_test(test_show),	cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_usage_errors),
		cmocka_unit_test(test_debuginfod),
		cmocka_unit_test(test_filters), cmocka_unit_test(test_writers),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	options_free(&o);
	return failed;
}
