/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * look_worker.h - the worker (worker.h) that reads what threads wait for. The files of /proc that
 * say it may be read by their owner only, and a recording has not the right to read them.
 */
#ifndef TACHBPF_LOOK_LOOK_WORKER_H
#define TACHBPF_LOOK_LOOK_WORKER_H

#include <stddef.h>
#include <sys/types.h>

#include "look/look_thread.h"
#include "worker/worker.h"

/* The second one is for looks at the kernel's functions, too: with the right to read them. */
extern const struct worker_kind look_worker_kind, look_kernel_worker_kind;

/* Before the first call: use the second kind. */
void look_worker_with_kernel(void);

/*
 * look_thread_detail() of the threads of one process, in the worker. Threads that it has no answer
 * for stay as they are.
 */
void look_worker_details(struct look_thread *threads, size_t cnt, pid_t tgid);
/*
 * Questions about a process: fill the struct that the first function returns (NULL: ask later, or
 * never), then have it answered: 0, by whomever, or -errno. It is valid until the next call of a
 * function of this file.
 */
struct look_locks;
struct look_locks *look_worker_locks(pid_t tgid);
int look_worker_locks_answer(pid_t tgid);
struct look_locals_answer;
struct look_locals_answer *look_worker_locals(pid_t tgid);
int look_worker_locals_answer(pid_t tgid);

/* End it. */
void look_worker_end(void);

#endif
