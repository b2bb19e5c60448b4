/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * options_set.h - how the text of each kind of option becomes a value, for the
 * tables of commands. target is always a struct options.
 */
#ifndef TACHBPF_OPTIONS_SET_H
#define TACHBPF_OPTIONS_SET_H

#include <stdbool.h>

#include "base/cli.h"
#include "commands/options.h"

/* opt_select(): a condition of this kind, in opt->data. */
struct select_option {
	enum proc_filter_kind kind;
	bool exclude;
};

struct choice {
	const char *name;	/* NULL ends the table */
	int value;
};

/* Can the command write this format? */
bool options_takes_format(enum command_id command, const struct sink_ops *ops);

/*
 * To opt->off. opt_choice, opt_bool, opt_value: by the choices
 * in opt->data; opt_mode: by the names in record_modes.
 */
int opt_flag(void *target, const struct cli_option *opt, const char *value);
int opt_no(void *target, const struct cli_option *opt, const char *value);
int opt_text(void *target, const struct cli_option *opt, const char *value);
int opt_choice(void *target, const struct cli_option *opt, const char *value);
int opt_bool(void *target, const struct cli_option *opt, const char *value);
int opt_value(void *target, const struct cli_option *opt, const char *value);
int opt_mode(void *target, const struct cli_option *opt, const char *value);
int opt_rate(void *target, const struct cli_option *opt, const char *value);
int opt_sent_codes(void *target, const struct cli_option *opt, const char *value);
int opt_min_wait(void *target, const struct cli_option *opt, const char *value);
int opt_duration(void *target, const struct cli_option *opt, const char *value);
int opt_select(void *target, const struct cli_option *opt, const char *value);
int opt_min_age(void *target, const struct cli_option *opt, const char *value);
int opt_limit(void *target, const struct cli_option *opt, const char *value);
int opt_moment(void *target, const struct cli_option *opt, const char *value);
int opt_regex(void *target, const struct cli_option *opt, const char *value);
int opt_every(void *target, const struct cli_option *opt, const char *value);
int opt_format(void *target, const struct cli_option *opt, const char *value);

/* To members they know, of whatever command. */
int opt_pids(void *target, const struct cli_option *opt, const char *value);
int opt_thread(void *target, const struct cli_option *opt, const char *value);
int opt_process(void *target, const struct cli_option *opt, const char *value);
int opt_status(void *target, const struct cli_option *opt, const char *value);
int opt_input_format(void *target, const struct cli_option *opt, const char *value);
int opt_quiet(void *target, const struct cli_option *opt, const char *value);
int opt_verbose(void *target, const struct cli_option *opt, const char *value);
int opt_show(void *target, const struct cli_option *opt, const char *value);

/* Words that are no options. */
int opt_record_word(void *target, char *word);
int opt_record_rest(void *target, char **words);
int opt_files_word(void *target, char *word);
int opt_no_word(void *target, char *word);

#endif
