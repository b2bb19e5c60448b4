/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * commands.h - the commands that work on files: cmd_info.c, cmd_report.c,
 * cmd_replay.c, cmd_mem.c.
 *
 * Each returns the program's exit status, having logged every error in one line.
 */
#ifndef TACHBPF_COMMANDS_H
#define TACHBPF_COMMANDS_H

struct file_options;

int info_run(const struct file_options *opts);
int report_run(const struct file_options *opts);
int replay_run(const struct file_options *opts);
int mem_run(const struct file_options *opts);

#endif
