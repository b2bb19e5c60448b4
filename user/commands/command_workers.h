/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* command_workers.h - the workers of the commands that look at processes (worker.h). */
#ifndef TACHBPF_COMMAND_WORKERS_H
#define TACHBPF_COMMAND_WORKERS_H

#include <stdbool.h>
#include <stddef.h>

#include "worker/worker.h"

/*
 * All kinds of workers that a recording can have: those of the keeper, and the inspector's own. The
 * last ones, CAPTURE_NATIVE_WORKERS, are there with --native only.
 */
#define COMMAND_WORKERS 6
extern const struct worker_kind *const command_workers[COMMAND_WORKERS];

/*
 * Start the keeper of all kinds of workers; native: with those of --native. Without a keeper, which
 * is logged, the program must keep its own rights: -errno. Once it has given them up:
 * reader_reads_proc().
 */
int command_workers_start(bool native);

#endif
