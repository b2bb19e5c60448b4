/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cli.h - command lines described by tables: parses them, and prints their --help.
 *
 * Knows no option of tachbpf; options_tables.c has the tables.
 */
#ifndef TACHBPF_CLI_H
#define TACHBPF_CLI_H

#include <stddef.h>
#include <stdio.h>

struct cli_option {
	char letter;		/* 0: long form only */
	const char *name;	/* without the dashes */
	const char *arg;	/* name of the value in --help; NULL: there is no value */
	const char *group;	/* heading in --help; options of a group are neighbours */
	const char *help;	/* up to three short lines; NULL: an old name, not in --help */
	/* Apply value (NULL if arg is). 0, or -errno after having logged why. */
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

/* Print usage, options by group, and examples. */
void cli_print_help(const struct cli_command *cmd, FILE *out);

/* Print only the options, by group; print only the examples. */
void cli_print_options(const struct cli_command *cmd, FILE *out);
void cli_print_examples(const struct cli_command *cmd, FILE *out);

/* How many bytes of the user's input a message shows. */
#define CLI_TEXT_MAX 128

#endif
