/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * look_worker.h - the worker (worker.h) that reads what threads wait for. Only their owner may read
 * the files of /proc with this information, and a recording does not have that right.
 */
#ifndef TACHBPF_LOOK_LOOK_WORKER_H
#define TACHBPF_LOOK_LOOK_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cpython/frames.h"
#include "look/look_thread.h"
#include "worker/worker.h"

/* The second one also looks at the kernel's functions: with the right to read them. */
extern const struct worker_kind look_worker_kind, look_kernel_worker_kind;

/* Selects the second kind. Call it before the first request. */
void look_worker_with_kernel(void);
bool look_worker_sees_kernel(void);

/*
 * Calls look_thread_detail() for the threads of one process, in the worker. Threads without an
 * answer stay unchanged.
 */
void look_worker_details(struct look_thread *threads, size_t cnt, pid_t tgid);
/*
 * Requests about a process: fill the struct that the first function returns (NULL: try later, or
 * never), then have it answered: 0, with an untrusted answer, or -errno. It is valid until the next
 * call of a function of this file.
 */
struct look_locks;
struct look_locks *look_worker_locks(pid_t tgid);
int look_worker_locks_answer(pid_t tgid);
struct look_locals_answer;
struct look_locals_answer *look_worker_locals(pid_t tgid);
int look_worker_locals_answer(pid_t tgid);

/* Ends the worker. */
void look_worker_end(void);

/* What the worker must know of a process to read its threads. */

struct process;

/* Returns true if it is in its own pid namespace. False also if that is unknown. */
bool look_is_nested(const struct process *p);
/* interps 0: the address of its interpreters is unknown. */
struct py_frames_at look_frames_at(const struct process *p);

#endif
