// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* options_commands.c - the commands: what --help says of each. See options_tables.h. */
#include "commands/options_tables.h"

#define TEXTS(...) (const char *const[]){ __VA_ARGS__, NULL }

const struct cli_command options_commands[COMMAND_CNT] = {
	[COMMAND_RECORD] = {
		.name = "record", .help = "Record Python processes into TACH files (the default).",
		.synopsis = TEXTS("tachbpf [record] -a [OPTIONS]",
		  "tachbpf [record] --container NAME | --unit UNIT | ... [OPTIONS]",
		  "tachbpf [record] -p PID[,PID...] [OPTIONS]",
		  "tachbpf [record] [OPTIONS] -- COMMAND [ARGUMENT...]",
		  "tachbpf [record] [OPTIONS] SCRIPT.py [ARGUMENT...]"),
		.examples = TEXTS(
		  "sudo tachbpf -a -d 30",
		  "record every Python process on this host for 30 seconds",
		  "sudo tachbpf -r 999 -o app.tach -- python3 app.py",
		  "record a program from start to end, sampled at 999 Hz",
		  "sudo tachbpf -m mem -p 1234 -d 10m -o app.mlyze",
		  "find the code that makes a process grow; then: tachbpf mem app.mlyze"),
		.settings = options_record, .word = options_pid_word,
		.rest = options_record_rest,
	},
	[COMMAND_TOP] = {
		.name = "top", .help = "Live view of the busiest Python processes.",
		.synopsis = TEXTS("tachbpf top [OPTIONS] [PID...]"),
		.examples = TEXTS(
		  "sudo tachbpf top",
		  "show the busiest Python processes on this host, updated every 2 seconds",
		  "sudo tachbpf top --once -i 10 --container checkout --json",
		  "show ten seconds of one container as JSON"),
		.settings = options_top, .word = options_pid_word,
	},
	[COMMAND_DUMP] = {
		.name = "dump",
		.help = "Show what every thread is doing now, even in a hung process.",
		.synopsis = TEXTS("tachbpf dump [OPTIONS] PID...",
		  "tachbpf dump [OPTIONS] -a | --container NAME | ..."),
		.examples = TEXTS(
		  "sudo tachbpf dump 1234",
		  "show what every thread of a hung process is doing, without stopping it",
		  "sudo tachbpf dump --container checkout --json",
		  "dump all Python processes of one container as JSON",
		  "sudo tachbpf dump -a --blocked 5s",
		  "show every thread on this host that does not run for 5 seconds, and why"),
		.settings = options_dump, .word = options_pid_word,
	},
	[COMMAND_HEAP] = {
		.name = "heap",
		.help = "Show what is in the memory of a process, by type, and what grows.",
		.synopsis = TEXTS("tachbpf heap [OPTIONS] PID...",
		  "tachbpf heap [OPTIONS] -a | --container NAME | ..."),
		.examples = TEXTS(
		  "sudo tachbpf heap 1234",
		  "count the objects of a process by type, without stopping it",
		  "sudo tachbpf heap 1234 --since 5m",
		  "show which types grow, by how many objects and bytes a minute",
		  "sudo tachbpf heap 1234 --why app.Session",
		  "show who keeps the objects of a type: app.CACHE, a dict",
		  "sudo tachbpf heap -a",
		  "show how much memory each Python process holds, and in which types",
		  "sudo tachbpf heap 1234 --json > before.json",
		  "keep a census; later: tachbpf diff before.json after.json"),
		.settings = options_heap, .word = options_pid_word,
	},
	[COMMAND_INFO] = {
		.name = "info", .help = "Show the metadata of profiles.",
		.synopsis = TEXTS("tachbpf info [OPTIONS] FILE|DIR..."),
		.examples = TEXTS(
		  "tachbpf info 1234-app.tach",
		  "show the file's header, its threads, and what was lost"),
		.settings = options_info, .word = options_file_word,
	},
	[COMMAND_REPORT] = {
		.name = "report", .help = "Show where the time was spent, as a table.",
		.synopsis = TEXTS("tachbpf report [OPTIONS] FILE|DIR..."),
		.examples = TEXTS(
		  "tachbpf report tachbpf-host-20260101T120000Z",
		  "list the functions in which the recorded processes spent their time",
		  "tachbpf report --by line --sort total --limit 0 1234-app.tach",
		  "list every line of one process, by inclusive time",
		  "tachbpf report --annotate --mine 1234-app.tach",
		  "show the source of the hottest lines in the project's own code"),
		.settings = options_report, .word = options_file_word,
	},
	[COMMAND_CONVERT] = {
		.name = "convert",
		.help = "Convert or filter profiles. Also called replay.",
		.synopsis = TEXTS("tachbpf convert [OPTIONS] FILE|DIR... [-o FILE]"),
		.examples = TEXTS(
		  "tachbpf convert 1234-app.tach -o app.svg",
		  "convert to another format, chosen by the name's ending: an interactive picture",
		  "tachbpf convert --format collapsed 1234-app.tach | flamegraph.pl > app.svg",
		  "write one line per distinct stack, the input of flame graph tools",
		  "tachbpf convert old.tach -o new.tach --layout release --from 10 --to 20",
		  "extract ten seconds of a profile, readable by CPython 3.15"),
		.settings = options_convert, .word = options_file_word,
	},
	[COMMAND_OPEN] = {
		.name = "open", .help = "Open a profile in the browser.",
		.synopsis = TEXTS("tachbpf open [OPTIONS] FILE|DIR..."),
		.examples = TEXTS(
		  "tachbpf open tachbpf-host-20260101T120000Z",
		  "open a flame graph of all recorded processes",
		  "tachbpf open --format heatmap 1234-app.tach",
		  "open the source code of one process, with the samples of each line"),
		.settings = options_open, .word = options_file_word,
	},
	[COMMAND_MEM] = {
		.name = "mem",
		.help = "Show which types grew, and which code ran while memory grew.",
		.synopsis = TEXTS("tachbpf mem [OPTIONS] FILE|DIR..."),
		.examples = TEXTS(
		  "tachbpf mem --by function 1234-app.mlyze",
		  "list the types that grew, and the functions that ran while memory grew",
		  "tachbpf mem --leaks tachbpf-host-20260101T120000Z",
		  "list what kept growing, in any process of the recording",
		  "tachbpf mem --validate app.mlyze",
		  "check that the file follows all rules of its format"),
		.settings = options_mem, .word = options_file_word,
	},
	[COMMAND_MERGE] = {
		.name = "merge", .help = "Merge TACH files of one process.",
		.synopsis = TEXTS("tachbpf merge [OPTIONS] FILE|DIR... -o FILE"),
		.examples = TEXTS(
		  "tachbpf merge monday.tach tuesday.tach -o both.tach",
		  "merge two profiles of one process"),
		.settings = options_merge, .word = options_file_word,
	},
	[COMMAND_SPLIT] = {
		.name = "split", .help = "Split profiles by process, thread or time.",
		.synopsis = TEXTS(
		  "tachbpf split --by process|thread|time [OPTIONS] FILE|DIR... -o DIR"),
		.examples = TEXTS(
		  "tachbpf split --by time --every 10s 1234-app.tach -o pieces",
		  "write one file for every ten seconds"),
		.settings = options_split, .word = options_file_word,
	},
	[COMMAND_DIFF] = {
		.name = "diff", .help = "Compare where the time was spent in two profiles.",
		.synopsis = TEXTS("tachbpf diff [OPTIONS] A B",
		  "tachbpf diff --from TIME [--to TIME] MEMORY"),
		.examples = TEXTS(
		  "tachbpf diff before.tach after.tach",
		  "show which functions take more, or less, of the time",
		  "tachbpf diff before.tach after.tach --format flamegraph -o diff.html",
		  "write the comparison as a flame graph, coloured by the difference",
		  "tachbpf diff --from 10m --to 70m 1234-app.mlyze",
		  "show what has grown in this hour: the memory held at its end, and at its "
		  "beginning",
		  "tachbpf diff --fail-over 2 main.tach branch.tach",
		  "in a CI job: fail if a function takes 2 % more of all time than before"),
		.settings = options_diff, .word = options_file_word,
	},
	[COMMAND_GIL] = {
		.name = "gil",
		.help = "Show which threads waited for the GIL, and which held it meanwhile.",
		.synopsis = TEXTS("tachbpf gil [OPTIONS] FILE|DIR..."),
		.examples = TEXTS(
		  "tachbpf gil 1234-app.tach",
		  "show which threads waited for the GIL, where, and which held it meanwhile",
		  "tachbpf gil --focus handle_request --limit 5 tachbpf-host-20260101T120000Z",
		  "show only the waits in requests, of all processes",
		  "tachbpf gil --html gil.html 1234-app.tach",
		  "write a page: which thread waited for which one, and what both did"),
		.settings = options_gil, .word = options_file_word,
	},
	[COMMAND_RECOVER] = {
		.name = "recover", .help = "Repair an interrupted or damaged recording.",
		.synopsis = TEXTS("tachbpf recover FILE|DIR... [-o FILE]"),
		.examples = TEXTS(
		  "tachbpf recover tachbpf-host-20260101T120000Z",
		  "make the files of a killed recording readable"),
		.settings = options_recover, .word = options_file_word,
	},
	[COMMAND_DOCTOR] = {
		.name = "doctor",
		.help = "Check whether this machine can record, and if not, why not.",
		.synopsis = TEXTS("tachbpf doctor [--json]"),
		.examples = TEXTS(
		  "sudo tachbpf doctor",
		  "check the kernel, the privileges and the running Python processes, and say how "
		  "to fix problems"),
		.settings = options_doctor, .word = options_no_word,
	},
	[COMMAND_PS] = {
		.name = "ps", .help = "List the Python processes on this host.",
		.synopsis = TEXTS("tachbpf ps [OPTIONS]"),
		.examples = TEXTS(
		  "sudo tachbpf ps",
		  "list every Python process: its container, version, CPU time, and whether it can "
		  "be profiled",
		  "sudo tachbpf ps --container checkout --json",
		  "list those of one container as JSON"),
		.settings = options_ps, .word = options_no_word,
	},
	[COMMAND_AGENT] = {
		.name = "agent",
		.help = "Profile continuously, and send profiles and metrics to servers.",
		.synopsis = TEXTS("tachbpf agent [--config FILE] [OPTION...]",
		  "tachbpf agent ctl COMMAND"),
		/* Its options are those of tachbpf-agent, which parses them (options_parse()). */
	},
	[COMMAND_COMPLETION] = {
		.name = "completion",
		.help = "Print a shell completion script.",
		.synopsis = TEXTS("tachbpf completion bash|zsh|fish"),
		.examples = TEXTS(
		  ". <(tachbpf completion bash)",
		  "enable completion of tachbpf's commands and options in this shell"),
		.settings = options_completion, .word = options_shell_word,
	},
};
