/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* command_workers.h - the workers of the commands that look at processes (worker.h). */
#ifndef TACHBPF_COMMAND_WORKERS_H
#define TACHBPF_COMMAND_WORKERS_H

#include "capture/capture_process.h"

/* Parts of `parts` that no capture has: the worker of a look (look_worker.h). */
#define COMMAND_LOOK 256
/* The same, with the right to read the kernel's functions, instead. */
#define COMMAND_LOOK_KERNEL 512

/*
 * Start the keeper of the workers that a capture with these parts (enum capture_part) can have, once.
 * Without a keeper, which is logged, the program must keep its own rights: -errno. Once it has given
 * them up: reader_reads_proc().
 */
int command_workers_start(unsigned int parts);

#endif
