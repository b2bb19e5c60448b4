/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* look_trio.h - the tasks of trio of a process, as look.h has those of asyncio. */
#ifndef TACHBPF_LOOK_LOOK_TRIO_H
#define TACHBPF_LOOK_LOOK_TRIO_H

#include "look/look.h"

/*
 * Read them. Always sets *out, which is freed as those of asyncio are. out->err is -ENOENT if trio
 * is not loaded. A task's only awaiter is the one in whose nursery it is.
 */
void look_trio_take(struct process *p, struct look_tasks *out);

/* Of any library: resolve the names of all frames of t->set. 0 or -ENOMEM. */
int look_tasks_name(struct process *p, struct look_tasks *t);

#endif
