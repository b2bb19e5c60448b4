// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * options_tables.c - the commands and their options. base/cli.c parses by these tables;
 * options_set.c has the setters.
 */
#include "commands/options_tables.h"

#include <stddef.h>

#include "base/util.h"
#include "commands/options.h"
#include "commands/options_event.h"
#include "commands/options_flight.h"
#include "commands/options_memory.h"
#include "commands/options_set.h"

static const struct choice compressions[] = { { "zstd", true }, { "none", false }, { 0 } };
static const struct choice file_splits[] = { { "auto", false }, { "all", true }, { 0 } };

static const struct choice layouts[] = {
	{ "release", LAYOUT_RELEASE }, { "draft1", LAYOUT_DRAFT1 }, { "draft2", LAYOUT_DRAFT2 },
	{ 0 }
};
static const struct choice bys[] = {
	{ "function", REPORT_BY_FUNCTION }, { "line", REPORT_BY_LINE },
	{ "process", REPORT_BY_PROCESS }, { "thread", REPORT_BY_THREAD },
	{ "container", REPORT_BY_CONTAINER }, { "gil", REPORT_BY_GIL }, { 0 }
};
/* "samples" is the order by self: a sample counts where it was taken. */
static const struct choice sorts[] = {
	{ "self", REPORT_SORT_SELF }, { "total", REPORT_SORT_TOTAL },
	{ "samples", REPORT_SORT_SELF }, { "name", REPORT_SORT_NAME },
	{ "file", REPORT_SORT_FILE }, { 0 }
};

/* Which value of a file counts (model/reader.h), and the rows of mem. */
static const struct choice values[] = {
	{ "live", VALUE_LIVE }, { "allocated", VALUE_ALLOCATED }, { "peak", VALUE_PEAK },
	{ "samples", VALUE_SAMPLES }, { 0 }
};
static const struct choice mem_bys[] = {
	{ "stack", MEM_BY_STACK }, { "function", MEM_BY_FUNCTION }, { "line", MEM_BY_LINE },
	{ "file", MEM_BY_FILE }, { "process", MEM_BY_PROCESS }, { "thread", MEM_BY_THREAD },
	{ "container", MEM_BY_CONTAINER }, { 0 }
};
static const struct choice mem_sorts[] = {
	{ "held", MEM_SORT_LIVE }, { "touched", MEM_SORT_ALLOCATED },
	{ "growing", MEM_SORT_GROWING }, { "peak", MEM_SORT_PEAK }, { "count", MEM_SORT_COUNT },
	{ "live", MEM_SORT_LIVE }, { "allocated", MEM_SORT_ALLOCATED }, { 0 }
};
static const struct choice splits[] = {
	{ "process", SPLIT_BY_PROCESS }, { "thread", SPLIT_BY_THREAD }, { "time", SPLIT_BY_TIME },
	{ 0 }
};
static const struct choice diff_sorts[] = {
	{ "delta", DIFF_SORT_DELTA }, { "total", DIFF_SORT_TOTAL_DELTA }, { "a", DIFF_SORT_A },
	{ "b", DIFF_SORT_B }, { "name", DIFF_SORT_NAME }, { "file", DIFF_SORT_FILE }, { 0 }
};
static const struct choice groups[] = {
	{ "process", GROUP_PROCESS }, { "thread", GROUP_THREAD },
	{ "container", GROUP_CONTAINER }, { 0 }
};
static const struct choice colours[] = {
	{ "auto", COLOUR_AUTO }, { "always", COLOUR_ALWAYS }, { "never", COLOUR_NEVER }, { 0 }
};
static const struct choice lines_apart[] = { { "", LINES_APART }, { 0 } };
static const struct choice lines_merged[] = { { "", LINES_MERGED }, { 0 } };

static const enum options_show show_help = SHOW_HELP, show_version = SHOW_VERSION;

#define RARE "Rarely needed"
#define AT(member) offsetof(struct options, member)
#define GENERAL_OPTIONS                                                                            \
	{ 0, "color", "WHEN", "General", "auto (default), always or never", opt_choice,            \
	  AT(colour), colours },                                                                   \
	{ 'q', "quiet", NULL, "General", "errors and results only", opt_quiet, 0, NULL },          \
	{ 'v', "verbose", NULL, "General", "say more; twice: everything", opt_verbose, 0, NULL },  \
	{ 'h', "help", NULL, "General", "this text", opt_show, 0, &show_help },                    \
	{ 0, "version", NULL, "General", "the version", opt_show, 0, &show_version }
#define INPUT_OPTIONS                                                                              \
	{ 0, "input-format", "FORMAT", "Input", "the files' format, if not found by content;\n"    \
	  "help lists all",                                                                        \
	  opt_input_format, 0, NULL },                                                             \
	{ 0, "value", "VALUE", "Input",                                                            \
	  "of memory: live (default), allocated, peak; of\ntime: samples", opt_choice,             \
	  AT(input.reader.value), values }
#define FLIGHT "When to record (-d is then the time after the trigger)"
#define SELECTION_OF_TOP "Which processes (PIDs, or one of these)"
#define SELECTION_OF_LOOK "Which processes (a PID, or one of these)"
#define SELECTION "What to record (one of these, or -- COMMAND)"

/* Conditions without -a, -p or -- COMMAND imply -a. */
#define CONDITIONS "Which of them (one of each kind given must fit; may be repeated)"
#define EXCLUSIONS "Which of them are left out (those that fit one of these)"
#define CONDITION(CMD, NAME, KIND, ARG, HELP)                                                      \
	{ 0, #NAME, ARG, CONDITIONS, HELP, opt_select, AT(CMD.proc_filter),                        \
	  &(const struct select_option){ KIND, false } }
#define EXCLUSION(CMD, NAME, KIND, ARG, HELP)                                                      \
	{ 0, "exclude-" #NAME, ARG, EXCLUSIONS, HELP, opt_select, AT(CMD.proc_filter),             \
	  &(const struct select_option){ KIND, true } }
#define CONDITION_OPTIONS(CMD)                                                                     \
	CONDITION(CMD, container, FILTER_CONTAINER, "ID|NAME",                                     \
		  "of this container; the first part of an id is\n"                                \
		  "enough"),                                                                       \
	CONDITION(CMD, pod, FILTER_POD, "UID|NAME", "of this pod (Kubernetes, podman)"),           \
	CONDITION(CMD, cgroup, FILTER_CGROUP, "PATH", "in this cgroup or one below it"),           \
	CONDITION(CMD, unit, FILTER_UNIT, "UNIT", "of this systemd unit: nginx, user-*.slice"),    \
	CONDITION(CMD, uid, FILTER_UID, "USER[,USER...]",                                          \
		  "acting as this user, a name or number"),                                        \
	CONDITION(CMD, comm, FILTER_COMM, "GLOB", "whose name matches, as ps -o comm has it"),     \
	CONDITION(CMD, exe, FILTER_EXE, "GLOB",                                                    \
		  "whose executable matches, the path if GLOB has a /"),                           \
	{ 0, "min-age", "TIME", CONDITIONS, "from this age on: 5, 0.5s, 5m",                       \
	  opt_min_age, AT(CMD.proc_filter.min_age_s), NULL }
#define EXCLUSION_OPTIONS(CMD)                                                                     \
	EXCLUSION(CMD, container, FILTER_CONTAINER, "ID|NAME", "of this container"),               \
	EXCLUSION(CMD, pod, FILTER_POD, "UID|NAME", "of this pod"),                                \
	EXCLUSION(CMD, cgroup, FILTER_CGROUP, "PATH", "in this cgroup or one below it"),           \
	EXCLUSION(CMD, unit, FILTER_UNIT, "UNIT", "of this systemd unit"),                         \
	EXCLUSION(CMD, pid, FILTER_PID, "PID[,PID...]",                                            \
		  "these; with --children also what they start"),                                  \
	EXCLUSION(CMD, uid, FILTER_UID, "USER[,USER...]", "acting as this user"),                  \
	EXCLUSION(CMD, comm, FILTER_COMM, "GLOB", "whose name matches"),                           \
	EXCLUSION(CMD, exe, FILTER_EXE, "GLOB", "whose executable matches")
static const struct choice children_yes[] = { { "", CHILDREN_YES }, { 0 } };
static const struct choice children_no[] = { { "", CHILDREN_NO }, { 0 } };

static const struct cli_option record_table[] = {
	{ 'a', "all", NULL, SELECTION, "every Python process on this host", opt_flag,
	  AT(record.all), NULL },
	{ 'p', "pid", "PID[,PID...]", SELECTION, "these processes; may be repeated", opt_pids, 0,
	  NULL },
	CONDITION_OPTIONS(record),
	{ 0, "children", NULL, CONDITIONS, "-p: also what these processes start", opt_value,
	  AT(record.proc_filter.children), children_yes },
	{ 0, "no-children", NULL, CONDITIONS, "-- COMMAND: without what it starts", opt_value,
	  AT(record.proc_filter.children), children_no },
	EXCLUSION_OPTIONS(record),
	{ 'm', "mode", "MODE", "How to record",
	  "which time: cpu (default), wall, offcpu, gil,\nexception or all; or mem: memory",
	  opt_mode, AT(record.mode), NULL },
	{ 0, "every", "BYTES", "How to record",
	  "-m mem: one stack for so much new memory: 64K\n(default), 1M; a page (4096): each fault",
	  opt_memory_every, 0, NULL },
	{ 0, "interval", "TIME", "How to record",
	  "-m mem: how often to look at what is still held:\n0.1s to 1h (default: 1s)",
	  opt_memory_interval, 0, NULL },
	{ 0, "allocations", "[=MIN_BYTES]", "How to record",
	  "-m mem: exactly each block of one process' allocator,\nof 512 bytes (default) or more",
	  opt_allocations, 0, NULL },
	{ 0, "min-wait", "TIME", "How to record",
	  "leave out shorter waits: 10ms, 500us, 1s", opt_min_wait,
	  AT(record.capture.min_wait_ns), NULL },
	{ 0, "no-native-threads", NULL, "How to record",
	  "leave out CPU time of threads that run no Python", opt_no,
	  AT(record.capture.native_threads), NULL },
	{ 0, "kernel", NULL, "How to record",
	  "also the kernel's functions: where threads work in\nit, and where they wait",
	  opt_flag, AT(record.kernel), NULL },
	{ 0, "native", "[=HOW]", "How to record",
	  "also functions of C and other machine code, and the\nkernel's; "
	  "HOW: full (the interpreter's own, too),\nlines (and inlined functions)",
	  opt_native, 0, NULL },
	{ 0, "async", NULL, "How to record",
	  "samples in an asyncio task show who awaits it, in\nplace of the event loop (3.14+)",
	  opt_flag, AT(record.capture.async), NULL },
	{ 0, "task-names", NULL, "How to record",
	  "--async: also the names that the program has\ngiven its tasks",
	  opt_flag, AT(record.capture.task_names), NULL },
	{ 'r', "rate", "RATE", "How to record",
	  "samples per second and CPU: 99, 999, 10khz\n(default: 99 with -a, 999 otherwise)",
	  opt_rate, AT(record.rate_hz), NULL },
	{ 'e', "event", "EVENT", "How to record",
	  "what ticks: cycles (hardware) or cpu-clock (the\nkernel's); "
	  "default: cycles if the machine has them;\nor what happens: page-faults, "
	  "context-switches,\ncache-misses, CATEGORY:NAME (a tracepoint),\n"
	  "uprobe:LIBRARY:FUNCTION, usdt:PROVIDER:NAME",
	  opt_event, 0, NULL },
	{ 'c', "count", "N", "How to record",
	  "-e: one event of N: 1 (default), 100, 10k", opt_event_count, 0, NULL },
	{ 'C', "cpu", "LIST", "How to record", "sample these CPUs only: 0-3,7 (default: all)",
	  opt_text, AT(record.capture.cpu_list), NULL },
	{ 'd', "duration", "TIME", "How to record", "stop after 30, 0.5, 30s, 5m, 1h",
	  opt_duration, AT(record.duration_s), NULL },
	{ 0, "kill", NULL, "How to record",
	  "-- COMMAND: end it when the recording ends", opt_flag, AT(record.kill), NULL },
	{ 0, "keep", "TIME", FLIGHT,
	  "record for ever, keep so much in memory, write it at\na trigger and at the end: 30s, 5m",
	  opt_keep, AT(record.flight.keep_s), NULL },
	{ 0, "when", "CONDITION", FLIGHT,
	  "trigger: 'cpu>90% for 5s'; also gil, gc (percent),\nthreads, rss (500M); may be repeated",
	  opt_when, AT(record.flight.when), NULL },
	{ 0, "signal", "SIGNAL", FLIGHT, "trigger: tachbpf gets USR1 or USR2", opt_signal,
	  AT(record.flight.signal), NULL },
	{ 0, "triggers", "N", FLIGHT,
	  "end after N recordings (default: 1; with --keep,\nnever)", opt_triggers,
	  AT(record.flight.triggers), NULL },
	{ 'o', "output", "PATH", "Output",
	  "directory; a file when one process is asked for,\nor with -- COMMAND when it ends in "
	  ".tach\n(default: tachbpf-HOST-TIME)",
	  opt_text, AT(record.recording.output), NULL },
	{ 0, "force", NULL, "Output", "replace an earlier recording of that name;\n"
	  "--allocations: also if it takes more than 10 % of a CPU", opt_flag,
	  AT(record.recording.force), NULL },
	{ 0, "html", "FILE", "Output", "also write a flame graph, when the recording has ended",
	  opt_text, AT(record.html), NULL },
	{ 0, "open", NULL, "Output", "show what --html has written in the browser", opt_flag,
	  AT(record.open), NULL },
	{ 0, "json", NULL, "Output", "the summary as JSON on standard output", opt_flag,
	  AT(record.json), NULL },
	GENERAL_OPTIONS,
	{ 0, "opcodes", NULL, RARE, "keep the bytecode instruction of each frame",
	  opt_flag, AT(record.capture.opcodes), NULL },
	{ 0, "no-gc", NULL, RARE, "no <GC> frames", opt_no, AT(record.capture.gc),
	  NULL },
	{ 0, "self-time", NULL, RARE,
	  "measure how long each sample keeps a CPU", opt_flag,
	  AT(record.capture.self_time), NULL },
	{ 0, "no-sample-limit", NULL, RARE,
	  "let a sample take longer than 60 us\n(emulated machines)",
	  opt_flag, AT(record.capture.no_sample_limit), NULL },
	{ 0, "no-direct-reads", NULL, RARE,
	  "let a helper of the kernel read all memory, which\ntakes longer", opt_flag,
	  AT(record.capture.no_direct_reads), NULL },
	{ 0, "ignore-kernel-bugs", NULL, RARE,
	  "record on a kernel that this can freeze", opt_flag,
	  AT(record.ignore_kernel_bugs), NULL },
	{ 0, "compression", "METHOD", RARE, "zstd (default) or none", opt_bool,
	  AT(record.recording.compress), compressions },
	{ 0, "layout", "LAYOUT", RARE, "release (default), draft1 or draft2", opt_choice,
	  AT(record.recording.layout), layouts },
	{ 0, "split", "WHEN", RARE, "auto (default): processes that live less than a\n"
	  "second, or only wait (-m wall), share a file by\n"
	  "binary and command; all: a file for each process", opt_bool,
	  AT(record.recording.split_all), file_splits },
};

#define SAMPLES "Which samples (all conditions must hold)"
#define FILTER_OPTIONS                                                                             \
	{ 0, "thread", "ID", SAMPLES, "of this thread; may be repeated", opt_thread, 0, NULL },    \
	{ 0, "process", "PID|NAME", SAMPLES,                                                       \
	  "of this process; NAME may have * and ?; may be repeated", opt_process, 0, NULL },       \
	{ 0, "status", "WORD[,WORD...]", SAMPLES,                                                  \
	  "gil, on-cpu, unknown, gil-requested, exception, main;\n"                                \
	  "with ! or no- before a word: samples without it",                                       \
	  opt_status, 0, NULL },                                                                   \
	{ 0, "from", "TIME", SAMPLES, "from this time on: 1.5, 500ms, 2m after the start;\n"       \
	  "@SECONDS: of CLOCK_MONOTONIC", opt_moment, AT(input.filter.from), NULL },               \
	{ 0, "to", "TIME", SAMPLES, "until just before this time", opt_moment,                     \
	  AT(input.filter.to), NULL },                                                             \
	{ 0, "focus", "REGEX", SAMPLES, "with a frame whose function or file matches", opt_regex,  \
	  AT(input.filter.focus), NULL },                                                          \
	{ 0, "ignore", "REGEX", SAMPLES, "without such a frame", opt_regex,                        \
	  AT(input.filter.ignore), NULL }
#define EXPORT_OPTIONS(CMD)                                                                        \
	{ 0, "by", "GROUP", "Output", "process, thread or container (default: as the\n"            \
	  "format's users expect)",                                                                \
	  opt_choice, AT(CMD.export.group), groups },                                              \
	{ 0, "lines", NULL, "Output", "tell the lines of a function apart", opt_value,             \
	  AT(CMD.export.lines), lines_apart },                                                     \
	{ 0, "no-lines", NULL, "Output", "join the lines of a function; without either:\n"         \
	  "as the format's users expect", opt_value, AT(CMD.export.lines), lines_merged },         \
	{ 0, "no-source", NULL, "Output", "heatmap: read no source files", opt_flag,               \
	  AT(CMD.export.no_source), NULL },                                                        \
	{ 0, "force", NULL, "Output", "write also more than 1 GiB", opt_flag,                      \
	  AT(CMD.export.force), NULL }
#define TACH_OPTIONS(PART)                                                                         \
	{ 0, "compression", "METHOD", RARE, "of TACH files: zstd (default) or none",               \
	  opt_bool, AT(PART.compress), compressions },                                             \
	{ 0, "layout", "LAYOUT", RARE, "of TACH files: release (default), draft1 or draft2",       \
	  opt_choice, AT(PART.layout), layouts }

static const struct cli_option top_table[] = {
	{ 'a', "all", NULL, SELECTION_OF_TOP, "every Python process on this host (default)", opt_flag,
	  AT(top.select.all), NULL },
	{ 'p', "pid", "PID[,PID...]", SELECTION_OF_TOP, "these processes, as PID alone", opt_pids, 0,
	  NULL },
	CONDITION_OPTIONS(top.select),
	EXCLUSION_OPTIONS(top.select),
	{ 'r', "rate", "RATE", "How to look", "samples per second and CPU (default: 99)", opt_rate,
	  AT(top.select.rate_hz), NULL },
	{ 'i', "interval", "TIME", "How to look", "between two tables: 2s (default), 0.5, 1m",
	  opt_duration, AT(top.interval_s), NULL },
	{ 'n', "iterations", "N", "How to look", "end after so many tables", opt_limit, AT(top.count),
	  NULL },
	{ 0, "once", NULL, "How to look", "one table, as -b -n 1", opt_flag, AT(top.once), NULL },
	{ 'b', "batch", NULL, "Output", "tables one after the other, also on a terminal", opt_flag,
	  AT(top.batch), NULL },
	{ 0, "limit", "N", "Output", "this many processes, 0 for all (default: 20)", opt_limit,
	  AT(top.limit), NULL },
	{ 0, "json", NULL, "Output", "one line of JSON for each table", opt_flag,
	  AT(top.select.json), NULL },
	GENERAL_OPTIONS,
	{ 0, "ignore-kernel-bugs", NULL, RARE, "also on a kernel that is known to freeze", opt_flag,
	  AT(top.select.ignore_kernel_bugs), NULL },
};

static const struct cli_option dump_table[] = {
	{ 'a', "all", NULL, SELECTION_OF_LOOK, "every Python process on this host", opt_flag,
	  AT(record.all), NULL },
	{ 'p', "pid", "PID[,PID...]", SELECTION_OF_LOOK, "these processes, as PID alone", opt_pids, 0,
	  NULL },
	CONDITION_OPTIONS(record),
	EXCLUSION_OPTIONS(record),
	{ 0, "blocked", "TIME", "Which threads",
	  "only those that do not run for so long: 5s; the look\ntakes as long", opt_duration,
	  AT(record.duration_s), NULL },
	{ 0, "native", "[=HOW]", "Output",
	  "with functions of C and other machine code, of threads\nthat run; HOW: full, lines, as "
	  "of record", opt_native, 0, NULL },
	{ 0, "kernel", NULL, "Output", "with the kernel's functions of threads that wait", opt_flag,
	  AT(record.kernel), NULL },
	{ 0, "locals", NULL, "Output", "with arguments and local variables: this shows data of\nthe "
	  "processes", opt_flag, AT(record.locals), NULL },
	{ 0, "json", NULL, "Output", "as JSON", opt_flag, AT(record.json), NULL },
	GENERAL_OPTIONS,
	{ 0, "ignore-kernel-bugs", NULL, RARE, "also on a kernel that is known to freeze", opt_flag,
	  AT(record.ignore_kernel_bugs), NULL },
};

static const struct cli_option info_table[] = {
	INPUT_OPTIONS,
	{ 0, "verify", NULL, "Output", "check every byte instead, say whether files are sound",
	  opt_flag, AT(info.verify), NULL },
	{ 0, "limit", "N", "Output", "this many threads of a file, 0 for all (default: 20)",
	  opt_limit, AT(info.limit), NULL },
	{ 0, "json", NULL, "Output", "as JSON", opt_flag, AT(info.json), NULL },
	GENERAL_OPTIONS,
};

#define FRAME_OPTIONS(command)                                                                    \
	{ 0, "native", NULL, "Rows", "rows also for functions in machine code (C, C++, Rust,\n"   \
	  "...): they have the self then", opt_flag, AT(command.native), NULL },                   \
	{ 0, "detail", NULL, "Rows", "rows also for what is no function: <GC>,\n"                  \
	  "<blocked in read>, ...: they have the self then", opt_flag, AT(command.detail), NULL }

static const struct cli_option report_table[] = {
	INPUT_OPTIONS,
	{ 0, "by", "KEY", "Rows", "function (default), line, process, thread,\n"
	  "container, or gil: as tachbpf gil", opt_choice,
	  AT(report.by), bys },
	{ 0, "sort", "KEY", "Rows", "self (default), total, samples, name or file", opt_choice,
	  AT(report.sort), sorts },
	{ 0, "limit", "N", "Rows", "this many rows, 0 for all (default: 20)", opt_limit,
	  AT(report.limit), NULL },
	FRAME_OPTIONS(report),
	FILTER_OPTIONS,
	{ 0, "json", NULL, "Output", "as JSON", opt_flag, AT(report.json), NULL },
	GENERAL_OPTIONS,
};

static const struct cli_option replay_table[] = {
	INPUT_OPTIONS,
	FILTER_OPTIONS,
	{ 0, "format", "FORMAT", "Output", "default: collapsed; all are listed below", opt_format,
	  AT(replay.export.format), NULL },
	{ 'o', "output", "FILE", "Output", "write here (default: standard output)", opt_text,
	  AT(replay.export.output), NULL },
	EXPORT_OPTIONS(replay),
	GENERAL_OPTIONS,
};

static const struct cli_option open_table[] = {
	INPUT_OPTIONS,
	FILTER_OPTIONS,
	{ 0, "format", "FORMAT", "Output", "flamegraph (default) or heatmap", opt_format,
	  AT(replay.export.format), NULL },
	{ 'o', "output", "FILE", "Output",
	  "write the page here (default: a private file\nbelow /tmp)", opt_text,
	  AT(replay.export.output), NULL },
	{ 0, "no-source", NULL, "Output", "heatmap: read no source files", opt_flag,
	  AT(replay.export.no_source), NULL },
	GENERAL_OPTIONS,
};

static const struct cli_option mem_table[] = {
	{ 0, "by", "KEY", "Rows", "function (default), line, stack, file, process,\n"
	  "thread or container", opt_choice, AT(mem.by), mem_bys },
	{ 0, "sort", "KEY", "Rows", "held (default; or live), touched (or allocated),\n"
	  "growing, peak or count", opt_choice, AT(mem.sort), mem_sorts },
	{ 0, "leaks", "[=N]", "Rows", "only what grew in each of N intervals (default: 6)",
	  opt_leaks, 0, NULL },
	{ 0, "limit", "N", "Rows", "this many rows, 0 for all (default: 20)", opt_limit,
	  AT(mem.limit), NULL },
	{ 0, "from", "TIME", "Time", "from this time on: 1.5, 500ms, 2m after the start;\n"
	  "@SECONDS: since 1970, in files that tachbpf recorded", opt_moment,
	  AT(input.filter.from), NULL },
	{ 0, "to", "TIME", "Time", "until just before this time", opt_moment,
	  AT(input.filter.to), NULL },
	{ 0, "html", "FILE", "Output", "a flame graph of all stacks instead of the table",
	  opt_text, AT(mem.html), NULL },
	{ 0, "validate", NULL, "Output", "only check the files against the format's rules",
	  opt_flag, AT(mem.validate), NULL },
	{ 0, "json", NULL, "Output", "as JSON", opt_flag, AT(mem.json), NULL },
	GENERAL_OPTIONS,
};

static const struct cli_option convert_table[] = {
	INPUT_OPTIONS,
	FILTER_OPTIONS,
	{ 'o', "output", "FILE", "Output", "write here; - is standard output (not TACH)", opt_text,
	  AT(convert.export.output), NULL },
	{ 0, "format", "FORMAT", "Output", "default: what FILE's name says; all are listed\n"
	  "below", opt_format, AT(convert.export.format), NULL },
	EXPORT_OPTIONS(convert),
	GENERAL_OPTIONS,
	TACH_OPTIONS(convert.export.tach),
};

static const struct cli_option merge_table[] = {
	FILTER_OPTIONS,
	{ 'o', "output", "FILE", "Output", "write here", opt_text, AT(merge.output), NULL },
	GENERAL_OPTIONS,
	TACH_OPTIONS(merge.tach),
};

static const struct cli_option split_table[] = {
	INPUT_OPTIONS,
	{ 0, "by", "KEY", "Pieces", "process, thread or time", opt_choice,
	  AT(split.by), splits },
	{ 0, "every", "TIME", "Pieces", "--by time: how long a piece is (default: 10s)", opt_every,
	  AT(split.every_us), NULL },
	FILTER_OPTIONS,
	{ 'o', "output", "DIR", "Output", "write here; made if absent", opt_text, AT(split.output),
	  NULL },
	GENERAL_OPTIONS,
	TACH_OPTIONS(split.tach),
};

static const struct cli_option diff_table[] = {
	INPUT_OPTIONS,
	{ 0, "sort", "KEY", "Rows", "delta (of self, default), total (its delta), a, b,\n"
	  "name or file", opt_choice, AT(diff.sort), diff_sorts },
	{ 0, "limit", "N", "Rows", "this many rows, 0 for all (default: 20)", opt_limit,
	  AT(diff.limit), NULL },
	FRAME_OPTIONS(diff),
	FILTER_OPTIONS,
	{ 0, "force", NULL, "Comparison", "compare also different modes or units", opt_flag,
	  AT(diff.force), NULL },
	{ 0, "fail-over", "PERCENT", "Comparison", "exit with 4 if a function's share of self grew "
	  "by more than so many points beyond its noise: for tests", opt_points, AT(diff.fail_over),
	  NULL },
	{ 0, "json", NULL, "Output", "as JSON", opt_flag, AT(diff.json), NULL },
	{ 0, "format", "FORMAT", "Output", "flamegraph: a page instead of the table; with -o",
	  opt_format, AT(diff.format), NULL },
	{ 'o', "output", "FILE", "Output", "write the page here", opt_text, AT(diff.output), NULL },
	GENERAL_OPTIONS,
};

static const struct cli_option gil_table[] = {
	{ 0, "limit", "N", "Rows", "this many in each table, 0 for all (default: 20)", opt_limit,
	  AT(gil.limit), NULL },
	FILTER_OPTIONS,
	{ 0, "json", NULL, "Output", "as JSON", opt_flag, AT(gil.json), NULL },
	{ 0, "html", "FILE", "Output", "a page with the matrix instead of the tables", opt_text,
	  AT(gil.html), NULL },
	GENERAL_OPTIONS,
};

static const struct cli_option recover_table[] = {
	{ 'o', "output", "FILE", "Output", "write here (default: in the damaged file's place)",
	  opt_text, AT(recover.output), NULL },
	GENERAL_OPTIONS,
};

static const struct cli_option doctor_table[] = {
	{ 0, "json", NULL, "Output", "as JSON", opt_flag, AT(doctor.json), NULL },
	GENERAL_OPTIONS,
};

static const struct cli_option ps_table[] = {
	CONDITION_OPTIONS(ps),
	EXCLUSION_OPTIONS(ps),
	{ 0, "json", NULL, "Output", "as JSON", opt_flag, AT(ps.json), NULL },
	GENERAL_OPTIONS,
};

static const struct cli_option completion_table[] = {
	GENERAL_OPTIONS,
};

static const char *const record_synopsis[] = {
	"tachbpf [record] -a [OPTIONS]",
	"tachbpf [record] --container NAME | --unit UNIT | ... [OPTIONS]",
	"tachbpf [record] -p PID[,PID...] [OPTIONS]",
	"tachbpf [record] [OPTIONS] -- COMMAND [ARGUMENT...]",
	NULL
};
static const char *const record_examples[] = {
	"sudo tachbpf -a -d 30",
	"every Python process on this host, for 30 seconds",
	"sudo tachbpf -r 999 -o app.tach -- python3 app.py",
	"a program from its start to its end, 999 times a second",
	"sudo tachbpf -m mem -p 1234 -d 10m -o app.mlyze",
	"which code makes a process grow; then: tachbpf mem app.mlyze",
	NULL
};
static const char *const top_synopsis[] = { "tachbpf top [OPTIONS] [PID...]", NULL };
static const char *const top_examples[] = {
	"sudo tachbpf top",
	"the busiest Python processes of this host, anew every 2 seconds",
	"sudo tachbpf top --once -i 10 --container checkout --json",
	"ten seconds of one container, for programs",
	NULL
};
static const char *const dump_synopsis[] = {
	"tachbpf dump [OPTIONS] PID...", "tachbpf dump [OPTIONS] -a | --container NAME | ...", NULL
};
static const char *const dump_examples[] = {
	"sudo tachbpf dump 1234",
	"what every thread of a process that hangs is doing, without stopping it",
	"sudo tachbpf dump --container checkout --json",
	"all Python processes of one container, for programs",
	"sudo tachbpf dump -a --blocked 5s",
	"every thread of this host that does not run for 5 seconds, and why",
	NULL
};
static const char *const info_synopsis[] = { "tachbpf info [OPTIONS] FILE|DIR...", NULL };
static const char *const info_examples[] = {
	"tachbpf info 1234-app.tach",
	"what the file says about itself, its threads, what was lost",
	NULL
};
static const char *const report_synopsis[] = { "tachbpf report [OPTIONS] FILE|DIR...", NULL };
static const char *const report_examples[] = {
	"tachbpf report tachbpf-host-20260101T120000Z",
	"the functions in which all recorded processes spent their time",
	"tachbpf report --by line --sort total --limit 0 1234-app.tach",
	"every line of one process, the most inclusive first",
	NULL
};
static const char *const replay_synopsis[] = {
	"tachbpf replay [OPTIONS] FILE|DIR...", NULL
};
static const char *const open_synopsis[] = { "tachbpf open [OPTIONS] FILE|DIR...", NULL };
static const char *const open_examples[] = {
	"tachbpf open tachbpf-host-20260101T120000Z",
	"a flame graph of all recorded processes, in the browser",
	"tachbpf open --format heatmap 1234-app.tach",
	"the source code of one process, with the samples of each line",
	NULL
};
static const char *const replay_examples[] = {
	"tachbpf replay --format collapsed -o app.folded 1234-app.tach",
	"one line for each distinct stack, as flame graph tools read it",
	"tachbpf replay --format speedscope -o app.speedscope.json 1234-app.tach",
	"every thread over time, for speedscope.app",
	NULL
};

static const char *const mem_synopsis[] = { "tachbpf mem [OPTIONS] FILE|DIR...", NULL };
static const char *const mem_examples[] = {
	"tachbpf mem --by function 1234-app.mlyze",
	"the functions that hold most memory, and how fast it grows",
	"tachbpf mem --leaks tachbpf-host-20260101T120000Z",
	"what grew all the time, in any process of the recording",
	"tachbpf mem --validate app.mlyze",
	"whether the file keeps all rules of its format",
	NULL
};

static const char *const convert_synopsis[] = {
	"tachbpf convert [OPTIONS] FILE|DIR... -o FILE", NULL
};
static const char *const convert_examples[] = {
	"tachbpf convert 1234-app.tach -o app.folded",
	"another format, by the name's ending",
	"tachbpf convert old.tach -o new.tach --layout release --from 10 --to 20",
	"ten seconds of a profile, as CPython 3.15 reads it",
	NULL
};
static const char *const merge_synopsis[] = {
	"tachbpf merge [OPTIONS] FILE|DIR... -o FILE", NULL
};
static const char *const merge_examples[] = {
	"tachbpf merge monday.tach tuesday.tach -o both.tach",
	"profiles of one process as one",
	NULL
};
static const char *const split_synopsis[] = {
	"tachbpf split --by process|thread|time [OPTIONS] FILE|DIR... -o DIR", NULL
};
static const char *const split_examples[] = {
	"tachbpf split --by time --every 10s 1234-app.tach -o pieces",
	"one file for every ten seconds",
	NULL
};
static const char *const diff_synopsis[] = {
	"tachbpf diff [OPTIONS] A B", "tachbpf diff --from TIME [--to TIME] MEMORY", NULL
};
static const char *const diff_examples[] = {
	"tachbpf diff before.tach after.tach",
	"which functions take more, or less, of the time",
	"tachbpf diff before.tach after.tach --format flamegraph -o diff.html",
	"the same as a flame graph, coloured by the difference",
	"tachbpf diff --from 10m --to 70m 1234-app.mlyze",
	"what has grown in this hour: the memory that is held at its end, and at its beginning",
	"tachbpf diff --fail-over 2 main.tach branch.tach",
	"in a CI job: fails if a function takes 2 % more of all time than before",
	NULL
};
static const char *const gil_synopsis[] = { "tachbpf gil [OPTIONS] FILE|DIR...", NULL };
static const char *const gil_examples[] = {
	"tachbpf gil 1234-app.tach",
	"who waited for the GIL, where, and who held it meanwhile",
	"tachbpf gil --focus handle_request --limit 5 tachbpf-host-20260101T120000Z",
	"only the waits in requests, of all processes",
	"tachbpf gil --html gil.html 1234-app.tach",
	"a page: which thread waited for which one, and what both did",
	NULL
};
static const char *const recover_synopsis[] = { "tachbpf recover FILE|DIR... [-o FILE]", NULL };
static const char *const recover_examples[] = {
	"tachbpf recover tachbpf-host-20260101T120000Z",
	"make the files of a recording that was killed readable",
	NULL
};

static const char *const doctor_synopsis[] = { "tachbpf doctor [--json]", NULL };
static const char *const doctor_examples[] = {
	"sudo tachbpf doctor",
	"what of this kernel, these rights and these Pythons is fit for recording, and what to do",
	NULL
};

static const char *const ps_synopsis[] = { "tachbpf ps [OPTIONS]", NULL };
static const char *const ps_examples[] = {
	"sudo tachbpf ps",
	"every Python process: its container, version, CPU time; whether it can be profiled",
	"sudo tachbpf ps --container checkout --json",
	"those of one container, for programs",
	NULL
};

static const char *const agent_synopsis[] = {
	"tachbpf agent [--config FILE] [OPTION...]", "tachbpf agent ctl COMMAND", NULL
};

static const char *const completion_synopsis[] = { "tachbpf completion bash|zsh|fish", NULL };
static const char *const completion_examples[] = {
	". <(tachbpf completion bash)",
	"complete tachbpf's commands and options in this shell",
	NULL
};

#define FILE_COMMAND(NAME, HELP)                                                                   \
	{ #NAME, HELP, NAME##_synopsis, NAME##_examples, NAME##_table, ARRAY_SIZE(NAME##_table),   \
	  opt_files_word, NULL }

const struct cli_command options_commands[OPTIONS_COMMAND_CNT] = {
	[COMMAND_RECORD] = { "record", "Record Python processes into TACH files (the default).",
			     record_synopsis, record_examples, record_table,
			     ARRAY_SIZE(record_table), opt_record_word, opt_record_rest },
	[COMMAND_TOP] = { "top", "Show the busiest Python processes, again and again.", top_synopsis,
			  top_examples, top_table, ARRAY_SIZE(top_table), opt_pid_word, NULL },
	[COMMAND_DUMP] = { "dump", "Show what every thread is doing now, also in a process that hangs.",
			   dump_synopsis, dump_examples, dump_table, ARRAY_SIZE(dump_table),
			   opt_pid_word, NULL },
	[COMMAND_INFO] = FILE_COMMAND(info, "Show what profiles say about themselves."),
	[COMMAND_REPORT] = FILE_COMMAND(report, "Show where the time went, as a table."),
	[COMMAND_REPLAY] = FILE_COMMAND(replay, "Convert profiles to another format."),
	[COMMAND_OPEN] = FILE_COMMAND(open, "Show profiles as a page in the browser."),
	[COMMAND_MEM] = FILE_COMMAND(mem, "Show who got memory and still holds it."),
	[COMMAND_CONVERT] =
		FILE_COMMAND(convert, "Write profiles anew: in another format, or less of them."),
	[COMMAND_MERGE] = FILE_COMMAND(merge, "Join TACH files of one process into one."),
	[COMMAND_SPLIT] =
		FILE_COMMAND(split, "Cut profiles into one for each process, thread or time."),
	[COMMAND_DIFF] = FILE_COMMAND(diff, "Compare where the time went in two profiles."),
	[COMMAND_GIL] =
		FILE_COMMAND(gil, "Show who waited for the GIL, and who held it meanwhile."),
	[COMMAND_RECOVER] =
		FILE_COMMAND(recover, "Make readable what a killed recording left, or damage."),
	[COMMAND_DOCTOR] = { "doctor", "Say whether this machine can record, and if not, why not.",
			     doctor_synopsis, doctor_examples, doctor_table,
			     ARRAY_SIZE(doctor_table), opt_no_word, NULL },
	[COMMAND_PS] = { "ps", "List the Python processes on this host.", ps_synopsis, ps_examples,
			 ps_table, ARRAY_SIZE(ps_table), opt_no_word, NULL },
	/* Its options are those of tachbpf-agent, which parses them (options_parse()). */
	[COMMAND_AGENT] = { "agent", "Record for ever, and send profiles and metrics to servers.",
			    agent_synopsis, NULL, NULL, 0, NULL, NULL },
	[COMMAND_COMPLETION] = { "completion", "Print what a shell needs to complete a command line.",
				 completion_synopsis, completion_examples, completion_table,
				 ARRAY_SIZE(completion_table), opt_shell_word, NULL },
};
