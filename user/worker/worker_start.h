/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* worker_start.h - starts workers, directly or through the keeper. For worker.c. */
#ifndef TACHBPF_WORKER_START_H
#define TACHBPF_WORKER_START_H

#include "worker/worker.h"

/* Messages on a worker's socket. */
struct worker_request {
	uint32_t function;
	uint32_t call;		/* number of the call, repeated in the answer */
};
struct worker_answer {
	int32_t result;
	uint32_t call;
};

/* Start a worker of this kind for w, which has none, through the keeper if any. 0 or -errno. */
int worker_start(struct worker *w);
/* Map a worker's memory to w->shared. 0 or -errno. */
int worker_map(struct worker *w, int memory);

/* Send one message with at most 3 descriptors. 0 or -errno. */
int worker_send(int fd, const void *msg, size_t len, const int *fds, size_t fd_cnt);
/*
 * Receive a message of this length with fd_cnt descriptors, -1 for missing ones; flags as for
 * recvmsg(2). 0; -EPIPE: the other end is closed, or the message has another length; other -errno.
 */
int worker_receive(int fd, void *msg, size_t len, int *fds, size_t fd_cnt, int flags);

#endif
