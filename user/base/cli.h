/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cli.h - command lines described by tables: parsing them, and their --help.
 *
 * Knows no option of ours; options.c has the tables.
 */
#ifndef TACHBPF_CLI_H
#define TACHBPF_CLI_H

#include <stddef.h>
#include <stdio.h>

struct cli_option {
	char letter;		/* 0: long form only */
	const char *name;	/* without the dashes */
	const char *arg;	/* what --help calls the value; NULL: there is none */
	const char *group;	/* heading in --help; options of a group are neighbours */
	const char *help;	/* short lines, no more than three */
	/* Take value (NULL without arg). 0, or -errno after having logged why. */
	int (*set)(void *target, const struct cli_option *opt, const char *value);
	size_t off;		/* for set: where in target */
	const void *data;	/* for set: what it may be */
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
	/* What follows "--", NULL-terminated, likewise; NULL: every one is a word. */
	int (*rest)(void *target, char **words);
};

/*
 * Apply the words of argv (NULL-terminated) to target. 0, or -errno after the
 * reason has been logged in one line.
 */
int cli_parse(const struct cli_command *cmd, char **argv, void *target);

/* Usage, options by group, examples. */
void cli_print_help(const struct cli_command *cmd, FILE *out);

/* Only the options, by group; only the examples. */
void cli_print_options(const struct cli_command *cmd, FILE *out);
void cli_print_examples(const struct cli_command *cmd, FILE *out);

/* How much of what the user typed is shown in a message. */
#define CLI_TEXT_MAX 128

#endif
