/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cmd_record.h - the command that records.
 */
#ifndef TACHBPF_CMD_RECORD_H
#define TACHBPF_CMD_RECORD_H

struct record_options;

/*
 * Record as opts say until done. Returns the program's exit status: 0, 1 after
 * an error was logged, or that of the command which was started.
 */
int record_run(const struct record_options *opts);

#endif
