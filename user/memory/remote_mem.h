/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * remote_mem.h - reads the memory of any process, and always returns: a worker reads (reader.h).
 * While samples wait, only a share of the time is spent on reads.
 */
#ifndef TACHBPF_MEMORY_REMOTE_MEM_H
#define TACHBPF_MEMORY_REMOTE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cpython/python_threads.h"
#include "asyncio/chain.h"
#include "asyncio/loop.h"
#include "asyncio/tasks.h"
#include "memory/block_look.h"

/*
 * Read len bytes at addr of the process whose tgid is in ctx (as struct target_mem requires). 0;
 * -EFAULT, -EPERM and other -errno; -ESRCH: no such process; -EBUSY: not read, try again later,
 * because reads have used up their time or this process blocks a worker.
 */
int remote_mem_read(void *ctx, uint64_t addr, void *buf, size_t len);

/*
 * python_threads_read() of a process, with the same limits on time. *out is valid until the next
 * call. Its -errno, or as remote_mem_read().
 */
int remote_python_threads(pid_t tgid, const struct python_threads_at *at,
			  const struct python_threads **out);

/*
 * task_lists_read() and tasks_read() of a process, likewise: *out is valid until the next call of
 * the same function.
 */
int remote_task_lists(pid_t tgid, const struct tasks_at *at, const struct task_lists **out);
int remote_tasks(pid_t tgid, const struct tasks_at *at, const struct tasks_batch **out);

/*
 * async_homes_find() and task_chain_read() of a process, likewise; arguments as those of
 * reader_async_homes() and reader_task_chain().
 */
int remote_async_homes(pid_t tgid, const struct tasks_at *at, struct async_homes *out);
int remote_task_chain(pid_t tgid, const struct tasks_at *at, const struct raw_task *q,
		      struct task_chain *out);

/* loop_states_read() of a process, likewise; arguments as reader_loop_states(). */
int remote_loop_states(pid_t tgid, const struct tasks_at *at, int64_t clock_ns,
		       const struct loop_states **out);

/*
 * block_words_read() of a process, likewise: at most BLOCK_LOOKS_MAX places. *out is hostile.
 */
int remote_blocks(pid_t tgid, const struct block_place *places, size_t cnt,
		  struct block_words *out);

/*
 * hurry: samples wait, so only a share of the time may be spent on reads. At the start, without
 * samples, a read may take as long as it needs on a slow machine.
 */
void remote_mem_hurry(bool hurry);
/* Allow reads to take ns, regardless of what was spent before. */
void remote_mem_grant(int64_t ns);

#endif
