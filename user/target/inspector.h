/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * inspector.h - the worker (worker.h) that opens files named by others: those that processes have
 * mapped or run, to find the CPython in them (inspect_files.h, exe_learn.h); their sources
 * (inspect_source.h); and those in which container runtimes keep names. The parser reads ELF files
 * and those of runtimes (parser.h).
 *
 * Errors of all functions: -ETIMEDOUT: a file of this process does not answer, now or a short time
 * ago; the inspector is not asked about the process for a while. -EUSERS: so many files of the same
 * user's processes do not answer that it is asked about none of them. -EBUSY: there is no
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
#include "target/inspect_source.h"
#include "worker/worker.h"

struct buf;

extern const struct worker_kind inspector_kind;

/* The effective user of a process, for `owner` below; LRU_OWNER_UNKNOWN: the process is gone. */
uint32_t inspector_owner(pid_t tgid);

/*
 * inspect_files(). *out stays valid until the next call of a function of this file. Files that are
 * not in the inspector's cache yet count towards the process' user's part of it.
 */
int inspector_inspect(const struct proc_info *who, uint64_t before, const struct inspected **out);

/* Read len bytes of the memory image of a file with a CPython, which was found in this process. */
int inspector_mem(const struct file_id *file, pid_t about, uint64_t vaddr, void *buf, size_t len);

/* exe_learn_process(). owner: whose part of the cache new files use; also in the next function. */
int inspector_learn(pid_t tgid, uint32_t owner, struct learned_exe *out);
/* exe_learn_seen(). */
int inspector_seen(const struct proc_info *who, uint32_t owner, const struct file_id *image,
		   const struct py_proc *proc, struct learned_exe *out);
/*
 * exe_learn_likely(): *cnt results, valid until the next call. If the last call was
 * inspector_begin_likely(), this is its answer, and waits no longer than necessary.
 */
int inspector_likely(const struct learned_exe **out, size_t *cnt);

/*
 * Begin exe_learn_likely() while the caller does something else. first: a process that will be
 * inspected next, whose files are read before; 0: none. all: also read the files of other
 * processes, for a caller that will wait for them, until it calls another function. Any other call
 * waits for the end.
 */
void inspector_begin_likely(pid_t first, bool all);

/*
 * OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES from the environment that a process was started
 * with. The rest of it, which may contain secrets, does not leave the worker, which wipes it. 0;
 * -errno as above, or of proc_read(): then *out is empty.
 */
int inspector_environ(pid_t tgid, struct otel_environ *out);

/*
 * inspect_thread_ctx() of a process. *out is as untrustworthy as the process: all of it only
 * determines which of the process' own words are read.
 */
int inspector_thread_ctx(pid_t tgid, struct inspected_tls *out);

/*
 * Where asyncio keeps its tasks in a process: inspect_async(). Takes some ms when its files are
 * seen for the first time, else 1 ms. 0: *out, which is valid, and whose offsets are 16 bits or
 * below ASYNCIO_INTERP_BYTES_MAX, whatever the process is; -ENOENT: asyncio is not loaded so far,
 * ask again later; -EOPNOTSUPP: its CPython is below 3.14; -ESRCH; others as above.
 */
int inspector_async(pid_t tgid, struct async_layout *out);

/*
 * inspect_source(), for which this call waits at most this long: appends the text. *mtime_ns: when
 * the file was last changed, since 1970.
 */
int inspector_source(const struct source_wanted *wanted, int timeout_ms, struct buf *text,
		     uint64_t *mtime_ns);

/* container_names() on this host. */
int inspector_names(struct container *c, pid_t tgid);

/* Returns true for the inspector and our other processes that look at processes. */
bool inspector_is_worker(const struct proc_info *who);

/* End it. The next call starts another. */
void inspector_end(void);

#endif
