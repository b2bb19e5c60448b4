/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cmd_record.h - tachbpf record.
 */
#ifndef TACHBPF_CMD_RECORD_H
#define TACHBPF_CMD_RECORD_H

struct record_options;

/*
 * Record as opts say. Returns the program's exit status: 1 after logging an error, 126 or 127 if
 * the command cannot be executed; else the status of the command if that is not 0, 3
 * (EXIT_NO_PYTHON) after logging that no Python was seen, or 0.
 */
int record_run(const struct record_options *opts);

#endif
