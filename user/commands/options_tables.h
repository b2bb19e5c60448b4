/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * options_tables.h - the commands and their options.
 */
#ifndef TACHBPF_OPTIONS_TABLES_H
#define TACHBPF_OPTIONS_TABLES_H

#include "base/cli.h"
#include "commands/options.h"

extern const struct cli_command options_commands[COMMAND_CNT];

/* Of each command, for options_commands[]; agent has none here. Their fields are in struct options. */
extern const struct setting options_record[], options_top[], options_dump[], options_info[],
	options_report[], options_replay[], options_open[], options_mem[], options_convert[],
	options_merge[], options_split[], options_diff[], options_gil[], options_recover[],
	options_doctor[], options_ps[], options_completion[];

#endif
