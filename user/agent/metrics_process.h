/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* metrics_process.h - the worker that serves metrics: its loop (metrics_server.h). */
#ifndef TACHBPF_AGENT_METRICS_PROCESS_H
#define TACHBPF_AGENT_METRICS_PROCESS_H

#include "worker/worker.h"

/* Its jail, for tests that run other functions in it. */
extern const struct jail metrics_jail;

/*
 * The worker's function: fds[0] is its socket to the main process, fds[1] the listening socket.
 * Ends the process when the main process is gone.
 */
int metrics_run(void *shared, const int *fds);

#endif
