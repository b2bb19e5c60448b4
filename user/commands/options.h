/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * options.h - the command line, as tables.
 */
#ifndef TACHBPF_OPTIONS_H
#define TACHBPF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "analysis/diff.h"
#include "analysis/report.h"
#include "capture/sampler.h"
#include "formats/mlyze/mlyze_rows.h"
#include "model/reader.h"
#include "model/sample_filter.h"
#include "model/sink.h"
#include "resolve/record_mode.h"
#include "target/proc_filter.h"

/* Usage errors end the program with this, everything else that fails with 1. */
#define EXIT_USAGE 2

/* What to record. */
struct record_options {
	bool all;			/* -a */
	pid_t *pids;			/* -p; pid_cnt of them */
	size_t pid_cnt;
	struct proc_filter selection;	/* --container, --exclude-..., --children, --min-age */
	char **command;			/* -- CMD ARGS...; NULL: none; not owned */
	uint32_t rate_hz;		/* -r; 0: default for the selection */
	enum record_mode mode;		/* -m */
	uint64_t min_wait_ns;		/* --min-wait */
	bool kernel;			/* --kernel */
	enum sampler_event event;	/* -e */
	double duration_s;		/* -d; 0: until interrupted */
	const char *output;		/* -o; NULL: default name */
	bool no_compression;		/* --compression none */
	enum tach_layout layout;	/* --layout */
	enum record_split { SPLIT_AUTO, SPLIT_ALL } split;	/* --split */
	const char *cpu_list;		/* -C; NULL: every CPU */
	uint32_t code_cache;		/* --code-cache, rounded up to a power of two; 0: default */
	bool opcodes;			/* --opcodes */
	bool no_gc;			/* --no-gc */
	bool self_time;			/* --self-time */
	bool no_sample_limit;		/* --no-sample-limit */
	bool json;			/* --json: the summary as JSON on stdout */
	bool ignore_kernel_bugs;	/* --ignore-kernel-bugs: kernels that can freeze */
	int verbose;			/* -v, -v -v; -1 with -q */
};

enum split_by { SPLIT_BY_PROCESS, SPLIT_BY_THREAD, SPLIT_BY_TIME };

/* What the commands on files (info, report, replay and those that write files) do. */
struct file_options {
	char **paths;			/* path_cnt of them, at least one; strings not owned */
	size_t path_cnt;
	bool json;			/* --json */
	enum report_by by;		/* report --by */
	enum report_sort sort;		/* report --sort */
	uint32_t limit;			/* report --limit; 0: all rows */
	const struct sink_ops *format;	/* replay --format */
	const char *output;		/* replay -o; NULL: stdout */
	struct reader_args reader;	/* --input-format, --value */
	enum mem_by mem_by;		/* mem --by */
	enum mem_sort mem_sort;		/* mem --sort */
	bool validate;			/* mem --validate */
	enum sink_lines lines;		/* replay --lines, --no-lines */
	enum sink_group group;		/* replay --by */

	bool no_source;			/* replay --no-source: for the heat map */
	/* Everything but info and recover: which samples. */
	struct sample_filter_options filter;
	/* info */
	bool verify;			/* --verify */
	/* convert (whose format may be NULL: by -o's name, else TACH), merge, split */
	enum tach_layout layout;	/* --layout */
	bool no_compression;		/* --compression none */
	enum split_by split_by;		/* split --by */
	uint64_t every_us;		/* split --every */
	enum diff_sort diff_sort;	/* diff --sort */
};

enum command_id {
	COMMAND_RECORD, COMMAND_INFO, COMMAND_REPORT, COMMAND_REPLAY, COMMAND_MEM,
	COMMAND_CONVERT, COMMAND_MERGE, COMMAND_SPLIT, COMMAND_DIFF, COMMAND_GIL,
	COMMAND_RECOVER, COMMAND_DOCTOR, COMMAND_PS,
};

/* Instead of running the command: print this on stdout. */
enum options_show { SHOW_NOTHING, SHOW_HELP, SHOW_VERSION, SHOW_FORMATS, SHOW_INPUTS };

struct options {
	enum command_id command;
	enum options_show show;
	int verbose;			/* -v, -v -v; -1 with -q */
	bool named;			/* the command's name was given, record's need not be */
	struct record_options record;
	struct file_options files;
};

/*
 * Parse the command line. 0, or -errno after one line on stderr said what is
 * wrong and what to do. options_free() either way.
 */
int options_parse(struct options *o, int argc, char **argv);
void options_free(struct options *o);

/* Print what o->show asks for. */
void options_print(const struct options *o, FILE *out);

/* "99", "10khz": 1 to 50000. "1.5", "30s", "5m", "1h". 0, or -EINVAL (nothing logged). */
int options_rate(const char *text, uint32_t *hz);
int options_duration(const char *text, double *seconds);

#endif
