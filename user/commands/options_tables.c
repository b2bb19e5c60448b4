// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * options_tables.c - the options of the commands: a row is an option, with its type, default and
 * limits. base/cli.c parses by these tables; options_types.c has the types that are only ours.
 */
#include "commands/options_tables.h"

#include <signal.h>
#include <stddef.h>

#include "base/util.h"
#include "commands/options.h"

#define BYTES_MAX 0x1p30	/* of --every and --allocations */
#define YEAR (366 * NS_OF_D)

static const struct setting_word compressions[] = { { "zstd", true }, { "none", false }, { 0 } };
static const struct setting_word file_splits[] = { { "auto", false }, { "all", true }, { 0 } };

static const struct setting_word layouts[] = {
	{ "release", LAYOUT_RELEASE }, { "draft1", LAYOUT_DRAFT1 }, { "draft2", LAYOUT_DRAFT2 },
	{ 0 }
};
static const struct setting_word bys[] = {
	{ "function", REPORT_BY_FUNCTION }, { "line", REPORT_BY_LINE },
	{ "process", REPORT_BY_PROCESS }, { "thread", REPORT_BY_THREAD },
	{ "container", REPORT_BY_CONTAINER }, { "service", REPORT_BY_SERVICE },
	{ "version", REPORT_BY_VERSION }, { "gil", REPORT_BY_GIL }, { 0 }
};
/* "samples" is the order by self: a sample counts where it was taken. */
static const struct setting_word sorts[] = {
	{ "self", REPORT_SORT_SELF }, { "total", REPORT_SORT_TOTAL },
	{ "samples", REPORT_SORT_SELF }, { "name", REPORT_SORT_NAME },
	{ "file", REPORT_SORT_FILE }, { 0 }
};

/* Which value of a file counts (model/reader.h), and the rows of mem. */
static const struct setting_word values[] = {
	{ "live", VALUE_LIVE }, { "allocated", VALUE_ALLOCATED }, { "peak", VALUE_PEAK },
	{ "samples", VALUE_SAMPLES }, { 0 }
};
static const struct setting_word mem_bys[] = {
	{ "stack", MEM_BY_STACK }, { "function", MEM_BY_FUNCTION }, { "line", MEM_BY_LINE },
	{ "file", MEM_BY_FILE }, { "process", MEM_BY_PROCESS }, { "thread", MEM_BY_THREAD },
	{ "container", MEM_BY_CONTAINER }, { 0 }
};
static const struct setting_word mem_sorts[] = {
	{ "held", MEM_SORT_LIVE }, { "touched", MEM_SORT_ALLOCATED },
	{ "growing", MEM_SORT_GROWING }, { "peak", MEM_SORT_PEAK }, { "count", MEM_SORT_COUNT },
	{ "live", MEM_SORT_LIVE }, { "allocated", MEM_SORT_ALLOCATED }, { 0 }
};
static const struct setting_word top_sorts[] = {
	{ "cpu", TOP_SORT_CPU }, { "gil", TOP_SORT_GIL }, { "gc", TOP_SORT_GC },
	{ "rss", TOP_SORT_RSS }, { "growth", TOP_SORT_GROWTH }, { "threads", TOP_SORT_THREADS },
	{ "lost", TOP_SORT_LOST }, { "pid", TOP_SORT_PID }, { 0 }
};
static const struct setting_word splits[] = {
	{ "process", SPLIT_BY_PROCESS }, { "thread", SPLIT_BY_THREAD }, { "time", SPLIT_BY_TIME },
	{ 0 }
};
static const struct setting_word diff_sorts[] = {
	{ "delta", DIFF_SORT_DELTA }, { "total", DIFF_SORT_TOTAL_DELTA }, { "a", DIFF_SORT_A },
	{ "b", DIFF_SORT_B }, { "name", DIFF_SORT_NAME }, { "file", DIFF_SORT_FILE }, { 0 }
};
static const struct setting_word diff_formats[] = {
	{ "flamegraph", DIFF_FLAMEGRAPH }, { "markdown", DIFF_MARKDOWN }, { 0 }
};
static const struct setting_word groups[] = {
	{ "process", GROUP_PROCESS }, { "thread", GROUP_THREAD },
	{ "container", GROUP_CONTAINER }, { 0 }
};
static const struct setting_word colours[] = {
	{ "auto", COLOUR_AUTO }, { "always", COLOUR_ALWAYS }, { "never", COLOUR_NEVER }, { 0 }
};
static const struct setting_word modes[] = {
	{ "cpu", RECORD_CPU }, { "wall", RECORD_WALL }, { "offcpu", RECORD_OFFCPU },
	{ "gil", RECORD_GIL }, { "exception", RECORD_EXCEPTION }, { "all", RECORD_ALL },
	{ "mem", RECORD_MEM }, { 0 }
};
/* --native=... */
static const struct setting_word natives[] = {
	{ "full", NATIVE_FULL }, { "lines", NATIVE_LINES }, { 0 }
};
static const struct setting_word heap_sorts[] = {
	{ "bytes", HEAP_SORT_BYTES }, { "objects", HEAP_SORT_OBJECTS },
	{ "growth", HEAP_SORT_GROWTH }, { 0 }
};
static const struct setting_word signals[] = { { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 }, { 0 } };
/* For those who complete: type_status takes them from profile_status_parse(). */
static const struct setting_word statuses[] = {
	{ "gil", 0 }, { "on-cpu", 0 }, { "unknown", 0 }, { "gil-requested", 0 },
	{ "exception", 0 }, { "main", 0 }, { 0 }
};

/* ---- the rows: what an option sets, and how; USE() stands for all rows of a table ---- */

#define USE(table) { .others = table }
#define AT(member) .off = offsetof(struct options, member)
#define AT_A(type, member) .off = SETTING_OFF(struct options, member, type)
#define FLAG(member) .type = &setting_flag, AT_A(bool, member)
#define NO_FLAG(member) .type = &setting_no_flag, AT_A(bool, member), .preset = "on"
#define FIXED(member, value)                                                                       \
	.type = &setting_fixed, AT_A(int, member),                                                 \
	.words = (const struct setting_word[]){ { "", value }, { 0 } }
#define CHOICE(member, list) .type = &setting_choice, AT_A(int, member), .words = list
#define SWITCH(member, list) .type = &setting_switch, AT_A(bool, member), .words = list
#define FILE_NAME(member) .type = &setting_file, AT_A(char *, member)
#define NUMBER(member)                                                                             \
	.type = &setting_integer, AT_A(uint32_t, member), .max = UINT32_MAX,                       \
	.wanted = "expected a number of rows, or 0 for all"
#define LIMIT(member) NUMBER(member), .preset = "20"
#define RATE(member)                                                                               \
	.type = &setting_rate, AT_A(uint32_t, member), .min = 1, .max = 50000,                     \
	.wanted = "expected 1 to 50000 Hz, such as 99, 999 or 10khz"
#define SECONDS(member)                                                                            \
	.type = &setting_seconds, AT_A(double, member), .min = 1, .max = YEAR,                     \
	.wanted = "expected a time of at most 366 days, such as 30, 0.5, 500ms, 30s, 5m or 1h"
#define PIDS .type = &type_pids, AT(select)
#define NATIVE(member)                                                                             \
	.type = &type_native, AT_A(uint32_t, member), .words = natives,                            \
	.wanted = "expected --native alone, or =full, =lines or =full,lines"
#define FORMAT(id) .type = &type_format, AT(command), .data = &(const enum command_id){ id }

/* ---- headings ---- */

#define GENERAL "General"
#define INPUT "Input"
#define OUTPUT "Output"
#define IN_ROWS "Rows"
#define PIECES "Splitting"
#define COMPARISON "Comparison"
#define HOW "Recording"
#define LOOK "Sampling"
#define RARE "Advanced"
#define SAMPLES "Sample filters (a sample must match all of them)"
#define FLIGHT "Flight recorder (-d is then the time after the trigger)"
#define SELECTION_OF_TOP "Process selection (PIDs, or one of these)"
#define SELECTION_OF_LOOK "Process selection (a PID, or one of these)"
#define SELECTION "Process selection (one of these, or -- COMMAND)"
/* Conditions without -a, -p or -- COMMAND imply -a. */
#define CONDITIONS "Process filters (repeatable: OR within an option, AND between options)"
#define EXCLUSIONS "Process exclusions (a process that matches any of them is left out)"

/* ---- what several commands have: their fields are at one place ---- */

static const struct setting general[] = {
	{ 0, "color", "WHEN", GENERAL, "auto (default), always or never", CHOICE(colour, colours) },
	{ 'q', "quiet", NULL, GENERAL, "print errors and results only", FIXED(verbose, LOG_QUIET) },
	{ 'v', "verbose", NULL, GENERAL, "verbose output; -vv: everything", &type_verbose,
	  AT(verbose) },
	{ 'h', "help", NULL, GENERAL, "show this help", FIXED(show, SHOW_HELP) },
	{ 0, "version", NULL, GENERAL, "show the version", FIXED(show, SHOW_VERSION) },
	{ 0 }
};

static const struct setting input[] = {
	{ 0, "input-format", "FORMAT", INPUT, "format of the input files (default: detected by "
	  "content); help lists all", &type_input_format, AT(command) },
	{ 0, "value", "VALUE", INPUT, "memory profiles: live (default), allocated or peak; time "
	  "profiles: samples; pprof, OTLP: a sample type, such as off_cpu", .type = &type_value,
	  AT(input.reader), .words = values },
	{ 0 }
};

static const struct setting filter[] = {
	{ 0, "thread", "ID", SAMPLES, "of this thread; repeatable", &type_thread,
	  AT(input.filter) },
	{ 0, "process", "PID|NAME", SAMPLES, "of this process; NAME may contain * and ?; "
	  "repeatable", &type_process, AT(input.filter) },
	{ 0, "service", "NAME", SAMPLES, "of this service; 'NAME VERSION': of a version; may "
	  "contain * and ?; repeatable", &type_service, AT(input.filter) },
	{ 0, "status", "WORD[,WORD...]", SAMPLES, "gil, on-cpu, unknown, gil-requested, exception, "
	  "main; ! or no- before a word negates it", &type_status,
	  AT(input.filter), .words = statuses },
	{ 0, "from", "TIME", SAMPLES, "from this time on: 1.5, 500ms, 2m after the start; "
	  "@SECONDS: CLOCK_MONOTONIC", &type_moment, AT(input.filter.from) },
	{ 0, "to", "TIME", SAMPLES, "until just before this time", &type_moment,
	  AT(input.filter.to) },
	{ 0, "focus", "REGEX", SAMPLES, "with a frame whose function or file matches",
	  &type_regex, AT(input.filter.focus) },
	{ 0, "ignore", "REGEX", SAMPLES, "without such a frame", &type_regex,
	  AT(input.filter.ignore) },
	{ 0 }
};

static const struct setting export[] = {
	{ 0, "by", "GROUP", OUTPUT, "group by process, thread or container (default: depends on "
	  "the format)", CHOICE(convert.export.group, groups) },
	{ 0, "lines", NULL, OUTPUT, "show each line of a function separately",
	  FIXED(convert.export.lines, LINES_APART) },
	{ 0, "no-lines", NULL, OUTPUT, "merge the lines of a function (default of both: depends on "
	  "the format)", FIXED(convert.export.lines, LINES_MERGED) },
	{ 0, "no-source", NULL, OUTPUT, "flame graph, heat map: show no source text",
	  FLAG(convert.export.no_source) },
	{ 0, "force", NULL, OUTPUT, "allow output larger than 1 GiB", FLAG(convert.export.force) },
	{ 0 }
};

static const struct setting tach[] = {
	{ 0, "compression", "METHOD", RARE, "compression of TACH files: zstd (default) or none",
	  SWITCH(write.tach.compress, compressions), .preset = "zstd" },
	{ 0, "layout", "LAYOUT", RARE, "layout of TACH files: release (default), draft1 or draft2",
	  CHOICE(write.tach.layout, layouts) },
	{ 0 }
};

static const struct setting frames[] = {
	{ 0, "native", NULL, IN_ROWS, "include functions in machine code (C, C++, Rust, ...), with "
	  "their own self time", FLAG(report.native) },
	{ 0, "detail", NULL, IN_ROWS, "include pseudo-frames such as <GC> and <blocked in read>, "
	  "with their own self time", FLAG(report.detail) },
	{ 0 }
};

#define CONDITION(NAME, KIND, VALUE, HELP)                                                         \
	{ 0, NAME, VALUE, CONDITIONS, HELP, &proc_filter_setting, AT(select.proc_filter),          \
	  .data = &(const struct proc_filter_place){ KIND, false } },
#define EXCLUSION(NAME, KIND, VALUE, HELP)                                                         \
	{ 0, "exclude-" NAME, VALUE, EXCLUSIONS, HELP, &proc_filter_setting,                       \
	  AT(select.proc_filter), .data = &(const struct proc_filter_place){ KIND, true } },

static const struct setting conditions[] = {
	PROC_FILTER_CONDITIONS(CONDITION)
	{ 0, "min-age", "TIME", CONDITIONS, "processes at least this old: 5, 0.5s, 5m",
	  SECONDS(select.proc_filter.min_age_s) },
	{ 0 }
};

static const struct setting exclusions[] = {
	PROC_FILTER_EXCLUSIONS(EXCLUSION)
	EXCLUSION("pid", FILTER_PID, "PID[,PID...]", "these processes; with --children also "
		  "those that they start")
	{ 0 }
};

/* ---- the commands' ---- */

const struct setting options_record[] = {
	{ 'a', "all", NULL, SELECTION, "every Python process on this host", FLAG(select.all) },
	{ 'p', "pid", "PID[,PID...]", SELECTION, "these processes; repeatable", PIDS },
	USE(conditions),
	{ 0, "children", NULL, CONDITIONS, "-p: also record child processes",
	  FIXED(record.select.proc_filter.children, CHILDREN_YES) },
	{ 0, "no-children", NULL, CONDITIONS, "-- COMMAND: do not record child processes",
	  FIXED(record.select.proc_filter.children, CHILDREN_NO) },
	USE(exclusions),
	{ 'm', "mode", "MODE", HOW, "what to sample: cpu (default), wall, offcpu, gil, exception "
	  "or all; or mem: memory", CHOICE(record.mode, modes),
	  .wanted = "expected cpu, wall, offcpu, gil, exception, all or mem; to run a module: -- "
	  "python3 -m MODULE" },
	{ 0, "every", "BYTES", HOW, "-m mem: record one stack per this much new memory: 64K "
	  "(default), 1M; one page (4096): every fault", &type_page_size,
	  AT(record.capture.every_bytes), .max = BYTES_MAX },
	{ 0, "interval", "TIME", HOW, "-m mem: how often to check what is still held: 0.1s to 1h "
	  "(default: 1s)", &setting_seconds,
	  AT(record.capture.interval_s), .min = 100 * NS_OF_MS, .max = NS_OF_H,
	  .wanted = "expected 0.1s to 1h, such as 500ms, 1s or 5m" },
	{ 0, "allocations", "[=MIN_BYTES]", HOW, "-m mem: record every block that one process "
	  "allocates, of at least 512 bytes (default)", &type_allocations, AT(record.capture),
	  .min = 1, .max = BYTES_MAX, .wanted = "expected --allocations alone, or the size of the "
	  "smallest block, 1 to 1G, such as --allocations=4K" },
	{ 0, "accept-cost", NULL, HOW, "--allocations: record every block even if that costs more "
	  "than 10 % of a CPU; default: then only 100 ms of each second",
	  FLAG(record.capture.costly) },
	{ 0, "min-wait", "TIME", HOW, "ignore shorter waits: 10ms, 500us, 1s",
	  &setting_duration, AT(record.capture.min_wait_ns), .max = YEAR,
	  .wanted = "expected a time such as 500us, 10ms or 1s" },
	{ 0, "no-native-threads", NULL, HOW, "ignore CPU time of threads that run no Python",
	  NO_FLAG(record.capture.native_threads) },
	{ 0, "kernel", NULL, HOW, "include kernel functions: where threads run or wait in the "
	  "kernel", FLAG(record.kernel) },
	{ 0, "native", "[=HOW]", HOW, "include functions in C and other machine code, and kernel "
	  "functions; HOW: full (also the interpreter's own), lines (source lines and inlined "
	  "functions)", NATIVE(record.native) },
	{ 0, "debuginfod", "[=URLS]", HOW, "--native: request missing debug files from these "
	  "servers (default: DEBUGINFOD_URLS); they are sent the build IDs of libraries",
	  &type_debuginfod, AT(record.capture.debug_urls) },
	{ 0, "async", NULL, HOW, "asyncio: show who awaits the task instead of the event loop "
	  "(3.8+)", FLAG(record.capture.async) },
	{ 0, "task-names", NULL, HOW, "--async: include the names that the program "
	  "gave its tasks", FLAG(record.capture.task_names) },
	{ 'r', "rate", "RATE", HOW, "samples per second and CPU: 99, 999, 10khz (default: 99 "
	  "with -a, 999 otherwise)", RATE(record.rate_hz) },
	{ 'e', "event", "EVENT", HOW, "the sampling clock: cycles (hardware; the default if "
	  "available) or cpu-clock (kernel); or an event to record instead of time: page-faults, "
	  "context-switches, cache-misses, CATEGORY:NAME (a tracepoint), uprobe:LIBRARY:FUNCTION, "
	  "usdt:PROVIDER:NAME", &type_event, AT(record) },
	{ 'c', "count", "N", HOW, "-e: record one event in N: 1 (default), 100, 10k",
	  &setting_count, AT(record.capture.event_every), .min = 1, .max = 0x1p31,
	  .wanted = "expected 1 to 2147483648, such as 100, 10k or 1m: records one event in N" },
	{ 'C', "cpu", "LIST", HOW, "sample these CPUs only: 0-3,7 (default: all)",
	  &setting_text, AT(record.capture.cpu_list) },
	{ 'd', "duration", "TIME", HOW, "stop after 30, 0.5, 30s, 5m, 1h",
	  SECONDS(record.duration_s) },
	{ 0, "kill", NULL, HOW, "-- COMMAND: kill it when the recording ends", FLAG(record.kill) },
	{ 0, "keep", "TIME", FLIGHT, "record continuously, keep the last TIME in memory, write it "
	  "on a trigger and at the end: 30s, 5m", &setting_seconds, AT(record.flight.keep_s),
	  .min = NS_OF_S, .max = NS_OF_D, .wanted = "expected 1s to 24h, such as 30s or 5m" },
	{ 0, "when", "CONDITION", FLIGHT, "trigger: 'cpu>90% for 5s'; also gil, gc (percent), "
	  "threads, rss (500M); repeatable", &type_when, AT(record.flight.when) },
	{ 0, "signal", "SIGNAL", FLIGHT, "trigger: tachbpf receives USR1 or USR2", &type_signal,
	  AT(record.flight.signal), .words = signals },
	{ 0, "triggers", "N", FLIGHT, "stop after N recordings (default: 1; with --keep, no limit)",
	  &setting_integer, AT(record.flight.triggers), .min = 1, .max = 1e6,
	  .wanted = "expected a number of recordings, at least 1" },
	{ 'o', "output", "PATH", OUTPUT, "directory; a file if one process is selected, or with -- "
	  "COMMAND if it ends in .tach; or a file in the format of its ending: .html, .svg, "
	  ".json (speedscope), .pb.gz (pprof), .txt (collapsed) ... (default: tachbpf-HOST-TIME)",
	  FILE_NAME(record.recording.output) },
	{ 0, "force", NULL, OUTPUT, "replace an existing recording or file of that name",
	  FLAG(record.recording.force) },
	{ 0, "html", "FILE", OUTPUT, "also write a flame graph at the end",
	  FILE_NAME(record.html) },
	{ 0, "open", NULL, OUTPUT, "open the flame graph of --html in the browser",
	  FLAG(record.open) },
	{ 0, "idle", NULL, OUTPUT, "in wall and offcpu mode, list idle threads in the summary",
	  FLAG(record.idle) },
	{ 0, "no-source", NULL, OUTPUT, "do not keep the source text of the hottest files",
	  FLAG(record.no_source) },
	{ 0, "json", NULL, OUTPUT, "print the summary as JSON on standard output",
	  FLAG(record.json) },
	USE(general),
	{ 0, "opcodes", NULL, RARE, "record the bytecode instruction of each frame",
	  FLAG(record.capture.opcodes) },
	{ 0, "no-gc", NULL, RARE, "no <GC> frames", NO_FLAG(record.capture.gc) },
	{ 0, "self-time", NULL, RARE, "measure how long each sample takes",
	  FLAG(record.capture.self_time) },
	{ 0, "no-sample-limit", NULL, RARE, "do not limit the time of samples (for emulated "
	  "machines)", FLAG(record.capture.no_sample_limit) },
	{ 0, "no-direct-reads", NULL, RARE, "read all memory through the kernel's helper, which is "
	  "slower", FLAG(record.capture.no_direct_reads) },
	{ 0, "ignore-kernel-bugs", NULL, RARE, "record even on a kernel that this may freeze",
	  FLAG(record.ignore_kernel_bugs) },
	{ 0, "compression", "METHOD", RARE, "zstd (default) or none",
	  SWITCH(record.recording.compress, compressions), .preset = "zstd" },
	{ 0, "layout", "LAYOUT", RARE, "release (default), draft1 or draft2",
	  CHOICE(record.recording.layout, layouts) },
	{ 0, "control", NULL, RARE, "for programs that start tachbpf: print \"recording\" on "
	  "standard output when sampling begins; stop at a line on standard input, or at its end",
	  FLAG(record.control) },
	{ 0, "split", "WHEN", RARE, "auto (default): processes that live less than a second, or "
	  "only wait (-m wall), share a file per binary and command; all: one file per process",
	  SWITCH(record.recording.split_all, file_splits) },
	{ 0 }
};

const struct setting options_top[] = {
	{ 'a', "all", NULL, SELECTION_OF_TOP, "every Python process on this host (default)",
	  FLAG(select.all) },
	{ 'p', "pid", "PID[,PID...]", SELECTION_OF_TOP, "these processes, same as PID alone",
	  PIDS },
	USE(conditions),
	USE(exclusions),
	{ 'r', "rate", "RATE", LOOK, "samples per second and CPU (default: 99)",
	  RATE(top.rate_hz) },
	{ 'i', "interval", "TIME", LOOK, "time between updates: 2s (default), 0.5, 1m",
	  SECONDS(top.interval_s), .preset = "2" },
	{ 0, "async", NULL, LOOK, "asyncio: show how the event loops fare (3.8+), and who awaits "
	  "the task instead of the loop", FLAG(top.async) },
	{ 'n', "iterations", "N", LOOK, "stop after N updates", NUMBER(top.count) },
	{ 0, "once", NULL, LOOK, "print one table and exit, same as -b -n 1", FLAG(top.once) },
	{ 'b', "batch", NULL, OUTPUT, "print one table after another, even on a terminal",
	  FLAG(top.batch) },
	{ 0, "sort", "KEY", OUTPUT, "cpu (default), gil, gc, rss (memory), growth (of the rss), "
	  "threads, lost or pid", CHOICE(top.sort, top_sorts) },
	{ 0, "limit", "N", OUTPUT, "show at most N processes, 0 for all (default: 20)",
	  LIMIT(top.limit) },
	{ 0, "json", NULL, OUTPUT, "print one line of JSON per update", FLAG(top.json) },
	USE(general),
	{ 0, "ignore-kernel-bugs", NULL, RARE, "run even on a kernel that this may freeze",
	  FLAG(top.ignore_kernel_bugs) },
	{ 0 }
};

const struct setting options_dump[] = {
	{ 'a', "all", NULL, SELECTION_OF_LOOK, "every Python process on this host",
	  FLAG(select.all) },
	{ 'p', "pid", "PID[,PID...]", SELECTION_OF_LOOK, "these processes, same as PID alone",
	  PIDS },
	USE(conditions),
	USE(exclusions),
	{ 0, "blocked", "TIME", "Thread selection", "only threads that do not run for this long: "
	  "5s; the dump takes as long", SECONDS(dump.blocked_s) },
	{ 0, "native", "[=HOW]", OUTPUT, "include functions in C and other machine code of running "
	  "threads; HOW: full, lines, as for record", NATIVE(dump.native) },
	{ 0, "kernel", NULL, OUTPUT, "include kernel functions of waiting threads",
	  FLAG(dump.kernel) },
	{ 0, "locals", NULL, OUTPUT, "include arguments and local variables: this shows the "
	  "processes' data", FLAG(dump.locals) },
	{ 0, "json", NULL, OUTPUT, "print JSON", FLAG(dump.json) },
	USE(general),
	{ 0, "ignore-kernel-bugs", NULL, RARE, "run even on a kernel that this may freeze",
	  FLAG(dump.ignore_kernel_bugs) },
	{ 0 }
};

const struct setting options_heap[] = {
	{ 'a', "all", NULL, SELECTION_OF_LOOK, "every Python process on this host: one line each",
	  FLAG(select.all) },
	{ 'p', "pid", "PID[,PID...]", SELECTION_OF_LOOK, "these processes, same as PID alone",
	  PIDS },
	USE(conditions),
	USE(exclusions),
	{ 0, "since", "TIME", "Growth", "show what grows: take a second census after 30s, 5m; "
	  "Ctrl-C takes it at once", SECONDS(heap.since_s) },
	{ 0, "why", "TYPE", "References", "show who keeps the objects of this type, such as "
	  "app.Session or dict: the chains of references to them", &setting_text,
	  AT(heap.why) },
	{ 0, "values", NULL, "References", "name keys of dicts even if they are data: this shows "
	  "the process' data", FLAG(heap.values) },
	{ 0, "exact", NULL, "Census", "read all objects instead of a random sample: slower",
	  FLAG(heap.exact) },
	{ 0, "sort", "KEY", IN_ROWS, "bytes (default) or objects; with --since: growth (default, "
	  "of bytes) or objects", CHOICE(heap.sort, heap_sorts) },
	{ 0, "limit", "N", IN_ROWS, "show at most N rows, 0 for all (default: 10)",
	  NUMBER(heap.limit), .preset = "10" },
	{ 0, "json", NULL, OUTPUT, "print JSON, always with all types; tachbpf diff compares two "
	  "of these", FLAG(heap.json) },
	USE(general),
	{ 0 }
};

const struct setting options_info[] = {
	USE(input),
	{ 0, "verify", NULL, OUTPUT, "verify every byte instead, and report whether the files are "
	  "valid", FLAG(info.verify) },
	{ 0, "limit", "N", OUTPUT, "show at most N threads per file, 0 for all (default: 20)",
	  LIMIT(info.limit) },
	{ 0, "json", NULL, OUTPUT, "print JSON", FLAG(info.json) },
	USE(general),
	{ 0 }
};

const struct setting options_report[] = {
	USE(input),
	{ 0, "by", "KEY", IN_ROWS, "function (default), line, process, thread, container, "
	  "service, version (of a service), or gil (same as tachbpf gil)", CHOICE(report.by, bys) },
	{ 0, "sort", "KEY", IN_ROWS, "self (default), total, samples, name or file",
	  CHOICE(report.sort, sorts) },
	{ 0, "limit", "N", IN_ROWS, "show at most N rows, 0 for all (default: 20)",
	  LIMIT(report.limit) },
	{ 0, "annotate", "[=NAME]", IN_ROWS, "show the source with the hottest lines, instead of a "
	  "table; NAME: only this function or file, in full", &type_name_if_any,
	  AT(report.annotate) },
	{ 0, "mine", NULL, IN_ROWS, "only project code; the standard library and installed "
	  "packages count for the line that called them", FLAG(report.mine) },
	USE(frames),
	USE(filter),
	{ 0, "json", NULL, OUTPUT, "print JSON", FLAG(report.json) },
	USE(general),
	{ 0 }
};

const struct setting options_convert[] = {
	USE(input),
	USE(filter),
	{ 'o', "output", "FILE", OUTPUT, "output file (default: standard output)",
	  FILE_NAME(convert.export.output) },
	{ 0, "format", "FORMAT", OUTPUT, "output format, listed below (default: by the ending of "
	  "FILE, such as .html, .svg, .json or .pb.gz; to standard output: collapsed)",
	  FORMAT(COMMAND_CONVERT) },
	USE(export),
	USE(general),
	USE(tach),
	{ 0 }
};

const struct setting options_open[] = {
	USE(input),
	USE(filter),
	{ 0, "format", "FORMAT", OUTPUT, "flamegraph (default) or heatmap",
	  FORMAT(COMMAND_OPEN), .preset = "flamegraph" },
	{ 'o', "output", "FILE", OUTPUT, "write the page to FILE (default: a "
	  "private file in /tmp)", FILE_NAME(convert.export.output) },
	{ 0, "no-source", NULL, OUTPUT, "flame graph, heat map: show no source text",
	  FLAG(convert.export.no_source) },
	USE(general),
	{ 0 }
};

const struct setting options_mem[] = {
	{ 0, "by", "KEY", IN_ROWS, "function (default), line, stack, file, process, thread or "
	  "container", CHOICE(mem.by, mem_bys), .preset = "function" },
	{ 0, "sort", "KEY", IN_ROWS, "held (default; or live), touched (or allocated), growing, "
	  "peak or count", CHOICE(mem.sort, mem_sorts) },
	{ 0, "leaks", "[=N]", IN_ROWS, "show only what grew in each of N intervals (default: 6)",
	  &type_leaks, AT(mem) },
	{ 0, "limit", "N", IN_ROWS, "show at most N rows, 0 for all (default: 20)",
	  LIMIT(mem.limit) },
	{ 0, "from", "TIME", "Time", "from this time on: 1.5, 500ms, 2m after the start; @SECONDS: "
	  "since 1970, in files recorded by tachbpf", &type_moment,
	  AT(input.filter.from) },
	{ 0, "to", "TIME", "Time", "until just before this time", &type_moment,
	  AT(input.filter.to) },
	{ 0, "html", "FILE", OUTPUT, "write a flame graph of all stacks instead of the table",
	  FILE_NAME(mem.html) },
	{ 0, "validate", NULL, OUTPUT, "only validate the files against the format's rules",
	  FLAG(mem.validate) },
	{ 0, "json", NULL, OUTPUT, "print JSON", FLAG(mem.json) },
	USE(general),
	{ 0 }
};

const struct setting options_merge[] = {
	USE(filter),
	{ 'o', "output", "FILE", OUTPUT, "output file", FILE_NAME(merge.output) },
	USE(general),
	USE(tach),
	{ 0 }
};

const struct setting options_split[] = {
	USE(input),
	{ 0, "by", "KEY", PIECES, "process, thread or time", CHOICE(split.by, splits) },
	{ 0, "every", "TIME", PIECES, "--by time: length of each piece (default: 10s)",
	  &setting_microseconds,
	  AT(split.every_us), .preset = "10s", .min = NS_OF_MS, .max = YEAR,
	  .wanted = "expected at least 0.001 s, such as 0.5, 10s, 5m or 1h" },
	USE(filter),
	{ 'o', "output", "DIR", OUTPUT, "output directory; created if absent",
	  FILE_NAME(split.output) },
	USE(general),
	USE(tach),
	{ 0 }
};

const struct setting options_diff[] = {
	USE(input),
	{ 0, "sort", "KEY", IN_ROWS, "delta (of self, default), total (delta of total), a, b, name "
	  "or file", CHOICE(diff.sort, diff_sorts) },
	{ 0, "limit", "N", IN_ROWS, "show at most N rows, 0 for all (default: 20)",
	  LIMIT(diff.limit) },
	USE(frames),
	USE(filter),
	{ 0, "force", NULL, COMPARISON, "compare profiles even of different modes or units",
	  FLAG(diff.force) },
	{ 0, "fail-over", "PERCENT", COMPARISON, "exit with status 4 if a function's self share "
	  "grew by more than this many percentage points beyond noise (for CI)", &setting_percent,
	  AT(diff.fail_over), .max = 100, .wanted = "expected percentage points, such as "
	  "0.5 or 2" },
	{ 0, "json", NULL, OUTPUT, "print JSON", FLAG(diff.json) },
	{ 0, "format", "FORMAT", OUTPUT, "flamegraph: write a page instead of the table; requires "
	  "-o; markdown: print a comment for a pull or merge request",
	  CHOICE(diff.format, diff_formats) },
	{ 'o', "output", "FILE", OUTPUT, "write the page to FILE", FILE_NAME(diff.output) },
	USE(general),
	{ 0 }
};

const struct setting options_gil[] = {
	{ 0, "limit", "N", IN_ROWS, "show at most N rows per table, 0 for all (default: 20)",
	  LIMIT(gil.limit) },
	USE(filter),
	{ 0, "json", NULL, OUTPUT, "print JSON", FLAG(gil.json) },
	{ 0, "html", "FILE", OUTPUT, "write a page with the matrix instead of the tables",
	  FILE_NAME(gil.html) },
	USE(general),
	{ 0 }
};

const struct setting options_recover[] = {
	{ 'o', "output", "FILE", OUTPUT, "output file (default: replace the damaged file)",
	  FILE_NAME(recover.output) },
	USE(general),
	{ 0 }
};

const struct setting options_doctor[] = {
	{ 0, "json", NULL, OUTPUT, "print JSON", FLAG(doctor.json) },
	USE(general),
	{ 0 }
};

const struct setting options_ps[] = {
	USE(conditions),
	USE(exclusions),
	{ 0, "json", NULL, OUTPUT, "print JSON", FLAG(ps.json) },
	USE(general),
	{ 0 }
};

const struct setting options_completion[] = { USE(general), { 0 } };

/* What several commands have is at one place. */
#define BEGINS_WITH(command, member)                                                               \
	(offsetof(struct options, command.member) == offsetof(struct options, member))
_Static_assert(BEGINS_WITH(record, select) && BEGINS_WITH(top, select) &&
	       BEGINS_WITH(dump, select) && BEGINS_WITH(heap, select) &&
	       BEGINS_WITH(ps, select), "they choose processes");
_Static_assert(BEGINS_WITH(info, input) && BEGINS_WITH(report, input) &&
	       BEGINS_WITH(convert, input) && BEGINS_WITH(mem, input) &&
	       BEGINS_WITH(merge, input) &&
	       BEGINS_WITH(split, input) && BEGINS_WITH(diff, input) && BEGINS_WITH(gil, input) &&
	       BEGINS_WITH(recover, input), "they read files");
#define SAME_PLACE(a, b) (offsetof(struct options, a) == offsetof(struct options, b))
_Static_assert(SAME_PLACE(convert.export.tach, write.tach) &&
	        SAME_PLACE(split.tach, write.tach) &&
	       SAME_PLACE(diff.native, report.native) && SAME_PLACE(diff.detail, report.detail),
	       "rows of several commands set these");
