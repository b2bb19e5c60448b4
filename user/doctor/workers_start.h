/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* workers_start.h - starts a program's workers, and reports what this machine refuses them. */
#ifndef TACHBPF_WORKERS_START_H
#define TACHBPF_WORKERS_START_H

#include "worker/worker.h"

/*
 * Starts the keeper of these kinds of workers (keeper_start()). Without a keeper, which is logged,
 * the program must keep its rights: -errno. After it has dropped them: reader_reads_proc().
 */
int workers_start(const struct worker_kind *const kinds[], size_t cnt);

#endif
