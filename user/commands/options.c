// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * options.c - parses a command line into struct options, and prints help and lists. The
 * commands are in options_tables.c. See options.h.
 */
#include "commands/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/output.h"
#include "base/text.h"
#include "base/util.h"
#include "commands/options_event.h"
#include "commands/options_flight.h"
#include "commands/options_memory.h"
#include "commands/options_set.h"
#include "commands/options_tables.h"
#include "formats/formats.h"
#include "formats/readers.h"
#include "formats/sinks.h"
#include "recording/session_json.h"

#define ROWS 20			/* of a table */
#define INTERVALS 6		/* of mem --leaks: chance alone has 1 of 64 grow in each */
#define SPLIT_EVERY_US 10000000
#define BLOCKED_MIN_S 0.1
#define TOP_MIN_S 0.1
#define TOP_MAX_S 3600
#define TOP_S 2
#define BLOCKED_MAX_S 300

static int check_export(const struct export_options *e)
{
	const char *bad = NULL;

	if (e->group != GROUP_DEFAULT && !(e->format->takes & SINK_TAKES_GROUP))
		bad = "--by";
	if (e->lines != LINES_DEFAULT && !(e->format->takes & SINK_TAKES_LINES))
		bad = e->lines == LINES_APART ? "--lines" : "--no-lines";
	if (!bad)
		return 0;
	log_error("%s does not go with --format %s: leave it out, or choose another format", bad,
		  e->format->name);
	return -EINVAL;
}

/* Is -o a directory, one file, or a file for the command and a directory for its children? */
static void choose_place(struct record_options *r)
{
	const char *output = r->recording.output;
	const char *ending = r->mode == RECORD_MEM ? ".mlyze" : ".tach";
	size_t len = output ? strlen(output) : 0, n = strlen(ending);

	if (r->pid_cnt == 1 && r->proc_filter.children != CHILDREN_YES)
		r->recording.place = PLACE_FILE;
	else if (r->command && len > n && !strcmp(output + len - n, ending))
		r->recording.place = PLACE_COMMAND;
}

/* --html must not be a file, nor the directory, that the recording itself makes. */
static int check_html(const struct record_options *r)
{
	static const char *const suffixes[] = { "", SESSION_BESIDE_SUFFIX, PLACE_DIR_SUFFIX };
	const char *output = r->recording.output;
	char path[PATH_MAX], html[CLI_TEXT_MAX], shown[CLI_TEXT_MAX];
	size_t i, cnt = r->recording.place == PLACE_COMMAND ? 3 :
			r->recording.place == PLACE_FILE ? 2 : 1;

	for (i = 0; r->html && output && i < cnt; i++) {
		if (snprintf(path, sizeof(path), "%s%s", output, suffixes[i]) >= PATH_MAX ||
		    !output_same_file(path, r->html))
			continue;
		escape_text(r->html, strlen(r->html), html, sizeof(html));
		escape_text(output, strlen(output), shown, sizeof(shown));
		if (i)
			log_error("--html '%s' is a name that the recording -o '%s' needs: give "
				  "the page another name", html, shown);
		else
			log_error("--html '%s' and -o '%s' are the same file: give the page "
				  "another name", html, shown);
		return -EINVAL;
	}
	return 0;
}

static int check_record(struct options *o)
{
	struct record_options *r = &o->record;
	const struct proc_filter *s = &r->proc_filter;
	int selected = r->all + (r->pid_cnt > 0) + (r->command != NULL);

	if (!selected && (s->cnt || s->min_age_s > 0)) {
		r->all = true;
		selected = 1;
	}
	if (selected == 1 && r->open && !r->html) {
		log_error("--open shows what --html writes: give --html FILE, too");
		return -EINVAL;
	}
	if (selected == 1 && r->kill && !r->command) {
		log_error("--kill ends the program that tachbpf started: give -- COMMAND, too");
		return -EINVAL;
	}
	if (selected == 1 && r->capture.task_names && !r->capture.async) {
		log_error("--task-names is of --async: give that, too");
		return -EINVAL;
	}
	if (selected == 1) {
		choose_place(r);
		if (options_memory_check(r) || options_event_check(r) || options_flight_check(r))
			return -EINVAL;
		return check_html(r);
	}
	if (selected)
		log_error("-a, -p and -- COMMAND exclude each other: give only one of them");
	else
		log_error("nothing to record: give -a, a condition such as "
			  "--container NAME, -p PID or -- COMMAND; see: tachbpf --help");
	return -EINVAL;
}

static int check_top(struct options *o)
{
	struct record_options *r = &o->top.select;

	if (r->all && r->pid_cnt) {
		log_error("-a and -p exclude each other: give only one of them");
		return -EINVAL;
	}
	if (o->top.interval_s < TOP_MIN_S || o->top.interval_s > TOP_MAX_S) {
		log_error("--interval: give a time from %g s to %d s", TOP_MIN_S, TOP_MAX_S);
		return -EINVAL;
	}
	r->all = !r->pid_cnt;
	return 0;
}

static int check_dump(struct options *o)
{
	struct record_options *r = &o->record;

	if (!r->pid_cnt && (r->proc_filter.cnt || r->proc_filter.min_age_s > 0))
		r->all = true;
	if (r->duration_s > BLOCKED_MAX_S || (r->duration_s > 0 && r->duration_s < BLOCKED_MIN_S)) {
		log_error("--blocked: give a time from %g s to %d s", BLOCKED_MIN_S, BLOCKED_MAX_S);
		return -EINVAL;
	}
	if (r->all != (r->pid_cnt > 0))
		return 0;
	if (r->all)
		log_error("-a and process ids exclude each other: give only one of them");
	else
		log_error("nothing to look at: give a PID, -a, or a condition such as "
			  "--container NAME; see: tachbpf dump --help");
	return -EINVAL;
}

/* Has the file's name an ending, as in "x.txt"? */
static bool has_ending(const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	return *name && strchr(name + 1, '.');
}

/* No format's file has such a name: say which names there are. */
static int unknown_ending(const char *path)
{
	char shown[CLI_TEXT_MAX], endings[256] = "";
	const struct sink_ops *ops;
	size_t i, len = 0;

	for (i = 0; (ops = sink_at(i)) && len < sizeof(endings); i++)
		if (ops->suffix)
			len += snprintf(endings + len, sizeof(endings) - len, "%s%s", i ? ", " : "",
					ops->suffix);
	log_error("no format has names like '%s': give --format FORMAT, or end it in one of %s",
		  escape_text(path, strlen(path), shown, sizeof(shown)), endings);
	return -EINVAL;
}

/* Choose the format of convert by -o's file name if --format is not given. */
static int choose_format(struct export_options *e)
{
	size_t len = strlen(e->output);

	if (!e->format)
		e->format = sink_for_path(e->output);
	if (e->format)
		return 0;
	if (len >= 5 && !strcmp(e->output + len - 5, ".json")) {
		log_error("several formats are JSON: give --format speedscope or --format gecko");
		return -EINVAL;
	}
	if (has_ending(e->output))
		return unknown_ending(e->output);
	e->format = &sink_tach;
	return 0;
}

/* Memory that is live is what is live when the time that was selected ends. */
static void set_until(struct input_options *input)
{
	const struct sample_filter_time *to = &input->filter.to;

	input->reader.until_given = to->given;
	input->reader.until_absolute = to->absolute;
	input->reader.until_us = to->us;
}

/* For every command that reads files: there must be one. */
static int check_input(struct options *o)
{
	set_until(&o->input);
	if (o->input.path_cnt)
		return 0;
	log_error("no file: give .tach files or a recording's directory; see: tachbpf %s --help",
		  options_commands[o->command].name);
	return -EINVAL;
}

static int check_output(struct options *o, const char *output)
{
	int err = check_input(o);

	if (err || output)
		return err;
	log_error("no place to write to: give -o; see: tachbpf %s --help",
		  options_commands[o->command].name);
	return -EINVAL;
}

static int check_report(struct options *o)
{
	const struct report_options *r = &o->report;
	const char *bad = NULL;
	int err = check_input(o);

	if (err)
		return err;
	if (r->by == REPORT_BY_GIL && r->sort != REPORT_SORT_SELF)
		bad = "--by gil is sorted by waits: leave --sort out";
	else if (r->detail && r->by != REPORT_BY_FUNCTION && r->by != REPORT_BY_LINE)
		bad = "--detail is for rows of functions and lines: leave it out, or --by";
	else if (r->native && r->by != REPORT_BY_FUNCTION && r->by != REPORT_BY_LINE)
		bad = "--native is for rows of functions and lines: leave it out, or --by";
	if (!bad)
		return 0;
	log_error("%s", bad);
	return -EINVAL;
}

static int check_replay(struct options *o)
{
	int err = check_input(o);

	return err ? err : check_export(&o->replay.export);
}

static int check_convert(struct options *o)
{
	struct export_options *e = &o->convert.export;

	return check_output(o, e->output) || choose_format(e) || check_export(e) ? -EINVAL : 0;
}

static int check_merge(struct options *o)
{
	return check_output(o, o->merge.output);
}

static int check_split(struct options *o)
{
	int err = check_output(o, o->split.output);

	if (err || (int)o->split.by >= 0)
		return err;
	log_error("split by what? give --by process, --by thread or --by time");
	return -EINVAL;
}

static int check_diff(struct options *o)
{
	const struct diff_options *d = &o->diff;
	const char *bad = NULL;
	int err = check_input(o);

	if (err)
		return err;
	if (d->input.path_cnt != 2 &&
	    (d->input.path_cnt != 1 || !sample_filter_has_time(&d->input.filter))) {
		log_error("%zu %s to compare: give two files or recordings' directories or, of "
			  "memory, one with --from and --to",
			  d->input.path_cnt,
			  text_plural(d->input.path_cnt, "profile", "profiles"));
		return -EINVAL;
	}
	if (!d->format != !d->output)
		bad = "--format flamegraph and -o FILE go together: give both or neither";
	else if (d->format && d->fail_over >= 0)
		bad = "--fail-over is for the table: leave it out, or --format and -o";
	else if (d->format && d->json)
		bad = "--json is for the table: leave it out, or --format and -o";
	else if (d->format && d->detail)
		bad = "--detail is for the table, the page has all frames: leave it out";
	else if (d->format && d->native)
		bad = "--native is for the table, the page has all frames: leave it out";
	if (!bad)
		return 0;
	log_error("%s", bad);
	return -EINVAL;
}

static int check_mem(struct options *o)
{
	const struct mem_options *m = &o->mem;
	const char *bad = NULL;
	int err = check_input(o);

	if (err)
		return err;
	if (m->html && m->json)
		bad = "--json is for the table: leave it out, or --html";
	else if (m->html && (m->leaks || m->validate))
		bad = "--html is a page of all stacks: leave it out, or --leaks and --validate";
	if (!bad)
		return 0;
	log_error("%s", bad);
	return -EINVAL;
}

static int check_gil(struct options *o)
{
	int err = check_input(o);

	if (err || !o->gil.html || !o->gil.json)
		return err;
	log_error("--json is for the tables: leave it out, or --html");
	return -EINVAL;
}

static int check_completion(struct options *o)
{
	if (o->completion.shell)
		return 0;
	log_error("for which shell? give bash, zsh or fish");
	return -EINVAL;
}

static int check_recover(struct options *o)
{
	int err = check_input(o);

	if (err || !o->recover.output || o->input.path_cnt == 1)
		return err;
	log_error("-o names one file, and %zu are to be recovered: leave -o out, or recover them "
		  "one by one", o->input.path_cnt);
	return -EINVAL;
}

/* Checks of a command's options together; commands without a check need none. */
static int (*const checks[OPTIONS_COMMAND_CNT])(struct options *o) = {
	[COMMAND_RECORD] = check_record,
	[COMMAND_TOP] = check_top,
	[COMMAND_DUMP] = check_dump,
	[COMMAND_INFO] = check_input,
	[COMMAND_REPORT] = check_report,
	[COMMAND_REPLAY] = check_replay,
	[COMMAND_OPEN] = check_replay,
	[COMMAND_MEM] = check_mem,
	[COMMAND_CONVERT] = check_convert,
	[COMMAND_MERGE] = check_merge,
	[COMMAND_SPLIT] = check_split,
	[COMMAND_DIFF] = check_diff,
	[COMMAND_COMPLETION] = check_completion,
	[COMMAND_GIL] = check_gil,
	[COMMAND_RECOVER] = check_recover,
};

static void set_defaults(struct options *o)
{
	static const struct tach_options tach = { .compress = true };

	switch (o->command) {
	case COMMAND_RECORD:
		o->record.capture.gc = true;
		o->record.capture.native_threads = true;
		o->record.recording.compress = true;
		break;
	case COMMAND_TOP:
		o->top.interval_s = TOP_S;
		o->top.limit = ROWS;
		break;
	case COMMAND_INFO:
		o->info.limit = ROWS;
		break;
	case COMMAND_REPORT:
		o->report.limit = ROWS;
		break;
	case COMMAND_REPLAY:
		o->replay.export.format = &sink_collapsed;
		break;
	case COMMAND_OPEN:
		o->replay.export.format = &sink_flamegraph;
		break;
	case COMMAND_MEM:
		o->mem.limit = ROWS;
		o->mem.by = MEM_BY_FUNCTION;
		o->mem.intervals = INTERVALS;
		break;
	case COMMAND_CONVERT:
		o->convert.export.tach = tach;
		break;
	case COMMAND_MERGE:
		o->merge.tach = tach;
		break;
	case COMMAND_SPLIT:
		o->split.tach = tach;
		o->split.every_us = SPLIT_EVERY_US;
		o->split.by = (enum split_by)-1;	/* must be given */
		break;
	case COMMAND_DIFF:
		o->diff.limit = ROWS;
		o->diff.fail_over = -1;
		break;
	case COMMAND_GIL:
		o->gil.limit = ROWS;
		break;
	default:
		break;
	}
}

static const char *command_name(const void *ctx, size_t i)
{
	return i < OPTIONS_COMMAND_CNT ? options_commands[i].name : NULL;
}

/* Set o->command if word is a command's name. Returns false if it is none. */
static bool find_command(struct options *o, const char *word)
{
	size_t i;

	for (i = 0; i < OPTIONS_COMMAND_CNT; i++) {
		if (!strcmp(word, options_commands[i].name)) {
			o->command = i;
			o->named = true;
			return true;
		}
	}
	return false;
}

/* The first word is neither a command nor an option. */
static int unknown_command(const char *word, bool help)
{
	const char *near = cli_nearest(word, strlen(word), command_name, NULL);
	char shown[CLI_TEXT_MAX];

	escape_text(word, strlen(word), shown, sizeof(shown));
	if (help && near)
		log_error("unknown command '%s': did you mean tachbpf help %s?", shown, near);
	else if (help)
		log_error("unknown command '%s'; tachbpf help lists all", shown);
	else if (near)
		log_error("unknown command '%s': did you mean tachbpf %s? To start and record a "
			  "program: tachbpf -- %s ...", shown, near, shown);
	else
		log_error("unknown command '%s'; to start and record a program: tachbpf -- %s ...",
			  shown, shown);
	return -EINVAL;
}

/* tachbpf agent WORD...: the words are not ours, also not --help. */
static int take_agent_words(struct options *o, char **words)
{
	o->agent.words = words;
	return 0;
}

/* tachbpf help [COMMAND] */
static int parse_help(struct options *o, char **words)
{
	static char *agent_help[] = { "--help", NULL };

	if (*words && find_command(o, *words) && o->command == COMMAND_AGENT)
		return take_agent_words(o, agent_help);
	o->show = SHOW_HELP;
	if (!*words || o->named || !strcmp(*words, "help") || **words == '-')
		return 0;
	return unknown_command(*words, true);
}

int options_parse(struct options *o, int argc, char **argv)
{
	int err;

	memset(o, 0, sizeof(*o));
	argv += argc > 0;
	if (*argv && !strcmp(*argv, "help"))
		return parse_help(o, argv + 1);
	if (*argv && find_command(o, *argv))
		argv++;
	else if (*argv && **argv && **argv != '-')
		return unknown_command(*argv, false);
	if (o->command == COMMAND_AGENT)
		return take_agent_words(o, argv);
	set_defaults(o);
	err = cli_parse(&options_commands[o->command], argv, o);
	if (err || o->show != SHOW_NOTHING || !checks[o->command])
		return err;
	return checks[o->command](o);
}

void options_free(struct options *o)
{
	if (o->command == COMMAND_RECORD || o->command == COMMAND_TOP ||
	    o->command == COMMAND_DUMP) {
		free(o->record.pids);
		proc_filter_free(&o->record.proc_filter);
	} else if (o->command == COMMAND_PS) {
		proc_filter_free(&o->ps.proc_filter);
	} else if (o->command != COMMAND_DOCTOR && o->command != COMMAND_AGENT &&
		   o->command != COMMAND_COMPLETION) {
		free(o->input.paths);
		sample_filter_options_free(&o->input.filter);
	}
	memset(o, 0, sizeof(*o));
}

#define COMMAND_COLUMN 14	/* where what a command does begins */
#define FORMAT_COLUMN 22	/* and what a format is */

static void print_command(size_t i, FILE *out)
{
	cli_print_row(options_commands[i].name, options_commands[i].help, COMMAND_COLUMN, out);
}

/* What most people look for comes first. */
static void print_commands(FILE *out)
{
	size_t i;

	cli_print_heading("Commands", out);
	print_command(COMMAND_TOP, out);
	print_command(COMMAND_DUMP, out);
	for (i = 0; i < OPTIONS_COMMAND_CNT; i++)
		if (i != COMMAND_TOP && i != COMMAND_DUMP)
			print_command(i, out);
}

/* tachbpf --help: all commands, and the options of record. */
static void print_overview(FILE *out)
{
	size_t i;

	for (i = 0; i < OPTIONS_COMMAND_CNT; i++) {
		const char *const *line;

		for (line = options_commands[i].synopsis; *line; line++)
			fprintf(out, "%s %s\n", i || line != options_commands[i].synopsis ?
				"      " : "Usage:", *line);
	}
	fprintf(out, "\nProfiles CPython without touching it.\n");
	print_commands(out);
	fprintf(out, "\ntachbpf help COMMAND says more about a command. These are record's "
		"options.\n");
	cli_print_options(&options_commands[COMMAND_RECORD], out);
	cli_print_examples(&options_commands[COMMAND_RECORD], out);
}

static void print_formats(const struct options *o, FILE *out)
{
	const struct sink_ops *ops;
	size_t i;

	for (i = 0; (ops = sink_at(i)); i++)
		if (options_takes_format(o->command, ops))
			fprintf(out, "%-18s%s\n", ops->name, ops->help);
}

/* In the help of the commands that write them all. */
static void print_formats_help(const struct options *o, FILE *out)
{
	const struct sink_ops *ops;
	size_t i;

	if (o->command != COMMAND_REPLAY && o->command != COMMAND_CONVERT)
		return;
	cli_print_heading("Formats (--format FORMAT)", out);
	for (i = 0; (ops = sink_at(i)); i++)
		if (options_takes_format(o->command, ops))
			cli_print_row(ops->name, ops->help, FORMAT_COLUMN, out);
}

static void print_inputs(FILE *out)
{
	const struct reader_ops *ops;
	size_t i;

	for (i = 0; (ops = reader_at(i)); i++)
		fprintf(out, "%-12s%s\n", ops->name, ops->help);
}

static void print_help(const struct options *o, FILE *out)
{
	const struct cli_command *cmd = &options_commands[o->command];

	cli_print_usage(cmd, out);
	cli_print_options(cmd, out);
	print_formats_help(o, out);
	cli_print_examples(cmd, out);
}

void options_print(const struct options *o, FILE *out)
{
	if (o->show == SHOW_VERSION)
		fprintf(out, "tachbpf %s\n", TACHBPF_VERSION);
	else if (o->show == SHOW_FORMATS)
		print_formats(o, out);
	else if (o->show == SHOW_INPUTS)
		print_inputs(out);
	else if (o->named)
		print_help(o, out);
	else
		print_overview(out);
}
