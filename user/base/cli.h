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

/* An option that a command does not have, but that users know from other programs. */
struct cli_foreign {
	const char *option;	/* the long name of the command's option that means the same ... */
	const char *value;	/* ... with this value; NULL: its own */
	const char *answer;	/* without such an option: what to do instead */
};

/* Of word(): this word and all that follow are for rest(). */
#define CLI_REST 1

struct cli_command {
	const char *name;
	const char *help;		/* one line */
	const char *const *synopsis;	/* NULL-terminated lines */
	const char *const *examples;	/* NULL-terminated: command, what it does, ... */
	const struct setting *settings;	/* its options; NULL: none */
	/*
	 * Takes a word that is not an option. Returns 0, CLI_REST, or -errno after logging the
	 * reason.
	 */
	int (*word)(void *target, char *word);
	/*
	 * Takes the words after "--", NULL-terminated. Returns 0, or -errno after logging the
	 * reason. NULL: they are words like others.
	 */
	int (*rest)(void *target, char **words);
	/* Takes an option and its value; NULL: cli_set() does. */
	int (*take)(void *target, const struct setting *s, const char *value);
	/*
	 * Returns what an option of len bytes means ("--gil", "-g") that is none of settings; NULL:
	 * it is unknown. NULL: all are.
	 */
	const struct cli_foreign *(*foreign)(void *target, const char *option, size_t len);
};

/* Returns the i-th option; NULL: no more. */
const struct setting *cli_option(const struct cli_command *cmd, size_t i);

/* Sets the fields of options that have a preset. Returns 0, or -errno after logging the reason. */
int cli_preset(const struct cli_command *cmd, void *target);
/*
 * Applies the words of argv (NULL-terminated) to target. Returns 0, or -errno after logging the
 * reason in one line.
 */
int cli_parse(const struct cli_command *cmd, char **argv, void *target);
/*
 * Sets an option's field in target; value NULL: none. Returns 0, or -errno after logging "bad
 * --NAME 'VALUE': WHY".
 */
int cli_set(void *target, const struct setting *s, const char *value);

/* Returns true if the option is shown in --help and by shell completion. */
bool cli_is_shown(const struct setting *s);

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
