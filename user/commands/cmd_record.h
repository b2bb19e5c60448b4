/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cmd_record.h - tachbpf record.
 */
#ifndef TACHBPF_CMD_RECORD_H
#define TACHBPF_CMD_RECORD_H

struct record_options;

/*
 * Record as opts say. Returns the program's exit status: 0; 1 after logging an error; the exit
 * status of the command that was started and recorded.
 */
int record_run(const struct record_options *opts);

#endif
