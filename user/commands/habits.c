// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * habits.c - the tables of other profilers' commands and options. See habits.h.
 *
 * As of py-spy 0.4, memray 1.19, austin 3.7, perf 6.x and CPython 3.15. What an option of ours says
 * already is not here: a row that a command's own option hides is an error (test_habits).
 */
#include "commands/habits.h"

#include <string.h>

#include "base/util.h"
#include "commands/options_tables.h"

/* ---- commands ---- */

static const struct habit_command commands[] = {
	{ "attach", COMMAND_RECORD, options_pid_word, NULL },
	{ "run", COMMAND_RECORD, options_run_word, NULL },
	{ "replay", COMMAND_CONVERT, NULL, NULL },
	{ "flamegraph", COMMAND_OPEN, NULL, NULL },
	{ "replay", COMMAND_CONVERT, NULL, NULL },	/* CPython's name for it */
	{ "live", .answer = "use tachbpf top" },
	{ "detach", .answer = "there is nothing to detach: Ctrl-C ends a recording, and the "
			      "program goes on" },
	{ "table", .answer = "use tachbpf mem FILE" },
	{ "summary", .answer = "use tachbpf report FILE, or for memory tachbpf mem FILE" },
	{ "stats", .answer = "use tachbpf info FILE, or for memory tachbpf mem FILE" },
	{ "tree", .answer = "use tachbpf mem --by stack FILE" },
	{ "transform", .answer = "use tachbpf convert FILE -o NAME" },
	{ "parse", .answer = "use tachbpf convert FILE -o NAME.jsonl" },
	{ "script", .answer = "use tachbpf convert FILE -o NAME.folded (collapsed stacks)" },
	{ "annotate", .answer = "use tachbpf report --annotate FILE" },
};

const struct habit_command *habits_find_command(const char *word)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].name, word))
			return &commands[i];
	return NULL;
}

/* ---- options ---- */

/* The commands of a row. */
#define OF(id) (1u << COMMAND_##id)
#define RECORD OF(RECORD)
#define TOP OF(TOP)
#define DUMP OF(DUMP)
#define WRITERS OF(CONVERT)
#define READERS (WRITERS | OF(REPORT) | OF(OPEN))
#define ALL (~0u)

struct habit_option {
	uint32_t commands;
	const char *letter, *name;	/* either may be NULL */
	struct cli_foreign means;
};

#define SAME(option_name) { .option = option_name }
#define SAME_AS(option_name, its_value) { .option = option_name, .value = its_value }
#define SAY(text) { .answer = text }

#define SAY_FORMAT                                                                                 \
	SAY("the name of -o decides the format: -o profile.svg, .html, .json (speedscope), "       \
	    ".pb.gz (pprof), .txt (collapsed)")
#define SAY_CONVERT(name)                                                                          \
	SAY("record first; then: tachbpf convert FILE --format " name " -o NAME")
#define SAY_NEVER_STOPS SAY("tachbpf never stops a program: leave it out")
#define SAY_ALL_THREADS SAY("all threads are always recorded: leave it out")

static const struct habit_option options[] = {
	{ ALL, "-V", NULL, SAME("version") },

	/* Which processes. */
	{ RECORD, "-s", "--subprocesses", SAME("children") },
	{ RECORD, NULL, "--follow-fork", SAME("children") },
	{ RECORD, NULL, "--no-inherit", SAME("no-children") },
	{ RECORD, NULL, "--all-cpus", SAME("all") },
	{ TOP, "-s", "--subprocesses", SAY("leave it out: without a PID, all Python processes are "
					   "shown") },
	{ DUMP, "-s", "--subprocesses", SAY("name each process: tachbpf dump PID PID..., or use "
					    "-a") },
	{ DUMP, "-c", "--core", SAY("core dumps cannot be read: use gdb; dump shows processes that "
				    "run") },
	{ RECORD, "-w", "--where", SAY("use tachbpf dump PID") },
	{ RECORD, NULL, "--module", SAY("use -- python3 -m MODULE") },

	/* How often, how long. */
	{ RECORD, NULL, "--sampling-rate", SAME("rate") },
	{ RECORD, NULL, "--freq", SAME("rate") },
	{ RECORD, "-x", "--exposure", SAME("duration") },
	{ RECORD, "-i", NULL, SAY("for a sampling rate use -r: -r 999, -r 10khz; for idle threads, "
				  "--idle") },
	{ RECORD, "-F", NULL, SAY("for a sampling rate use -r; `report` shows functions, `report "
				  "--by line` lines") },
	{ TOP, "-d", "--delay", SAME("interval") },

	/* What is sampled. */
	{ RECORD, "-g", "--gil", SAY("use -m gil (stacks are always recorded)") },
	{ RECORD, NULL, "--call-graph", SAY("stacks are always recorded; --native adds machine "
					    "code") },
	{ RECORD, NULL, "--memory", SAY("use -m mem") },
	{ RECORD, NULL, "--sleepless", SAY("use -m cpu, the default") },
	{ RECORD, NULL, "--trace-python-allocators", SAY("use -m mem --allocations") },
	{ RECORD, NULL, "--gc", SAY("<GC> frames are always recorded: leave it out") },
	{ RECORD | DUMP, "-n", NULL, SAY("use --native") },
	{ RECORD | TOP | DUMP, NULL, "--nonblocking", SAY_NEVER_STOPS },
	{ RECORD | DUMP, NULL, "--blocking", SAY_NEVER_STOPS },
	{ RECORD | DUMP, NULL, "--all-threads", SAY_ALL_THREADS },
	{ RECORD, "-t", "--threads", SAY("threads are always recorded apart: see tachbpf report "
					 "--by thread") },
	{ RECORD, NULL, "--async-aware", SAME("async") },
	{ RECORD, NULL, "--async-mode", SAY("use --async (tasks that run), or --async -m wall (all "
					    "tasks)") },
	{ TOP, "-g", "--gil", SAY("top always shows the GIL: leave it out") },
	{ TOP, NULL, "--native", SAY("top shows Python functions: use tachbpf --native -p PID, or "
				     "tachbpf dump --native PID") },
	{ TOP, NULL, "--idle", SAY("use tachbpf dump PID, which shows all threads, also idle "
				   "ones") },
	{ DUMP, NULL, "--async-aware", SAY("tasks are always shown: leave it out") },

	/* What is shown. */
	{ RECORD, NULL, "--function", SAY("`report` shows functions; --by line shows lines") },
	{ RECORD, NULL, "--nolineno", SAY("`report` shows functions; convert --no-lines leaves "
					  "lines out") },
	{ RECORD | TOP | DUMP, NULL, "--full-filenames", SAY("paths are recorded completely: leave "
							     "it out") },
	{ RECORD, NULL, "--realtime-stats", SAY("samples are counted while they are recorded: "
						"leave it out") },
	{ RECORD, NULL, "--live", SAY("use tachbpf top") },
	{ RECORD, NULL, "--browser", SAME("open") },
	{ RECORD, NULL, "--no-summary", SAY("use -q") },
	{ DUMP, "-j", NULL, SAME("json") },
	{ OF(HEAP), NULL, "--top", SAME("limit") },
	{ OF(HEAP), NULL, "--interval", SAME("since") },
	{ DUMP, "-l", NULL, SAME("locals") },
	{ OF(REPORT) | OF(MEM) | OF(DIFF), "-l", NULL, SAME("limit") },
	{ OF(REPORT), NULL, "--no-children", SAY("rows are sorted by self: leave it out (--sort "
						 "total is perf's --children)") },
	{ OF(REPORT), NULL, "--children", SAY("use --sort total") },
	{ OF(REPORT), NULL, "--stdio", SAY("report prints a table: leave it out") },
	{ READERS, "-i", NULL, SAY("name the file alone, without -i") },
	{ READERS, NULL, "--leaks", SAY("use tachbpf mem --leaks FILE") },

	/* In which format. */
	{ RECORD, "-f", NULL, SAY("the name of -o decides the format; --force replaces an existing "
				  "recording") },
	{ RECORD, NULL, "--format", SAY_FORMAT },
	{ RECORD, NULL, "--flamegraph", SAY_FORMAT },
	{ RECORD, NULL, "--collapsed", SAY_FORMAT },
	{ RECORD, NULL, "--pstats", SAY_CONVERT("pstats") },
	{ RECORD, NULL, "--gecko", SAY_CONVERT("gecko") },
	{ RECORD, NULL, "--jsonl", SAY_CONVERT("jsonl") },
	{ RECORD, NULL, "--heatmap", SAY("record first; then: tachbpf open --format heatmap "
					 "FILE") },
	{ RECORD, NULL, "--binary", SAY("recordings have CPython 3.15's binary format: leave it "
					"out") },
	{ RECORD | READERS, NULL, "--diff-flamegraph", SAY("use tachbpf diff A B --format "
							   "flamegraph -o NAME.html") },
	{ WRITERS | OF(OPEN), NULL, "--flamegraph", SAME_AS("format", "flamegraph") },
	{ WRITERS | OF(OPEN), NULL, "--heatmap", SAME_AS("format", "heatmap") },
	{ WRITERS, NULL, "--collapsed", SAME_AS("format", "collapsed") },
	{ WRITERS, NULL, "--pstats", SAME_AS("format", "pstats") },
	{ WRITERS, NULL, "--gecko", SAME_AS("format", "gecko") },
	{ WRITERS, NULL, "--jsonl", SAME_AS("format", "jsonl") },
	{ WRITERS, "-f", NULL, SAME("format") },
};

static bool is_word(const char *name, const char *word, size_t len)
{
	return name && strlen(name) == len && !memcmp(name, word, len);
}

const struct cli_foreign *habits_find_option(void *target, const char *option, size_t len)
{
	const struct options *o = target;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(options); i++)
		if (options[i].commands & 1u << o->command &&
		    (is_word(options[i].letter, option, len) ||
		     is_word(options[i].name, option, len)))
			return &options[i].means;
	return NULL;
}
