// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * options.c - parses a command line into struct options, and prints help and lists. The
 * commands are in options_tables.c. See options.h.
 */
#include "commands/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/util.h"
#include "commands/habits.h"
#include "commands/options_tables.h"
#include "formats/formats.h"
#include "formats/readers.h"
#include "formats/sinks.h"
#include "target/script.h"

static const char *command_name(const void *ctx, size_t i)
{
	return i < COMMAND_CNT ? options_commands[i].name : NULL;
}

/*
 * Sets o->command if word is a command's name, here or in another profiler, whose words may be
 * taken by another function, *take. Returns false if it is none.
 */
static bool find_command(struct options *o, const char *word,
			 int (**take)(void *target, char *word))
{
	const struct habit_command *habit = habits_find_command(word);
	size_t i;

	for (i = 0; i < COMMAND_CNT && strcmp(word, options_commands[i].name); i++)
		;
	if (i == COMMAND_CNT && (!habit || habit->answer))
		return false;
	o->command = i < COMMAND_CNT ? i : habit->command;
	o->named = true;
	if (i == COMMAND_CNT && habit->word)
		*take = habit->word;
	return true;
}

/* A word is no command and, without help, no program to be recorded. */
static int unknown_command(const char *word, bool help)
{
	const char *near = cli_nearest(word, strlen(word), command_name, NULL);
	const struct habit_command *habit = habits_find_command(word);
	char shown[CLI_TEXT_MAX];

	escape_text(word, strlen(word), shown, sizeof(shown));
	if (habit)
		log_error("unknown command '%s': %s", shown, habit->answer);
	else if (help && near)
		log_error("unknown command '%s': did you mean tachbpf help %s?", shown, near);
	else if (help)
		log_error("unknown command '%s'; tachbpf help lists all commands", shown);
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
	int (*take)(void *target, char *word);

	if (*words && find_command(o, *words, &take) && o->command == COMMAND_AGENT)
		return take_agent_words(o, agent_help);
	o->show = SHOW_HELP;
	if (!*words || o->named || !strcmp(*words, "help") || **words == '-')
		return 0;
	return unknown_command(*words, true);
}

/* Words that are a command alone. Returns false if it is none. */
static bool shows_alone(struct options *o, const char *word)
{
	if (!word)
		o->show = SHOW_START;
	else if (!strcmp(word, "version"))
		o->show = SHOW_VERSION;
	return o->show != SHOW_NOTHING;
}

/*
 * Of record: a process ID, or the first word of a command: a Python script or, if the command
 * "record" was named, any program.
 */
static int take_record_word(void *target, char *word)
{
	const struct options *o = target;

	if (*word && !word[strspn(word, "0123456789,")])
		return options_pid_word(target, word);
	if (o->named || script_is_python(word))
		return options_run_word(target, word);
	return unknown_command(word, false);
}

/* The words behind the command. take: what takes those that are no options; NULL: the command's. */
static int parse_words(struct options *o, char **argv, int (*take)(void *target, char *word))
{
	struct cli_command command = options_commands[o->command];
	int err;

	command.foreign = habits_find_option;
	if (take)
		command.word = take;
	else if (o->command == COMMAND_RECORD)
		command.word = take_record_word;
	if (o->command == COMMAND_DIFF)
		o->diff.fail_over = -1;
	err = cli_preset(&command, o);
	if (!err)
		err = cli_parse(&command, argv, o);
	return err || o->show != SHOW_NOTHING ? err : options_check(o);
}

int options_parse(struct options *o, int argc, char **argv)
{
	int (*take)(void *target, char *word) = NULL;

	memset(o, 0, sizeof(*o));
	argv += argc > 0;
	if (shows_alone(o, *argv))
		return 0;
	if (!strcmp(*argv, "help"))
		return parse_help(o, argv + 1);
	if (find_command(o, *argv, &take))
		argv++;
	if (o->command == COMMAND_AGENT)
		return take_agent_words(o, argv);
	return parse_words(o, argv, take);
}

void options_free(struct options *o)
{
	switch (o->command) {
	case COMMAND_RECORD:
		free(o->record.script_command);
		/* fall through */
	case COMMAND_TOP:
	case COMMAND_DUMP:
	case COMMAND_HEAP:
	case COMMAND_PS:
		free(o->select.pids);
		proc_filter_free(&o->select.proc_filter);
		break;
	case COMMAND_DOCTOR:
	case COMMAND_AGENT:
	case COMMAND_COMPLETION:
		break;
	default:
		free(o->input.paths);
		sample_filter_options_free(&o->input.filter);
	}
	memset(o, 0, sizeof(*o));
}

#define COMMAND_COLUMN 14	/* where what a command does begins */
#define FORMAT_COLUMN 22	/* and what a format is */
#define START_COLUMN 31		/* and what a first command does */

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
	for (i = 0; i < COMMAND_CNT; i++)
		if (i != COMMAND_TOP && i != COMMAND_DUMP)
			print_command(i, out);
}

/* tachbpf --help: all commands, and the options of record. */
static void print_overview(FILE *out)
{
	size_t i;

	for (i = 0; i < COMMAND_CNT; i++) {
		const char *const *line;

		for (line = options_commands[i].synopsis; *line; line++)
			fprintf(out, "%s %s\n", i || line != options_commands[i].synopsis ?
				"      " : "Usage:", *line);
	}
	fprintf(out, "\nProfiles running CPython processes without changing them.\n");
	print_commands(out);
	fprintf(out, "\nattach PID, run PROGRAM, flamegraph FILE and version are understood, "
		"too.\n");
	fprintf(out, "\nRun tachbpf help COMMAND for the options of a command. The options of "
		"record:\n");
	cli_print_options(&options_commands[COMMAND_RECORD], out);
	cli_print_examples(&options_commands[COMMAND_RECORD], out);
}

/* tachbpf alone: the commands that people begin with. */
static void print_start(FILE *out)
{
	static const char *const rows[][2] = {
		{ "sudo tachbpf -p 1234 -d 10", "record a process for 10 seconds" },
		{ "sudo tachbpf app.py", "run a program and record it" },
		{ "sudo tachbpf -a -d 30", "record every Python process on this host" },
		{ "sudo tachbpf top", "live view of the busiest Python processes" },
		{ "sudo tachbpf dump 1234", "what each thread of a process is doing now" },
		{ "sudo tachbpf heap 1234", "what is in its memory, by type" },
		{ "tachbpf report RECORDING", "where the time was spent" },
		{ "tachbpf open RECORDING", "the same as a flame graph in the browser" },
	};
	size_t i;

	fprintf(out, "tachbpf samples Python programs, one process or a whole host, without "
		"changing\nor restarting them.\n\n");
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		cli_print_row(rows[i][0], rows[i][1], START_COLUMN, out);
	fprintf(out, "\n-m MODE says what to sample: cpu (default), wall, offcpu, gil, "
		"exception, mem.\n`sudo tachbpf doctor` checks this machine; `tachbpf --help` "
		"lists all\ncommands and options, `man tachbpf` describes them.\n");
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

	if (o->command != COMMAND_CONVERT)
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
	else if (o->show == SHOW_START)
		print_start(out);
	else if (o->named)
		print_help(o, out);
	else
		print_overview(out);
}
