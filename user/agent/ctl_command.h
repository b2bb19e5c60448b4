/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ctl_command.h - `tachbpf agent ctl`: asks the running agent, and prints its answer. */
#ifndef TACHBPF_AGENT_CTL_COMMAND_H
#define TACHBPF_AGENT_CTL_COMMAND_H

/*
 * words: those after "ctl", NULL-terminated. Waits for the answer, at most CTL_CLIENT_NS. Returns
 * the exit status: 0; 1: the agent refused, or failed; 2: the command line is wrong; 69: no agent
 * listens; 75: it is busy, or does not answer; 77: only root may ask.
 */
int ctl_command(char **words);

#endif
