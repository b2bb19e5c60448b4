/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* command_workers.h - the workers of the commands that look at processes (worker.h). */
#ifndef TACHBPF_COMMAND_WORKERS_H
#define TACHBPF_COMMAND_WORKERS_H

/*
 * Start the keeper of all kinds of workers; from now on the reader reads /proc. Without a keeper, which is
 * logged, the program must keep its own rights: -errno.
 */
int command_workers_start(void);

#endif
