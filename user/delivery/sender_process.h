/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sender_process.h - the sender's own side: its loop (sender.h has its purpose). */
#ifndef TACHBPF_SENDER_PROCESS_H
#define TACHBPF_SENDER_PROCESS_H

#include "worker/worker.h"

/* Its jail, for tests that run other functions in it. */
extern const struct jail sender_jail;

/* The worker's function: fds[0] is its socket. Returns when the other end is closed. */
int sender_run(void *shared, const int *fds);

#endif
