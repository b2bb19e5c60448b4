// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * agent_main.c - the executable tachbpf-agent, which `tachbpf agent` executes: reads its
 * configuration and runs the agent, or asks the one that runs (ctl).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "config/config.h"
#include "agent/ctl_command.h"
#include "base/output.h"
#include "base/start.h"

int main(int argc, char **argv)
{
	struct agent_options options;
	struct agent_config *config;
	int status;

	start_program();
	if (argc > 1 && !strcmp(argv[1], "ctl"))
		return ctl_command(argv + 2);
	status = agent_config_begin(&options, argv + 1, stdout, &config);
	if (status == AGENT_GO)
		status = agent_run(&options, config);
	else if (output_flush_stdout() && status == EXIT_SUCCESS)
		status = EXIT_FAILURE;
	agent_options_free(&options);
	return status;
}
