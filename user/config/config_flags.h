/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * config_flags.h - the agent's command line: a flag for each key of the configuration, and what
 * ends at once (--check, --print-config, --help, --version).
 */
#ifndef TACHBPF_AGENT_CONFIG_FLAGS_H
#define TACHBPF_AGENT_CONFIG_FLAGS_H

#include <stddef.h>
#include <stdio.h>

#include "config/config.h"
#include "config/config_keys.h"

enum agent_action { AGENT_RUN, AGENT_CHECK, AGENT_PRINT_CONFIG, AGENT_HELP, AGENT_VERSION };

struct agent_options {
	enum agent_action action;
	const char *path;		/* --config; NULL: no file. All texts are argv's. */
	struct agent_flag {
		const struct config_key *key;
		const char *text;
	} *flags;			/* in their order; each is a good value by itself */
	size_t cnt;
};

/*
 * Parse the words behind "tachbpf agent", NULL-terminated, which must stay as long as *o: a reload
 * reads them again. 0, or -errno after logging why. The caller calls agent_options_free() in any
 * case.
 */
int agent_options_parse(struct agent_options *o, char **words);
void agent_options_free(struct agent_options *o);

/* Set what the flags say. */
struct config_loading;
void agent_options_apply(const struct agent_options *o, struct config_loading *l);

/* The text of --help. */
void agent_options_help(FILE *out);

#endif
