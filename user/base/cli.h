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
	const char *arg;	/* name of the value in --help; NULL: there is no value; "[=NAME]":
				 * it can be left out, and stands behind = */
	const char *group;	/* heading in --help; options of a group are neighbours */
	const char *help;	/* lines are broken where they are full; NULL: an old name, not in
				 * --help */
	/* Apply value; NULL: there is none. 0, or -errno after having logged why. */
	int (*set)(void *target, const struct cli_option *opt, const char *value);
	size_t off;		/* for set: offset in target */
	const void *data;	/* for set: what is allowed */
};

struct cli_command {
	const char *name;
	const char *help;		/* one line */
	const char *const *synopsis;	/* NULL-terminated lines */
	const char *const *examples;	/* NULL-terminated: command, what it does, ... */
	const struct cli_option *options;
	size_t option_cnt;
	/* A word that is not an option. 0, or -errno after having logged why. */
	int (*word)(void *target, char *word);
	/*
	 * The words after "--", NULL-terminated. 0, or -errno after having logged why.
	 * NULL: they are words like others.
	 */
	int (*rest)(void *target, char **words);
};

/*
 * Apply the words of argv (NULL-terminated) to target. 0, or -errno after the
 * reason has been logged in one line.
 */
int cli_parse(const struct cli_command *cmd, char **argv, void *target);

/* Can the option's value be left out? */
bool cli_value_is_optional(const struct cli_option *opt);

/* The parts of --help: usage and what the command does; the options, by group; examples. */
void cli_print_usage(const struct cli_command *cmd, FILE *out);
void cli_print_options(const struct cli_command *cmd, FILE *out);
void cli_print_examples(const struct cli_command *cmd, FILE *out);
/* A heading in --help, after an empty line. */
void cli_print_heading(const char *text, FILE *out);
/* A row of a list in --help: a name, and from this column on what it is. */
void cli_print_row(const char *name, const char *text, size_t column, FILE *out);

/*
 * The name that the user may have meant by a word of len bytes: it is written like it but for one
 * mistake, in longer words for one in three letters, or it begins with it. NULL: none.
 * at(ctx, i): the i-th of the names; NULL: no more.
 */
typedef const char *(*cli_name_fn)(const void *ctx, size_t i);
const char *cli_nearest(const char *word, size_t len, cli_name_fn at, const void *ctx);

/* How many bytes of the user's input a message shows. */
#define CLI_TEXT_MAX 128

#endif
