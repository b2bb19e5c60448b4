/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * inspector.h - the worker (worker.h) that opens files which others name: those that processes
 * have mapped or run, to find out which CPython is in them (inspect_files.h, exe_learn.h); and
 * those in which container runtimes keep names. The parser reads them (parser.h).
 *
 * Errors of all functions: -ETIMEDOUT: a file of this process does not answer, now or a short
 * time ago; the inspector is not asked about the process for a while. -EUSERS: so many files of
 * the same user's processes do not answer that none of them is asked. -EBUSY: there is no
 * inspector, try again.
 */
#ifndef TACHBPF_INSPECTOR_H
#define TACHBPF_INSPECTOR_H

#include <stddef.h>
#include <stdint.h>

#include "host/containers.h"
#include "host/otel_signs.h"
#include "target/exe_learn.h"
#include "target/inspect_files.h"
#include "worker/worker.h"

extern const struct worker_kind inspector_kind;

/* The effective user of a process, for `owner` below; LRU_OWNER_UNKNOWN: it is gone. */
uint32_t inspector_owner(pid_t tgid);

/*
 * inspect_files(). *out stays valid until the next call of a function of this file. The files that
 * are not in the inspector's cache yet take the process' user's part of it.
 */
int inspector_inspect(const struct proc_info *who, uint64_t before, const struct inspected **out);

/* Read len bytes of the memory image of a file with a CPython, that was found in this process. */
int inspector_mem(const struct file_id *file, pid_t about, uint64_t vaddr, void *buf, size_t len);

/* exe_learn_process(). owner: whose part of the cache new files take; also of the next function. */
int inspector_learn(pid_t tgid, uint32_t owner, struct learned_exe *out);
/* exe_learn_seen(). */
int inspector_seen(const struct proc_info *who, uint32_t owner, const struct file_id *image,
		   const struct py_proc *proc, struct learned_exe *out);
/*
 * exe_learn_likely(): *cnt of them, valid until the next call. If inspector_begin_likely() was called
 * before, and nothing else since, it is that call's answer, which is not waited for longer than needed.
 */
int inspector_likely(const struct learned_exe **out, size_t *cnt);

/*
 * Begin exe_learn_likely() while the caller does something else. first: a process that will be
 * inspected next, whose files are read before; 0: none. all: read the files of other processes, too,
 * as long as the caller has no other question: for one that will wait for them. Any other call waits
 * for its end.
 */
void inspector_begin_likely(pid_t first, bool all);

/*
 * OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES of the environment that a process was started
 * with. The rest of it, which may hold secrets, does not leave the worker, which wipes it. 0, and
 * -errno as above, or of proc_read(): then *out is empty.
 */
int inspector_environ(pid_t tgid, struct otel_environ *out);

/*
 * inspect_thread_ctx() of a process. What *out says is as little to be believed as the process: all
 * of it only says which of the process' own words are read.
 */
int inspector_thread_ctx(pid_t tgid, struct inspected_tls *out);

/*
 * Where asyncio keeps its tasks in a process: inspect_async(). Some ms when its files are seen for
 * the first time, else 1 ms. 0: *out, which is valid, and whose offsets are 16 bits or below
 * ASYNCIO_INTERP_BYTES_MAX, whatever the process is; -ENOENT: asyncio is not loaded (yet), ask
 * again later; -EOPNOTSUPP: its CPython is below 3.14; -ESRCH; others as above.
 */
int inspector_async(pid_t tgid, struct async_layout *out);

/* container_names() on this host. */
int inspector_names(struct container *c, pid_t tgid);

/* Is it the inspector, or another process that we have started to look at processes? */
bool inspector_is_worker(const struct proc_info *who);

/* End it. The next call starts another. */
void inspector_end(void);

#endif
