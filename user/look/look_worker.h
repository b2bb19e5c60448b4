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

extern const struct worker_kind look_worker_kind;

/*
 * look_thread_detail() of the threads of one process, in the worker. Threads that it has no answer
 * for stay as they are.
 */
void look_worker_details(struct look_thread *threads, size_t cnt, pid_t tgid);
/* look_locks_answer() in the worker. Who asks fills the struct that look_worker_locks() returns. */
struct look_locks;
/* What to fill, valid until the next call of a function of this file; NULL: ask later, or never. */
struct look_locks *look_worker_locks(pid_t tgid);
/* 0: it is answered, by whomever; -errno. */
int look_worker_locks_answer(pid_t tgid);

/* End it. */
void look_worker_end(void);

#endif
