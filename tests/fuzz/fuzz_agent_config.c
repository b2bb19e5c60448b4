// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_agent_config.c - any bytes as the agent's YAML, which may name environment variables. What
 * is accepted is printed, and what is printed is accepted as the same.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void load_again(const struct agent_config *c)
{
	struct agent_changes changes;
	struct agent_config *again;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		abort();
	agent_config_print(c, out);
	if (fclose(out))
		abort();
	again = agent_config_parse("printed", text, len);
	/* Secrets do not come back. */
	if (!strstr(text, "<secret>") &&
	    (!again || agent_config_diff(c, again, &changes) || changes.cnt))
		abort();
	agent_config_free(again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *nowhere;
	FILE *terminal = stderr;
	struct agent_config *c;

	/* What is wrong with each file need not be seen. */
	nowhere = nowhere ? nowhere : fopen("/dev/null", "we");
	if (!nowhere)
		return 0;
	setenv("A", "a: [${B}, $$", true);
	setenv("B", "99", true);
	unsetenv("C");
	stderr = nowhere;
	c = agent_config_parse("fuzz", data, size);
	if (c)
		load_again(c);
	agent_config_free(c);
	stderr = terminal;
	return 0;
}
