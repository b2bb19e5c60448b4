/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* config_command.h - from the agent's command line to a configuration, or to an exit status. */
#ifndef TACHBPF_AGENT_CONFIG_COMMAND_H
#define TACHBPF_AGENT_CONFIG_COMMAND_H

#include <stdio.h>

#include "config/config_flags.h"

/* The agent is to run. */
#define AGENT_GO (-1)
/* Exit statuses: the configuration is wrong; the command line is. */
#define AGENT_EXIT_CONFIG 1
#define AGENT_EXIT_USAGE 2

/*
 * Parse the words behind "tachbpf agent" (NULL-terminated), load the configuration, and do what
 * ends at once, on out: --check prints nothing but errors, on stderr. AGENT_GO: *config is what is
 * in force, for agent_config_free(), and *o is for reloads; else the exit status, and *config is
 * NULL. The caller calls agent_options_free() in both cases.
 */
int agent_config_begin(struct agent_options *o, char **words, FILE *out,
		       struct agent_config **config);

#endif
