/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cli.h - command lines described by tables of settings (settings.h): parses them, and prints their
 * --help.
 *
 * Knows no option of tachbpf; options_tables.c has the tables.
 */
#ifndef TACHBPF_CLI_H
#define TACHBPF_CLI_H

#include <stddef.h>
#include <stdio.h>

#include "base/settings.h"

struct cli_command {
	const char *name;
	const char *help;		/* one line */
	const char *const *synopsis;	/* NULL-terminated lines */
	const char *const *examples;	/* NULL-terminated: command, what it does, ... */
	const struct setting *settings;	/* its options; NULL: it has none */
	/* A word that is not an option. 0, or -errno after having logged why. */
	int (*word)(void *target, char *word);
	/*
	 * The words after "--", NULL-terminated. 0, or -errno after having logged why.
	 * NULL: they are words like others.
	 */
	int (*rest)(void *target, char **words);
	/* Takes an option and its value, as cli_set(), which does it if this is NULL. */
	int (*take)(void *target, const struct setting *s, const char *value);
};

/* The i-th option; NULL: there are no more. */
const struct setting *cli_option(const struct cli_command *cmd, size_t i);

/* Set the fields of the options that have a preset. 0, or -errno after having logged why. */
int cli_preset(const struct cli_command *cmd, void *target);
/*
 * Apply the words of argv (NULL-terminated) to target. 0, or -errno after the
 * reason has been logged in one line.
 */
int cli_parse(const struct cli_command *cmd, char **argv, void *target);
/*
 * Set an option's field in target; value is NULL if there is none. 0, or -errno after having logged
 * "invalid --NAME 'VALUE': WHY".
 */
int cli_set(void *target, const struct setting *s, const char *value);

/* Returns true if the option is shown in --help and by the completion of shells. */
bool cli_is_shown(const struct setting *s);

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
