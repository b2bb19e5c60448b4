// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* config_command.c - see config_command.h. */
#include "config/config_command.h"

#include <stdlib.h>

int agent_config_begin(struct agent_options *o, char **words, FILE *out,
		       struct agent_config **config)
{
	struct agent_config *c;

	*config = NULL;
	if (agent_options_parse(o, words))
		return AGENT_EXIT_USAGE;
	if (o->action == AGENT_HELP || o->action == AGENT_VERSION) {
		if (o->action == AGENT_HELP)
			agent_options_help(out);
		else
			fprintf(out, "tachbpf %s\n", TACHBPF_VERSION);
		return ferror(out) ? AGENT_EXIT_CONFIG : EXIT_SUCCESS;
	}
	c = agent_config_load(o);
	if (!c)
		return AGENT_EXIT_CONFIG;
	if (o->action == AGENT_RUN) {
		*config = c;
		return AGENT_GO;
	}
	if (o->action == AGENT_PRINT_CONFIG)
		agent_config_print(c, out);
	agent_config_free(c);
	return ferror(out) ? AGENT_EXIT_CONFIG : EXIT_SUCCESS;
}
