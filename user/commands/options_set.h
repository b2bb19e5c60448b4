/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * options_set.h - the setters for the commands' tables: each parses the text of one kind of
 * option into a value of target, which is always a struct options. They return 0, or -EINVAL
 * or -ENOMEM after logging why.
 */
#ifndef TACHBPF_OPTIONS_SET_H
#define TACHBPF_OPTIONS_SET_H

#include <stdbool.h>

#include "base/cli.h"
#include "commands/options.h"

/* opt->data of opt_select(): the kind of the condition. */
struct select_option {
	enum proc_filter_kind kind;
	bool exclude;
};

/* A word that an option takes, and what it stands for. */
struct choice {
	const char *name;	/* NULL ends the table */
	int value;
};

/* Returns true if the command can write this format. */
bool options_takes_format(enum command_id command, const struct sink_ops *ops);

/*
 * These set the member at opt->off. opt->data of opt_choice and opt_bool: the table of struct
 * choice; of opt_value: the one choice that the flag stands for; of opt_select: see above.
 */
int opt_flag(void *target, const struct cli_option *opt, const char *value);
int opt_no(void *target, const struct cli_option *opt, const char *value);
int opt_text(void *target, const struct cli_option *opt, const char *value);
int opt_choice(void *target, const struct cli_option *opt, const char *value);
int opt_bool(void *target, const struct cli_option *opt, const char *value);
int opt_value(void *target, const struct cli_option *opt, const char *value);
int opt_mode(void *target, const struct cli_option *opt, const char *value);
int opt_rate(void *target, const struct cli_option *opt, const char *value);
int opt_min_wait(void *target, const struct cli_option *opt, const char *value);
int opt_duration(void *target, const struct cli_option *opt, const char *value);
int opt_select(void *target, const struct cli_option *opt, const char *value);
int opt_min_age(void *target, const struct cli_option *opt, const char *value);
int opt_limit(void *target, const struct cli_option *opt, const char *value);
int opt_moment(void *target, const struct cli_option *opt, const char *value);
int opt_regex(void *target, const struct cli_option *opt, const char *value);
int opt_points(void *target, const struct cli_option *opt, const char *value);
int opt_every(void *target, const struct cli_option *opt, const char *value);
int opt_format(void *target, const struct cli_option *opt, const char *value);

/* These know the member that they set. */
int opt_native(void *target, const struct cli_option *opt, const char *value);
int opt_leaks(void *target, const struct cli_option *opt, const char *value);
int opt_pids(void *target, const struct cli_option *opt, const char *value);
int opt_thread(void *target, const struct cli_option *opt, const char *value);
int opt_process(void *target, const struct cli_option *opt, const char *value);
int opt_status(void *target, const struct cli_option *opt, const char *value);
int opt_input_format(void *target, const struct cli_option *opt, const char *value);
int opt_quiet(void *target, const struct cli_option *opt, const char *value);
int opt_verbose(void *target, const struct cli_option *opt, const char *value);
int opt_show(void *target, const struct cli_option *opt, const char *value);

/* For words of the command line that are no options. */
int opt_record_word(void *target, char *word);
/* A process id, or several with commas, of dump. */
int opt_pid_word(void *target, char *word);
int opt_record_rest(void *target, char **words);
int opt_files_word(void *target, char *word);
int opt_no_word(void *target, char *word);
int opt_shell_word(void *target, char *word);

/* The words that opt_native() takes, NULL-terminated. */
extern const char *const options_native[];
/* The words that opt_shell_word() takes, by enum shell from SHELL_BASH on. */
extern const char *const options_shells[];

#endif
