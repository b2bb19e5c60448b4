/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * options_tables.h - the commands, by enum command_id.
 */
#ifndef TACHBPF_OPTIONS_TABLES_H
#define TACHBPF_OPTIONS_TABLES_H

#include "base/cli.h"

#define OPTIONS_COMMAND_CNT 18

extern const struct cli_command options_commands[OPTIONS_COMMAND_CNT];

#endif
