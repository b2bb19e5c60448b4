/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cli.h - command lines described by tables: parses them, and prints their --help.
 *
 * Knows no option of tachbpf; options_tables.c has the tables.
 */
#ifndef TACHBPF_CLI_H
#define TACHBPF_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct cli_option {
	char letter;		/* 0: long form only */
	const char *name;	/* without the dashes */
	const char *arg;	/* name of the value in --help; NULL: no value; "[=NAME]":
				 * optional, given after = */
	const char *group;	/* heading in --help; options of a group are adjacent */
	const char *help;	/* lines are wrapped; NULL: an old name, not in --help */
	/* Applies value; NULL: none. Returns 0, or -errno after logging the reason. */
	int (*set)(void *target, const struct cli_option *opt, const char *value);
	size_t off;		/* for set: offset in target */
	const void *data;	/* for set: the allowed values */
};

struct cli_command {
	const char *name;
	const char *help;		/* one line */
	const char *const *synopsis;	/* NULL-terminated lines */
	const char *const *examples;	/* NULL-terminated: command, what it does, ... */
	const struct cli_option *options;
	size_t option_cnt;
	/* Takes a word that is not an option. Returns 0, or -errno after logging the reason. */
	int (*word)(void *target, char *word);
	/*
	 * Takes the words after "--", NULL-terminated. Returns 0, or -errno after logging the
	 * reason. NULL: they are words like others.
	 */
	int (*rest)(void *target, char **words);
};

/*
 * Applies the words of argv (NULL-terminated) to target. Returns 0, or -errno after logging the
 * reason in one line.
 */
int cli_parse(const struct cli_command *cmd, char **argv, void *target);

/* Returns true if the option's value is optional. */
bool cli_value_is_optional(const struct cli_option *opt);

/* Print the parts of --help: usage and what the command does; the options, by group; examples. */
void cli_print_usage(const struct cli_command *cmd, FILE *out);
void cli_print_options(const struct cli_command *cmd, FILE *out);
void cli_print_examples(const struct cli_command *cmd, FILE *out);
/* Prints a heading in --help, after an empty line. */
void cli_print_heading(const char *text, FILE *out);
/* Prints a row of a list in --help: a name, and from this column on its description. */
void cli_print_row(const char *name, const char *text, size_t column, FILE *out);

/*
 * Returns the name that the user may have meant by a word of len bytes: it differs by one mistake,
 * in longer words by one in three letters, or it begins with the word. NULL: none. at(ctx, i): the
 * i-th name; NULL: no more.
 */
typedef const char *(*cli_name_fn)(const void *ctx, size_t i);
const char *cli_nearest(const char *word, size_t len, cli_name_fn at, const void *ctx);

/* A message shows at most this many bytes of the user's input. */
#define CLI_TEXT_MAX 128

#endif
