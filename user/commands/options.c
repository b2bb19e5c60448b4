// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * options.c - a command line as struct options, and what can be shown instead
 * of running. The commands are options_tables.c's. See options.h.
 */
#include "commands/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/util.h"
#include "commands/options_set.h"
#include "commands/options_tables.h"
#include "formats/formats.h"
#include "formats/readers.h"
#include "formats/sinks.h"

#define REPORT_LIMIT 20
#define SPLIT_EVERY_US 10000000

static int check_export(const struct file_options *f)
{
	const struct sink_ops *ops = f->format;
	const char *bad = NULL;

	if (f->group != GROUP_DEFAULT && !(ops->takes & SINK_TAKES_GROUP))
		bad = "--by";
	if (f->lines != LINES_DEFAULT && !(ops->takes & SINK_TAKES_LINES))
		bad = f->lines == LINES_APART ? "--lines" : "--no-lines";
	if (!bad)
		return 0;
	log_error("%s does not go with --format %s: leave it out, or choose another format", bad,
		  ops->name);
	return -EINVAL;
}

static int check_record(struct options *o)
{
	struct record_options *r = &o->record;
	const struct proc_filter *s = &r->selection;
	int selected = r->all + (r->pid_cnt > 0) + (r->command != NULL);

	r->verbose = o->verbose;
	if (!selected && (s->cnt || s->min_age_s > 0)) {
		r->all = true;
		selected = 1;
	}
	if (selected == 1 && r->kernel && !record_modes[r->mode].waits) {
		log_error("--kernel tells where threads wait: give a mode that is about waiting, "
			  "such as -m offcpu or -m wall");
		return -EINVAL;
	}
	if (selected == 1)
		return 0;
	if (selected)
		log_error("-a, -p and -- COMMAND exclude each other: give only one of them");
	else
		log_error("nothing to record: give -a, a condition such as "
			  "--container NAME, -p PID or -- COMMAND; see: tachbpf --help");
	return -EINVAL;
}

/* convert's, by -o's name if it is not given. */
static int choose_format(struct file_options *f)
{
	size_t len = strlen(f->output);

	if (!f->format)
		f->format = sink_for_path(f->output);
	if (f->format)
		return 0;
	if (len >= 5 && !strcmp(f->output + len - 5, ".json")) {
		log_error("several formats are JSON: give --format speedscope or --format gecko");
		return -EINVAL;
	}
	f->format = &sink_tach;
	return 0;
}

static int check_diff(const struct file_options *f)
{
	const char *bad = NULL;

	if (f->path_cnt != 2) {
		log_error("%zu profiles to compare: give two files or recordings' directories",
			  f->path_cnt);
		return -EINVAL;
	}
	if (!f->format != !f->output)
		bad = "--format flamegraph and -o FILE go together: give both or neither";
	else if (f->format && f->json)
		bad = "--json is for the table: leave it out, or --format and -o";
	if (!bad)
		return 0;
	log_error("%s", bad);
	return -EINVAL;
}

static int check_files(struct options *o)
{
	struct file_options *f = &o->files;
	const char *name = options_commands[o->command].name;
	bool needs_output = o->command == COMMAND_CONVERT || o->command == COMMAND_MERGE ||
			    o->command == COMMAND_SPLIT;

	if (!f->path_cnt) {
		log_error("no file: give .tach files or a recording's directory; see: tachbpf %s "
			  "--help", name);
		return -EINVAL;
	}
	if (needs_output && !f->output) {
		log_error("no place to write to: give -o; see: tachbpf %s --help", name);
		return -EINVAL;
	}
	if (o->command == COMMAND_RECOVER && f->output && f->path_cnt != 1) {
		log_error("-o names one file, and %zu are to be recovered: leave -o out, or "
			  "recover them one by one", f->path_cnt);
		return -EINVAL;
	}
	if (o->command == COMMAND_SPLIT && (int)f->split_by < 0) {
		log_error("split by what? give --by process, --by thread or --by time");
		return -EINVAL;
	}
	if (o->command == COMMAND_DIFF)
		return check_diff(f);
	if (f->by == REPORT_BY_GIL && f->sort != REPORT_SORT_SELF) {
		log_error("--by gil is sorted by waits: leave --sort out");
		return -EINVAL;
	}
	if (o->command == COMMAND_CONVERT && choose_format(f))
		return -EINVAL;
	return o->command == COMMAND_REPLAY || o->command == COMMAND_CONVERT ? check_export(f) : 0;
}

int options_parse(struct options *o, int argc, char **argv)
{
	size_t i;
	int err;

	memset(o, 0, sizeof(*o));
	o->files.limit = REPORT_LIMIT;
	o->files.format = sink_find("collapsed");
	o->files.every_us = SPLIT_EVERY_US;
	o->files.split_by = (enum split_by)-1;	/* must be given */
	argv += argc > 0;
	for (i = 0; *argv && i < OPTIONS_COMMAND_CNT; i++) {
		if (!strcmp(*argv, options_commands[i].name)) {
			o->command = i;
			o->named = true;
			argv++;
			break;
		}
	}
	if (o->command == COMMAND_CONVERT || o->command == COMMAND_DIFF)
		o->files.format = NULL;		/* as -o's name says; a table */
	err = cli_parse(&options_commands[o->command], argv, o);
	if (err || o->show != SHOW_NOTHING)
		return err;
	if (o->command == COMMAND_DOCTOR || o->command == COMMAND_PS)
		return 0;
	return o->command == COMMAND_RECORD ? check_record(o) : check_files(o);
}

void options_free(struct options *o)
{
	free(o->record.pids);
	proc_filter_free(&o->record.selection);
	free(o->files.paths);
	sample_filter_options_free(&o->files.filter);
	memset(o, 0, sizeof(*o));
}

/* tachbpf --help: all commands, and the options of the one that needs no name. */
static void print_overview(FILE *out)
{
	size_t i;

	for (i = 0; i < OPTIONS_COMMAND_CNT; i++) {
		const char *const *line;

		for (line = options_commands[i].synopsis; *line; line++)
			fprintf(out, "%s %s\n", i || line != options_commands[i].synopsis ?
				"      " : "Usage:", *line);
	}
	fprintf(out, "\nProfiles CPython without touching it.\n\nCommands:\n");
	for (i = 0; i < OPTIONS_COMMAND_CNT; i++)
		fprintf(out, "  %-10s%s\n", options_commands[i].name, options_commands[i].help);
	cli_print_options(&options_commands[COMMAND_RECORD], out);
	cli_print_examples(&options_commands[COMMAND_RECORD], out);
	fprintf(out, "\ntachbpf COMMAND --help says more about a command.\n");
}

static void print_formats(const struct options *o, FILE *out)
{
	const struct sink_ops *ops;
	size_t i;

	for (i = 0; (ops = sink_at(i)); i++)
		if (options_takes_format(o->command, ops))
			fprintf(out, "%-18s%s\n", ops->name, ops->help);
}

static void print_inputs(FILE *out)
{
	const struct reader_ops *ops;
	size_t i;

	for (i = 0; (ops = reader_at(i)); i++)
		fprintf(out, "%-12s%s\n", ops->name, ops->help);
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
		cli_print_help(&options_commands[o->command], out);
	else
		print_overview(out);
}
