/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* config_print.h - the agent's configuration as YAML, and its keys as a table for documents. */
#ifndef TACHBPF_AGENT_CONFIG_PRINT_H
#define TACHBPF_AGENT_CONFIG_PRINT_H

#include <stdio.h>

#include "config/config.h"

/* agent_config_print() of agent/config.h is here. The table in Markdown: */
void config_print_keys(FILE *out);

#endif
