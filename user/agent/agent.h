/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* agent.h - the agent: captures continuously and passes what it sees to the exporters. */
#ifndef TACHBPF_AGENT_H
#define TACHBPF_AGENT_H

struct agent_config;
struct agent_options;

/*
 * Runs until SIGTERM or SIGINT. options: for reloads (SIGHUP); they stay the caller's. config: the
 * one in force at first; it is freed. Returns the exit status; errors are logged.
 */
int agent_run(const struct agent_options *options, struct agent_config *config);

#endif
