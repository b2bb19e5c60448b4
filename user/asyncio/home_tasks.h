/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* home_tasks.h - the tasks in the sets of CPython 3.8 to 3.13, as tasks.h has them. */
#ifndef TACHBPF_ASYNCIO_HOME_TASKS_H
#define TACHBPF_ASYNCIO_HOME_TASKS_H

#include "asyncio/task_read.h"

/*
 * Limits: on slots of a set (it has up to four times as many as it has ever had entries), which are
 * read a block at a time, and on entries of _current_tasks: loops that run.
 */
#define HOME_SLOTS_MAX (1u << 24)
#define HOME_SLOTS_A_READ 1024
#define HOME_CURRENT_MAX 256

/* As task_lists_read(). */
int home_lists_read(const struct target_mem *mem, const struct tasks_at *at,
		    struct task_lists *out);

/*
 * As tasks_read(); a batch of a sparse set may have no rows although there are more. -EBADMSG: this
 * is no set; -ENOENT: at->head is none of at->homes.
 */
int home_tasks_read(const struct target_mem *mem, const struct tasks_at *at, uint64_t until_ns,
		    struct tasks_batch *out);

#endif
