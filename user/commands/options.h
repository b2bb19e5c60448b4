/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * options.h - the command line, parsed into a struct for each command.
 */
#ifndef TACHBPF_OPTIONS_H
#define TACHBPF_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "analysis/diff.h"
#include "analysis/memory_rows.h"
#include "analysis/report.h"
#include "base/colour.h"
#include "capture/capture.h"
#include "commands/top_table.h"
#include "model/reader.h"
#include "model/sample_filter.h"
#include "model/sink.h"
#include "probe/event_spec.h"
#include "recording/recording.h"
#include "recording/when.h"
#include "resolve/record_mode.h"
#include "target/proc_filter.h"

/* Exit status after usage errors, and of tachbpf alone; after other errors it is 1. */
#define EXIT_USAGE 2
/* record: no Python was seen. */
#define EXIT_NO_PYTHON 3
/* Of diff --fail-over: a function's share grew by more. */
#define EXIT_GROWN 4

/* A flight recorder: docs/flight-recorder.md. */
struct flight_options {
	double keep_s;			/* --keep; 0: nothing is kept */
	struct when_list when;		/* --when */
	int signal;			/* --signal; 0: none */
	uint32_t triggers;		/* --triggers; 0: for ever with --keep, else one */
};

/* Which processes: the first member of all that choose some. */
struct select_options {
	bool all;			/* -a */
	pid_t *pids;			/* -p; pid_cnt of them */
	size_t pid_cnt;
	struct proc_filter proc_filter;	/* --container, --exclude-..., --children, --min-age */
};

/* --native: what frames of machine code have. */
enum native_bits { NATIVE_ON = 1 << 0, NATIVE_FULL = 1 << 1, NATIVE_LINES = 1 << 2 };

/* What holds with -m mem if the option is not given. */
#define MEMORY_EVERY_BYTES 65536
#define MEMORY_INTERVAL_S 1.0
#define MEMORY_MIN_BLOCK_BYTES 512

/* -o FILE.svg and the like: the recording is converted at its end, and removed. */
struct record_export {
	const struct sink_ops *format;	/* NULL: -o is the recording itself */
	const char *path;		/* the file that the user named; NULL without a format */
	char recording[PATH_MAX];	/* where the recording is until then */
};

struct record_options {
	struct select_options select;
	char **command;			/* -- CMD ARGS...; NULL: none; not owned */
	bool script;			/* the command is a Python script: ... */
	char **script_command;		/* ... what it is executed with; script_command() */
	uint32_t rate_hz;		/* -r; 0: default for the selection */
	uint32_t native;		/* --native: enum native_bits; also in capture */
	bool kernel;			/* --kernel */
	double duration_s;		/* -d; 0: until interrupted */
	bool kill;			/* --kill: the command ends with the recording */
	bool json;			/* --json: the summary as JSON on stdout */
	bool control;			/* --control: a program reads stdout, writes stdin */
	const char *html;		/* --html: a flame graph at the end; NULL: none */
	bool open;			/* --open: show it */
	struct record_export export;
	bool idle;			/* --idle: the summary lists idle threads */
	bool no_source;			/* --no-source: keep no source text */
	bool ignore_kernel_bugs;	/* --ignore-kernel-bugs: kernels that can freeze */
	enum record_mode mode;		/* -m; with an event, see options_mode() */
	struct event_spec event;	/* -e; kind EVENT_NONE: a clock's */
	struct flight_options flight;
	/* Of these two, cmd_record.c sets the members that are no option's. */
	struct capture_args capture;
	struct recording_args recording;
};

struct top_options {
	struct select_options select;
	uint32_t rate_hz;		/* -r; 0: the default */
	double interval_s;		/* -i */
	uint32_t count;			/* -n; 0: until interrupted */
	uint32_t limit;			/* --limit; 0: all rows */
	enum top_sort sort;		/* --sort */
	bool async;			/* --async */
	bool once;			/* --once */
	bool batch;			/* -b */
	bool json;			/* --json */
	bool ignore_kernel_bugs;	/* --ignore-kernel-bugs */
};

struct dump_options {
	struct select_options select;
	double blocked_s;		/* --blocked; 0: all threads */
	uint32_t native;		/* --native: enum native_bits */
	bool kernel;			/* --kernel */
	bool locals;			/* --locals */
	bool json;			/* --json */
	bool ignore_kernel_bugs;	/* --ignore-kernel-bugs */
};

struct heap_options {
	struct select_options select;
	double since_s;			/* --since; 0: one census */
	uint32_t limit;			/* --limit; 0: all rows */
	enum heap_sort { HEAP_SORT_BYTES, HEAP_SORT_OBJECTS, HEAP_SORT_GROWTH } sort;	/* --sort */
	const char *why;		/* --why; NULL: not given */
	bool values;			/* --values */
	bool exact;			/* --exact */
	bool json;			/* --json */
};

/* Which files are read, and which of their samples: the first member of all that read files. */
struct input_options {
	char **paths;			/* path_cnt of them, at least one; strings not owned */
	size_t path_cnt;
	struct reader_args reader;	/* --input-format, --value */
	struct sample_filter_options filter;	/* --thread, --from, ... */
};

/* How TACH files are written. */
struct tach_options {
	enum profile_layout layout;	/* --layout */
	bool compress;			/* not --compression none */
};

/* An export that would be larger is refused. */
#define EXPORT_MAX_BYTES (1ull << 30)

/* How an export is written. */
struct export_options {
	struct tach_options tach;	/* first, as that of merge and split */
	const struct sink_ops *format;	/* --format; or by -o's file name */
	const char *output;		/* -o; "-": stdout; open, NULL: a private file */
	const char *title;		/* of pages; NULL: by the input's name */
	enum sink_lines lines;		/* --lines, --no-lines */
	enum sink_group group;		/* --by */
	bool no_source;			/* --no-source */
	bool only_kept;			/* no option: source text only as the recording kept it */
	bool force;			/* --force: also more than EXPORT_MAX_BYTES */
};

struct info_options {
	struct input_options input;
	bool verify;			/* --verify */
	uint32_t limit;			/* --limit: threads of a file; 0: all */
	bool json;			/* --json */
};

struct report_options {
	struct input_options input;
	bool native;			/* --native; this and the next one as in diff_options */
	bool detail;			/* --detail */
	bool json;			/* --json */
	enum report_by by;		/* --by */
	enum report_sort sort;		/* --sort */
	uint32_t limit;			/* --limit; 0: all rows */
	const char *annotate;		/* --annotate; "": no name; NULL: not given */
	bool mine;			/* --mine */
};

struct convert_options {
	struct input_options input;
	struct export_options export;
};

struct mem_options {
	struct input_options input;
	enum mem_by by;			/* --by */
	enum mem_sort sort;		/* --sort */
	uint32_t limit;			/* --limit; 0: all rows */
	bool leaks;			/* --leaks: only rows that grew in each of ... */
	uint32_t intervals;		/* ... so many intervals */
	const char *html;		/* --html: a flame graph; NULL: none */
	bool validate;			/* --validate */
	bool json;			/* --json */
};

struct merge_options {
	struct input_options input;
	struct tach_options tach;
	const char *output;		/* -o */
};

struct split_options {
	struct input_options input;
	struct tach_options tach;
	/* --by, which must be given */
	enum split_by { SPLIT_BY_NOTHING, SPLIT_BY_PROCESS, SPLIT_BY_THREAD, SPLIT_BY_TIME } by;
	uint64_t every_us;		/* --every */
	const char *output;		/* -o */
};

struct diff_options {
	struct input_options input;
	bool native;			/* --native */
	bool detail;			/* --detail */
	bool json;			/* --json */
	enum diff_sort sort;		/* --sort */
	uint32_t limit;			/* --limit; 0: all rows */
	bool force;			/* --force: also what differs in mode or unit */
	double fail_over;		/* --fail-over, in percentage points; < 0: not given */
	enum diff_format { DIFF_TABLE, DIFF_FLAMEGRAPH, DIFF_MARKDOWN } format;	/* --format */
	const char *output;		/* -o */
};

struct gil_options {
	struct input_options input;
	uint32_t limit;			/* --limit; 0: all rows */
	bool json;			/* --json */
	const char *html;		/* --html: a page; NULL: none */
};

struct recover_options {
	struct input_options input;
	const char *output;		/* -o; NULL: in the damaged file's place */
};

struct doctor_options {
	bool json;			/* --json */
};

struct ps_options {
	struct select_options select;	/* conditions only */
	bool json;			/* --json */
};

struct completion_options {
	enum shell { SHELL_NONE, SHELL_BASH, SHELL_ZSH, SHELL_FISH, SHELL_CNT } shell;
};

struct agent_command_options {
	char **words;			/* behind "agent", NULL-terminated; not owned */
};

enum command_id {
	COMMAND_RECORD, COMMAND_TOP, COMMAND_DUMP, COMMAND_HEAP, COMMAND_INFO, COMMAND_REPORT,
	COMMAND_CONVERT, COMMAND_OPEN, COMMAND_MEM, COMMAND_MERGE, COMMAND_SPLIT, COMMAND_DIFF,
	 COMMAND_GIL, COMMAND_RECOVER, COMMAND_DOCTOR,
	COMMAND_PS, COMMAND_AGENT, COMMAND_COMPLETION, COMMAND_CNT,
};

/* Instead of running the command: print this on stdout. */
enum options_show {
	SHOW_NOTHING, SHOW_HELP, SHOW_VERSION, SHOW_FORMATS, SHOW_INPUTS,
	SHOW_START,			/* no word at all: how to begin */
};

struct options {
	enum command_id command;
	enum options_show show;
	int verbose;			/* -v, -v -v; -1 with -q */
	enum colour_when colour;	/* --color */
	bool named;			/* the command's name was given; record may be left out */
	union {				/* the command's own */
		struct select_options select;	/* of any command that chooses processes */
		struct input_options input;	/* of any command that reads files */
		struct merge_options write;	/* its beginning: of any that writes TACH files */
		struct record_options record;
		struct top_options top;
		struct dump_options dump;
		struct heap_options heap;
		struct info_options info;
		struct report_options report;
		struct convert_options convert;	/* of open, too */
		struct mem_options mem;
		struct merge_options merge;
		struct split_options split;
		struct diff_options diff;
		struct gil_options gil;
		struct recover_options recover;
		struct doctor_options doctor;
		struct ps_options ps;
		struct agent_command_options agent;
		struct completion_options completion;
	};
};

/*
 * Parse the command line. Returns 0, or -errno after logging one line that says what is wrong
 * and what to do. The caller calls options_free() in both cases.
 */
int options_parse(struct options *o, int argc, char **argv);
void options_free(struct options *o);

/* Print what o->show asks for. */
void options_print(const struct options *o, FILE *out);

/* Return true if something can trigger a recording; if an option of a flight recorder was given. */
static inline bool options_has_trigger(const struct flight_options *f)
{
	return f->when.cnt || f->signal;
}
static inline bool options_is_flight(const struct flight_options *f)
{
	return f->keep_s > 0 || options_has_trigger(f);
}

/* The mode that the options ask for: of -m, or that of events. */
const struct record_mode_def *options_mode(const struct record_options *r);

/*
 * Check that the command's options go together, and set the defaults that depend on several. 0, or
 * -EINVAL after logging why.
 */
int options_check(struct options *o);

#endif
