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
	{ "container", REPORT_BY_CONTAINER }, { "gil", REPORT_BY_GIL }, { 0 }
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
static const struct setting_word splits[] = {
	{ "process", SPLIT_BY_PROCESS }, { "thread", SPLIT_BY_THREAD }, { "time", SPLIT_BY_TIME },
	{ 0 }
};
static const struct setting_word diff_sorts[] = {
	{ "delta", DIFF_SORT_DELTA }, { "total", DIFF_SORT_TOTAL_DELTA }, { "a", DIFF_SORT_A },
	{ "b", DIFF_SORT_B }, { "name", DIFF_SORT_NAME }, { "file", DIFF_SORT_FILE }, { 0 }
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
	.wanted = "give a number of rows, 0 for all"
#define LIMIT(member) NUMBER(member), .preset = "20"
#define RATE(member)                                                                               \
	.type = &setting_rate, AT_A(uint32_t, member), .min = 1, .max = 50000,                     \
	.wanted = "give 1 to 50000 Hz, such as 99, 999 or 10khz"
#define SECONDS(member)                                                                            \
	.type = &setting_seconds, AT_A(double, member), .min = 1, .max = YEAR,                     \
	.wanted = "give more than 0 and at most 366 days, such as 30, 0.5, 30s, 5m or 1h"
#define PIDS .type = &type_pids, AT(select)
#define NATIVE(member)                                                                             \
	.type = &type_native, AT_A(uint32_t, member), .words = natives,                            \
	.wanted = "give --native alone, or =full, =lines or =full,lines"
#define FORMAT(id) .type = &type_format, AT(command), .data = &(const enum command_id){ id }

/* ---- headings ---- */

#define GENERAL "General"
#define INPUT "Input"
#define OUTPUT "Output"
#define IN_ROWS "Rows"
#define PIECES "Pieces"
#define COMPARISON "Comparison"
#define HOW "How to record"
#define LOOK "How to look"
#define RARE "Rarely needed"
#define SAMPLES "Which samples (all conditions must hold)"
#define FLIGHT "When to record (-d is then the time after the trigger)"
#define SELECTION_OF_TOP "Which processes (PIDs, or one of these)"
#define SELECTION_OF_LOOK "Which processes (a PID, or one of these)"
#define SELECTION "What to record (one of these, or -- COMMAND)"
/* Conditions without -a, -p or -- COMMAND imply -a. */
#define CONDITIONS "Which of them (one of each kind given must fit; may be repeated)"
#define EXCLUSIONS "Which of them are left out (those that fit one of these)"

/* ---- what several commands have: their fields are at one place ---- */

static const struct setting general[] = {
	{ 0, "color", "WHEN", GENERAL, "auto (default), always or never", CHOICE(colour, colours) },
	{ 'q', "quiet", NULL, GENERAL, "errors and results only", FIXED(verbose, LOG_QUIET) },
	{ 'v', "verbose", NULL, GENERAL, "say more; twice: everything", &type_verbose,
	  AT(verbose) },
	{ 'h', "help", NULL, GENERAL, "this text", FIXED(show, SHOW_HELP) },
	{ 0, "version", NULL, GENERAL, "the version", FIXED(show, SHOW_VERSION) },
	{ 0 }
};

static const struct setting input[] = {
	{ 0, "input-format", "FORMAT", INPUT, "the files' format, if not found by content; help "
	  "lists all", &type_input_format, AT(command) },
	{ 0, "value", "VALUE", INPUT, "of memory: live (default), allocated, peak; of time: "
	  "samples", CHOICE(input.reader.value, values) },
	{ 0 }
};

static const struct setting filter[] = {
	{ 0, "thread", "ID", SAMPLES, "of this thread; may be repeated", &type_thread,
	  AT(input.filter) },
	{ 0, "process", "PID|NAME", SAMPLES, "of this process; NAME may have * and ?; may be "
	  "repeated", &type_process, AT(input.filter) },
	{ 0, "status", "WORD[,WORD...]", SAMPLES, "gil, on-cpu, unknown, gil-requested, "
	  "exception, main; with ! or no- before a word: samples without it", &type_status,
	  AT(input.filter), .words = statuses },
	{ 0, "from", "TIME", SAMPLES, "from this time on: 1.5, 500ms, 2m after the start; "
	  "@SECONDS: of CLOCK_MONOTONIC", &type_moment, AT(input.filter.from) },
	{ 0, "to", "TIME", SAMPLES, "until just before this time", &type_moment,
	  AT(input.filter.to) },
	{ 0, "focus", "REGEX", SAMPLES, "with a frame whose function or file matches",
	  &type_regex, AT(input.filter.focus) },
	{ 0, "ignore", "REGEX", SAMPLES, "without such a frame", &type_regex,
	  AT(input.filter.ignore) },
	{ 0 }
};

static const struct setting export[] = {
	{ 0, "by", "GROUP", OUTPUT, "process, thread or container (default: as the format's "
	  "users expect)", CHOICE(replay.export.group, groups) },
	{ 0, "lines", NULL, OUTPUT, "tell the lines of a function apart",
	  FIXED(replay.export.lines, LINES_APART) },
	{ 0, "no-lines", NULL, OUTPUT, "join the lines of a function; without either: as the "
	  "format's users expect", FIXED(replay.export.lines, LINES_MERGED) },
	{ 0, "no-source", NULL, OUTPUT, "heatmap: read no source files",
	  FLAG(replay.export.no_source) },
	{ 0, "force", NULL, OUTPUT, "write also more than 1 GiB", FLAG(replay.export.force) },
	{ 0 }
};

static const struct setting tach[] = {
	{ 0, "compression", "METHOD", RARE, "of TACH files: zstd (default) or none",
	  SWITCH(write.tach.compress, compressions), .preset = "zstd" },
	{ 0, "layout", "LAYOUT", RARE, "of TACH files: release (default), draft1 or draft2",
	  CHOICE(write.tach.layout, layouts) },
	{ 0 }
};

static const struct setting frames[] = {
	{ 0, "native", NULL, IN_ROWS, "rows also for functions in machine code (C, C++, Rust, "
	  "...): they have the self then", FLAG(report.native) },
	{ 0, "detail", NULL, IN_ROWS, "rows also for what is no function: <GC>, <blocked in read>, "
	  "...: they have the self then", FLAG(report.detail) },
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
	{ 0, "min-age", "TIME", CONDITIONS, "from this age on: 5, 0.5s, 5m",
	  SECONDS(select.proc_filter.min_age_s) },
	{ 0 }
};

static const struct setting exclusions[] = {
	PROC_FILTER_EXCLUSIONS(EXCLUSION)
	EXCLUSION("pid", FILTER_PID, "PID[,PID...]", "these; with --children also what they start")
	{ 0 }
};

/* ---- the commands' ---- */

const struct setting options_record[] = {
	{ 'a', "all", NULL, SELECTION, "every Python process on this host", FLAG(select.all) },
	{ 'p', "pid", "PID[,PID...]", SELECTION, "these processes; may be repeated", PIDS },
	USE(conditions),
	{ 0, "children", NULL, CONDITIONS, "-p: also what these processes start",
	  FIXED(record.select.proc_filter.children, CHILDREN_YES) },
	{ 0, "no-children", NULL, CONDITIONS, "-- COMMAND: without what it starts",
	  FIXED(record.select.proc_filter.children, CHILDREN_NO) },
	USE(exclusions),
	{ 'm', "mode", "MODE", HOW, "which time: cpu (default), wall, offcpu, gil, exception or "
	  "all; or mem: memory", CHOICE(record.mode, modes) },
	{ 0, "every", "BYTES", HOW, "-m mem: one stack for so much new memory: 64K (default), "
	  "1M; a page (4096): each fault", &type_page_size,
	  AT(record.capture.every_bytes), .max = BYTES_MAX },
	{ 0, "interval", "TIME", HOW, "-m mem: how often to look at what is still held: 0.1s to "
	  "1h (default: 1s)", &setting_seconds,
	  AT(record.capture.interval_s), .min = 100 * NS_OF_MS, .max = NS_OF_H,
	  .wanted = "give 0.1s to 1h, such as 500ms, 1s or 5m" },
	{ 0, "allocations", "[=MIN_BYTES]", HOW, "-m mem: exactly each block of one process' "
	  "allocator, of 512 bytes (default) or more", &type_allocations, AT(record.capture),
	  .min = 1, .max = BYTES_MAX, .wanted = "give --allocations alone, or the smallest block, "
	  "1 to 1G, such as --allocations=4K" },
	{ 0, "accept-cost", NULL, HOW, "--allocations: also if it takes more than 10 % of a CPU",
	  FLAG(record.capture.costly) },
	{ 0, "min-wait", "TIME", HOW, "leave out shorter waits: 10ms, 500us, 1s",
	  &setting_duration, AT(record.capture.min_wait_ns), .max = YEAR,
	  .wanted = "give a time such as 500us, 10ms or 1s" },
	{ 0, "no-native-threads", NULL, HOW, "leave out CPU time of threads that run no Python",
	  NO_FLAG(record.capture.native_threads) },
	{ 0, "kernel", NULL, HOW, "also the kernel's functions: where threads work in it, and "
	  "where they wait", FLAG(record.kernel) },
	{ 0, "native", "[=HOW]", HOW, "also functions of C and other machine code, and the "
	  "kernel's; HOW: full (the interpreter's own, too), lines (and inlined functions)",
	  NATIVE(record.native) },
	{ 0, "async", NULL, HOW, "samples in an asyncio task show who awaits it, in place of "
	  "the event loop (3.14+)", FLAG(record.capture.async) },
	{ 0, "task-names", NULL, HOW, "--async: also the names that the program has given its "
	  "tasks", FLAG(record.capture.task_names) },
	{ 'r', "rate", "RATE", HOW, "samples per second and CPU: 99, 999, 10khz (default: 99 "
	  "with -a, 999 otherwise)", RATE(record.rate_hz) },
	{ 'e', "event", "EVENT", HOW, "what ticks: cycles (hardware) or cpu-clock (the "
	  "kernel's); default: cycles if the machine has them; or what happens: page-faults, "
	  "context-switches, cache-misses, CATEGORY:NAME (a tracepoint), "
	  "uprobe:LIBRARY:FUNCTION, usdt:PROVIDER:NAME", &type_event, AT(record) },
	{ 'c', "count", "N", HOW, "-e: one event of N: 1 (default), 100, 10k", &setting_count,
	  AT(record.capture.event_every), .min = 1, .max = 0x1p31, .wanted = "give a number from 1 "
	  "to 2147483648, such as 100, 10k or 1m: one event of so many" },
	{ 'C', "cpu", "LIST", HOW, "sample these CPUs only: 0-3,7 (default: all)",
	  &setting_text, AT(record.capture.cpu_list) },
	{ 'd', "duration", "TIME", HOW, "stop after 30, 0.5, 30s, 5m, 1h",
	  SECONDS(record.duration_s) },
	{ 0, "kill", NULL, HOW, "-- COMMAND: end it when the recording ends", FLAG(record.kill) },
	{ 0, "keep", "TIME", FLIGHT, "record for ever, keep so much in memory, write it at a "
	  "trigger and at the end: 30s, 5m", &setting_seconds, AT(record.flight.keep_s),
	  .min = NS_OF_S, .max = NS_OF_D, .wanted = "give 1s to 24h, such as 30s or 5m" },
	{ 0, "when", "CONDITION", FLIGHT, "trigger: 'cpu>90% for 5s'; also gil, gc (percent), "
	  "threads, rss (500M); may be repeated", &type_when, AT(record.flight.when) },
	{ 0, "signal", "SIGNAL", FLIGHT, "trigger: tachbpf gets USR1 or USR2", &type_signal,
	  AT(record.flight.signal), .words = signals },
	{ 0, "triggers", "N", FLIGHT, "end after N recordings (default: 1; with --keep, never)",
	  &setting_integer, AT(record.flight.triggers), .min = 1, .max = 1e6,
	  .wanted = "give a number of recordings, from 1 on" },
	{ 'o', "output", "PATH", OUTPUT, "directory; a file when one process is asked for, or "
	  "with -- COMMAND when it ends in .tach (default: tachbpf-HOST-TIME)",
	  FILE_NAME(record.recording.output) },
	{ 0, "force", NULL, OUTPUT, "replace an earlier recording of that name",
	  FLAG(record.recording.force) },
	{ 0, "html", "FILE", OUTPUT, "also write a flame graph, when the recording has ended",
	  FILE_NAME(record.html) },
	{ 0, "open", NULL, OUTPUT, "show what --html has written in the browser",
	  FLAG(record.open) },
	{ 0, "json", NULL, OUTPUT, "the summary as JSON on standard output", FLAG(record.json) },
	USE(general),
	{ 0, "opcodes", NULL, RARE, "keep the bytecode instruction of each frame",
	  FLAG(record.capture.opcodes) },
	{ 0, "no-gc", NULL, RARE, "no <GC> frames", NO_FLAG(record.capture.gc) },
	{ 0, "self-time", NULL, RARE, "measure how long each sample keeps a CPU",
	  FLAG(record.capture.self_time) },
	{ 0, "no-sample-limit", NULL, RARE, "let a sample take longer than 60 us (emulated "
	  "machines)", FLAG(record.capture.no_sample_limit) },
	{ 0, "no-direct-reads", NULL, RARE, "let a helper of the kernel read all memory, which "
	  "takes longer", FLAG(record.capture.no_direct_reads) },
	{ 0, "ignore-kernel-bugs", NULL, RARE, "record on a kernel that this can freeze",
	  FLAG(record.ignore_kernel_bugs) },
	{ 0, "compression", "METHOD", RARE, "zstd (default) or none",
	  SWITCH(record.recording.compress, compressions), .preset = "zstd" },
	{ 0, "layout", "LAYOUT", RARE, "release (default), draft1 or draft2",
	  CHOICE(record.recording.layout, layouts) },
	{ 0, "split", "WHEN", RARE, "auto (default): processes that live less than a second, or "
	  "only wait (-m wall), share a file by binary and command; all: a file for each process",
	  SWITCH(record.recording.split_all, file_splits) },
	{ 0 }
};

const struct setting options_top[] = {
	{ 'a', "all", NULL, SELECTION_OF_TOP, "every Python process on this host (default)",
	  FLAG(select.all) },
	{ 'p', "pid", "PID[,PID...]", SELECTION_OF_TOP, "these processes, as PID alone",
	  PIDS },
	USE(conditions),
	USE(exclusions),
	{ 'r', "rate", "RATE", LOOK, "samples per second and CPU (default: 99)",
	  RATE(top.rate_hz) },
	{ 'i', "interval", "TIME", LOOK, "between two tables: 2s (default), 0.5, 1m",
	  SECONDS(top.interval_s), .preset = "2" },
	{ 'n', "iterations", "N", LOOK, "end after so many tables", NUMBER(top.count) },
	{ 0, "once", NULL, LOOK, "one table, as -b -n 1", FLAG(top.once) },
	{ 'b', "batch", NULL, OUTPUT, "tables one after the other, also on a terminal",
	  FLAG(top.batch) },
	{ 0, "limit", "N", OUTPUT, "this many processes, 0 for all (default: 20)",
	  LIMIT(top.limit) },
	{ 0, "json", NULL, OUTPUT, "one line of JSON for each table", FLAG(top.json) },
	USE(general),
	{ 0, "ignore-kernel-bugs", NULL, RARE, "also on a kernel that is known to freeze",
	  FLAG(top.ignore_kernel_bugs) },
	{ 0 }
};

const struct setting options_dump[] = {
	{ 'a', "all", NULL, SELECTION_OF_LOOK, "every Python process on this host",
	  FLAG(select.all) },
	{ 'p', "pid", "PID[,PID...]", SELECTION_OF_LOOK, "these processes, as PID alone",
	  PIDS },
	USE(conditions),
	USE(exclusions),
	{ 0, "blocked", "TIME", "Which threads", "only those that do not run for so long: 5s; "
	  "the look takes as long", SECONDS(dump.blocked_s) },
	{ 0, "native", "[=HOW]", OUTPUT, "with functions of C and other machine code, of "
	  "threads that run; HOW: full, lines, as of record", NATIVE(dump.native) },
	{ 0, "kernel", NULL, OUTPUT, "with the kernel's functions of threads that wait",
	  FLAG(dump.kernel) },
	{ 0, "locals", NULL, OUTPUT, "with arguments and local variables: this shows data of "
	  "the processes", FLAG(dump.locals) },
	{ 0, "json", NULL, OUTPUT, "as JSON", FLAG(dump.json) },
	USE(general),
	{ 0, "ignore-kernel-bugs", NULL, RARE, "also on a kernel that is known to freeze",
	  FLAG(dump.ignore_kernel_bugs) },
	{ 0 }
};

const struct setting options_info[] = {
	USE(input),
	{ 0, "verify", NULL, OUTPUT, "check every byte instead, say whether files are sound",
	  FLAG(info.verify) },
	{ 0, "limit", "N", OUTPUT, "this many threads of a file, 0 for all (default: 20)",
	  LIMIT(info.limit) },
	{ 0, "json", NULL, OUTPUT, "as JSON", FLAG(info.json) },
	USE(general),
	{ 0 }
};

const struct setting options_report[] = {
	USE(input),
	{ 0, "by", "KEY", IN_ROWS, "function (default), line, process, thread, container, or gil: "
	  "as tachbpf gil", CHOICE(report.by, bys) },
	{ 0, "sort", "KEY", IN_ROWS, "self (default), total, samples, name or file",
	  CHOICE(report.sort, sorts) },
	{ 0, "limit", "N", IN_ROWS, "this many rows, 0 for all (default: 20)",
	  LIMIT(report.limit) },
	USE(frames),
	USE(filter),
	{ 0, "json", NULL, OUTPUT, "as JSON", FLAG(report.json) },
	USE(general),
	{ 0 }
};

const struct setting options_replay[] = {
	USE(input),
	USE(filter),
	{ 0, "format", "FORMAT", OUTPUT, "default: collapsed; all are listed below",
	  FORMAT(COMMAND_REPLAY), .preset = "collapsed" },
	{ 'o', "output", "FILE", OUTPUT, "write here (default: standard output)",
	  FILE_NAME(replay.export.output) },
	USE(export),
	USE(general),
	{ 0 }
};

const struct setting options_open[] = {
	USE(input),
	USE(filter),
	{ 0, "format", "FORMAT", OUTPUT, "flamegraph (default) or heatmap",
	  FORMAT(COMMAND_OPEN), .preset = "flamegraph" },
	{ 'o', "output", "FILE", OUTPUT, "write the page here (default: a private file below "
	  "/tmp)", FILE_NAME(replay.export.output) },
	{ 0, "no-source", NULL, OUTPUT, "heatmap: read no source files",
	  FLAG(replay.export.no_source) },
	USE(general),
	{ 0 }
};

const struct setting options_mem[] = {
	{ 0, "by", "KEY", IN_ROWS, "function (default), line, stack, file, process, thread or "
	  "container", CHOICE(mem.by, mem_bys), .preset = "function" },
	{ 0, "sort", "KEY", IN_ROWS, "held (default; or live), touched (or allocated), growing, "
	  "peak or count", CHOICE(mem.sort, mem_sorts) },
	{ 0, "leaks", "[=N]", IN_ROWS, "only what grew in each of N intervals (default: 6)",
	  &type_leaks, AT(mem) },
	{ 0, "limit", "N", IN_ROWS, "this many rows, 0 for all (default: 20)", LIMIT(mem.limit) },
	{ 0, "from", "TIME", "Time", "from this time on: 1.5, 500ms, 2m after the start; "
	  "@SECONDS: since 1970, in files that tachbpf recorded", &type_moment,
	  AT(input.filter.from) },
	{ 0, "to", "TIME", "Time", "until just before this time", &type_moment,
	  AT(input.filter.to) },
	{ 0, "html", "FILE", OUTPUT, "a flame graph of all stacks instead of the table",
	  FILE_NAME(mem.html) },
	{ 0, "validate", NULL, OUTPUT, "only check the files against the format's rules",
	  FLAG(mem.validate) },
	{ 0, "json", NULL, OUTPUT, "as JSON", FLAG(mem.json) },
	USE(general),
	{ 0 }
};

const struct setting options_convert[] = {
	USE(input),
	USE(filter),
	{ 'o', "output", "FILE", OUTPUT, "write here; - is standard output (not TACH)",
	  FILE_NAME(replay.export.output) },
	{ 0, "format", "FORMAT", OUTPUT, "default: what FILE's name says; all are listed below",
	  FORMAT(COMMAND_CONVERT) },
	USE(export),
	USE(general),
	USE(tach),
	{ 0 }
};

const struct setting options_merge[] = {
	USE(filter),
	{ 'o', "output", "FILE", OUTPUT, "write here", FILE_NAME(merge.output) },
	USE(general),
	USE(tach),
	{ 0 }
};

const struct setting options_split[] = {
	USE(input),
	{ 0, "by", "KEY", PIECES, "process, thread or time", CHOICE(split.by, splits) },
	{ 0, "every", "TIME", PIECES, "--by time: how long a piece is (default: 10s)",
	  &setting_microseconds,
	  AT(split.every_us), .preset = "10s", .min = NS_OF_MS, .max = YEAR,
	  .wanted = "give at least 0.001 s, such as 0.5, 10s, 5m or 1h" },
	USE(filter),
	{ 'o', "output", "DIR", OUTPUT, "write here; made if absent", FILE_NAME(split.output) },
	USE(general),
	USE(tach),
	{ 0 }
};

const struct setting options_diff[] = {
	USE(input),
	{ 0, "sort", "KEY", IN_ROWS, "delta (of self, default), total (its delta), a, b, name or "
	  "file", CHOICE(diff.sort, diff_sorts) },
	{ 0, "limit", "N", IN_ROWS, "this many rows, 0 for all (default: 20)", LIMIT(diff.limit) },
	USE(frames),
	USE(filter),
	{ 0, "force", NULL, COMPARISON, "compare also different modes or units",
	  FLAG(diff.force) },
	{ 0, "fail-over", "PERCENT", COMPARISON, "exit with 4 if a function's share of self "
	  "grew by more than so many points beyond its noise: for tests", &setting_percent,
	  AT(diff.fail_over), .max = 100, .wanted = "give percentage points, such as 0.5 or 2" },
	{ 0, "json", NULL, OUTPUT, "as JSON", FLAG(diff.json) },
	{ 0, "format", "FORMAT", OUTPUT, "flamegraph: a page instead of the table; with -o",
	  FORMAT(COMMAND_DIFF) },
	{ 'o', "output", "FILE", OUTPUT, "write the page here", FILE_NAME(diff.output) },
	USE(general),
	{ 0 }
};

const struct setting options_gil[] = {
	{ 0, "limit", "N", IN_ROWS, "this many in each table, 0 for all (default: 20)",
	  LIMIT(gil.limit) },
	USE(filter),
	{ 0, "json", NULL, OUTPUT, "as JSON", FLAG(gil.json) },
	{ 0, "html", "FILE", OUTPUT, "a page with the matrix instead of the tables",
	  FILE_NAME(gil.html) },
	USE(general),
	{ 0 }
};

const struct setting options_recover[] = {
	{ 'o', "output", "FILE", OUTPUT, "write here (default: in the damaged file's place)",
	  FILE_NAME(recover.output) },
	USE(general),
	{ 0 }
};

const struct setting options_doctor[] = {
	{ 0, "json", NULL, OUTPUT, "as JSON", FLAG(doctor.json) },
	USE(general),
	{ 0 }
};

const struct setting options_ps[] = {
	USE(conditions),
	USE(exclusions),
	{ 0, "json", NULL, OUTPUT, "as JSON", FLAG(ps.json) },
	USE(general),
	{ 0 }
};

const struct setting options_completion[] = { USE(general), { 0 } };

/* What several commands have is at one place. */
#define BEGINS_WITH(command, member)                                                               \
	(offsetof(struct options, command.member) == offsetof(struct options, member))
_Static_assert(BEGINS_WITH(record, select) && BEGINS_WITH(top, select) &&
	       BEGINS_WITH(dump, select) && BEGINS_WITH(ps, select), "they choose processes");
_Static_assert(BEGINS_WITH(info, input) && BEGINS_WITH(report, input) &&
	       BEGINS_WITH(replay, input) && BEGINS_WITH(mem, input) &&
	       BEGINS_WITH(convert, input) && BEGINS_WITH(merge, input) &&
	       BEGINS_WITH(split, input) && BEGINS_WITH(diff, input) && BEGINS_WITH(gil, input) &&
	       BEGINS_WITH(recover, input), "they read files");
#define SAME_PLACE(a, b) (offsetof(struct options, a) == offsetof(struct options, b))
_Static_assert(SAME_PLACE(convert.export, replay.export) &&
	       SAME_PLACE(convert.export.tach, write.tach) && SAME_PLACE(split.tach, write.tach) &&
	       SAME_PLACE(diff.native, report.native) && SAME_PLACE(diff.detail, report.detail),
	       "rows of several commands set these");
