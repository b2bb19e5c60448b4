/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * worker_calls.h - which of the system calls that start workers (worker/worker.h) are refused here:
 * by the seccomp filter of a container or of a service.
 */
#ifndef TACHBPF_WORKER_CALLS_H
#define TACHBPF_WORKER_CALLS_H

/* What to do against a filter. */
#define WORKER_CALLS_FIX \
	"allow it in the container's seccomp profile (or run it with --security-opt " \
	"seccomp=unconfined), in a service by SystemCallFilter="

/*
 * Try the calls without which there is no worker; they change nothing. 0, or -errno of the first
 * that is refused, and its name in *name.
 */
int worker_calls_try(const char **name);

/*
 * worker_calls_try(), and whether memory can be shared with workers. Logs what is refused, and what
 * to do. 0 or -errno.
 */
int worker_calls_check(void);

#endif
