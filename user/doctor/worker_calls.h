/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * worker_calls.h - which of the system calls that start workers (worker/worker.h) are refused here:
 * by the seccomp filter of a container or of a service.
 */
#ifndef TACHBPF_WORKER_CALLS_H
#define TACHBPF_WORKER_CALLS_H

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

#endif
