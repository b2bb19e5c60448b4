/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * options_tables.h - the commands and their options, the types of settings that only they have
 * (base/settings.h), and what takes the words that are no options.
 */
#ifndef TACHBPF_OPTIONS_TABLES_H
#define TACHBPF_OPTIONS_TABLES_H

#include "base/cli.h"
#include "commands/options.h"

extern const struct cli_command options_commands[COMMAND_CNT];

/* Of each command but agent, for options_commands[]. The fields are in struct options. */
extern const struct setting options_record[], options_top[], options_dump[], options_heap[],
	options_info[], options_report[], options_convert[], options_open[], options_mem[],
	options_merge[], options_split[], options_diff[], options_gil[], options_recover[],
	options_doctor[], options_ps[], options_completion[];

/* Of the commands that choose processes. */
extern const struct setting_type type_pids;		/* struct select_options */
/* Of the commands that read files; data of type_format: the command. */
extern const struct setting_type type_input_format;	/* struct options */
extern const struct setting_type type_service;		/* struct sample_filter_options */
extern const struct setting_type type_value;		/* struct reader_args */
extern const struct setting_type type_format;		/* const struct sink_ops * */
extern const struct setting_type type_thread;		/* struct sample_filter_options */
extern const struct setting_type type_process;		/* struct sample_filter_options */
extern const struct setting_type type_status;		/* struct sample_filter_options */
extern const struct setting_type type_moment;		/* struct sample_filter_time */
extern const struct setting_type type_regex;		/* regex_t * */
extern const struct setting_type type_leaks;		/* struct mem_options */
extern const struct setting_type type_name_if_any;	/* const char * */
/* Of record, and of dump. */
extern const struct setting_type type_debuginfod;	/* const char *: URLs */
extern const struct setting_type type_native;		/* uint32_t: enum native_bits */
extern const struct setting_type type_event;		/* struct record_options */
extern const struct setting_type type_page_size;	/* uint64_t: bytes, at least a page */
extern const struct setting_type type_allocations;	/* struct capture_args */
extern const struct setting_type type_when;		/* struct when_list */
extern const struct setting_type type_signal;		/* int */
/* Of all: -v is one more each time. */
extern const struct setting_type type_verbose;		/* int */

/*
 * Words that are no options; target is a struct options. 0, CLI_REST, or -errno after having logged
 * why. options_run_word(): the first word of a command, which may be a Python script.
 */
int options_run_word(void *target, char *word);
int options_record_rest(void *target, char **words);
int options_pid_word(void *target, char *word);
int options_file_word(void *target, char *word);
int options_no_word(void *target, char *word);
int options_shell_word(void *target, char *word);

/* The words that options_shell_word() takes, by enum shell from SHELL_BASH on. */
extern const char *const options_shells[];

/* Process filters without -a, -p or -- COMMAND are of all processes. */
void options_use_conditions(struct select_options *select, bool chosen);
/* options_check() of one command. */
int options_check_top(struct options *o);
int options_check_dump(struct options *o);
int options_check_heap(struct options *o);

/* Returns true if the command can write this format. */
bool options_takes_format(enum command_id command, const struct sink_ops *ops);

#endif
