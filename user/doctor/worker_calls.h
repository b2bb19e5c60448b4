/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * worker_calls.h - starts workers (worker/worker.h), and says which of the system calls for that
 * are refused here: by the seccomp filter of a container or of a service.
 */
#ifndef TACHBPF_WORKER_CALLS_H
#define TACHBPF_WORKER_CALLS_H

#include "worker/worker.h"

/* The remedy for a filter. */
#define WORKER_CALLS_FIX \
	"allow it in the container's seccomp profile (or run it with --security-opt " \
	"seccomp=unconfined), in a service by SystemCallFilter="

/*
 * Tries the calls without which there are no workers; they change nothing. Returns 0, or -errno of
 * the first that is refused, and its name in *name.
 */
int worker_calls_try(const char **name);

/*
 * Does worker_calls_try(), and checks that memory can be shared with workers. Logs what is refused,
 * and the remedy. Returns 0 or -errno.
 */
int worker_calls_check(void);

/*
 * Starts the keeper of these kinds of workers (keeper_start()), and reports what this machine
 * refuses them. Without a keeper, which is logged, the program must keep its rights: -errno. After
 * it has dropped them: reader_reads_proc().
 */
int workers_start(const struct worker_kind *const kinds[], size_t cnt);

#endif
