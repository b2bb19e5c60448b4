/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reader.h - the worker (worker.h) that reads processes: their memory, and those files of /proc
 * that are visible only to processes that may trace, or that may block on the process' memory map.
 */
#ifndef TACHBPF_MEMORY_READER_H
#define TACHBPF_MEMORY_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cpython/python_threads.h"
#include "asyncio/chain.h"
#include "asyncio/loop.h"
#include "asyncio/tasks.h"
#include "host/otel_signs.h"
#include "memory/block_look.h"
#include "worker/worker.h"

/* Its longest answer: the largest table of a code object, and some more. */
#define READER_BYTES_MAX ((1u << 20) + 4096)

extern const struct worker_kind reader_kind;

/*
 * Read len bytes at addr of a process into *bytes, which stay valid until the next call of a
 * function of this file. hurry: allow the reader little time, even if the machine is slow. 0,
 * -errno of proc_mem_read(), -E2BIG, or -EBUSY: nothing was read, try again later.
 */
int reader_mem(pid_t tgid, uint64_t addr, size_t len, bool hurry, const void **bytes);

/*
 * The mappings of a process that may hold a process context at the moment: reads the whole list,
 * about 0.1 ms for a typical process. 0; -errno of proc_maps(), except -EFBIG; -EBUSY: try again
 * later.
 */
int reader_otel_mappings(pid_t tgid, bool hurry, struct otel_mappings *out);

/*
 * python_threads_read() of a process, in the reader: it takes about ten reads for each thread, and
 * their results are parsed where that can do no harm. *out is valid until the next call of this
 * function, and well-formed. Its -errno, or -EBUSY: try again later.
 */
int reader_python_threads(pid_t tgid, const struct python_threads_at *at, bool hurry,
			  const struct python_threads **out);

/*
 * task_lists_read() and tasks_read() of a process, in the reader. *out is valid until the next call
 * of the same function, and well-formed: ranges in rows are within the arrays. Their -errno, or
 * -EBUSY: try again later.
 */
int reader_task_lists(pid_t tgid, const struct tasks_at *at, bool hurry,
		      const struct task_lists **out);
int reader_tasks(pid_t tgid, const struct tasks_at *at, bool hurry,
		 const struct tasks_batch **out);

/*
 * async_homes_find() of a process, in the reader: some ms if it has thousands of modules. Of *at,
 * l, objects, interps, homes.musl and library are used; out may be &at->homes. With TASKS_TRIO it
 * looks for trio's steps, too, also in 3.14 and later, where out->cnt and out->minor are 0. Its
 * -errno, or -EBUSY: try again later; then *out is 0.
 */
int reader_async_homes(pid_t tgid, const struct tasks_at *at, bool hurry,
		       struct async_homes *out);

/*
 * task_chain_read() of a process, in the reader. 0: *out->raw is whole (async_record_is_whole()),
 * and what identifies the sample is q's. -EBUSY: try again later, but soon, or the task has gone
 * on.
 */
int reader_task_chain(pid_t tgid, const struct tasks_at *at, const struct raw_task *q, bool hurry,
		      struct task_chain *out);

/*
 * loop_states_read() of a process, in the reader. clock_ns: what is added to CLOCK_MONOTONIC here
 * to have it in the process' time namespace (time_ns_offset()). *out is valid until the next call
 * of this function, and well-formed. Its -errno, or -EBUSY: try again later.
 */
int reader_loop_states(pid_t tgid, const struct tasks_at *at, int64_t clock_ns, bool hurry,
		       const struct loop_states **out);

/*
 * block_words_read() of a process, in the reader: some 3 us a block. 0: *out is what was read, and
 * hostile; -errno: nothing was; -EBUSY: try again later.
 */
int reader_blocks(pid_t tgid, const struct block_place *places, size_t cnt, bool hurry,
		  struct block_words *out);

/*
 * From now on the functions of proc.h ask the reader for the files that it reads. For a program
 * that has given up the right to trace; it now learns what of /proc is hidden without that right.
 */
void reader_reads_proc(void);

/* Start it, unless it is running, so that the first call need not wait for that. */
void reader_prepare(void);

/* For worker_kind.owner: the effective user of a process; 0 if it is gone. */
uint32_t reader_owner(pid_t tgid);

/* Its pid, for tests; 0: it is not running. */
pid_t reader_pid(void);
/* End it. The next call starts another. */
void reader_end(void);

#endif
