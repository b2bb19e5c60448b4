/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dump_locks.h - the locks that threads and tasks wait for, and deadlocks, in `tachbpf dump`. */
#ifndef TACHBPF_DUMP_LOCKS_H
#define TACHBPF_DUMP_LOCKS_H

#include "base/json.h"
#include "look/look.h"

/* Print ", RLock 0x7f..., which thread 7 holds", if it is known. */
void dump_text_lock(const struct look_thread *t);
/* Print ", waits for asyncio.Lock 0x7f..., which task reader holds", if task number i does. */
void dump_text_task_lock(const struct look_tasks *t, uint32_t i);
/* Print a line for each deadlock of a process: which threads, or tasks. */
void dump_text_circles(const struct look_process *p);
/* Print a paragraph for each deadlock of a process' threads, or of its tasks. */
void dump_text_deadlocks(const struct look_process *p, bool tasks);

/* Write the key "lock" of a thread, or task. lock NULL: none; holder: a tid or id, 0: not known. */
void dump_json_lock(struct json *j, const struct look_lock *lock, uint64_t holder, bool timed);
/* Write the key "deadlocks", or "task_deadlocks", of a process. */
void dump_json_deadlocks(struct json *j, const struct look_process *p, bool tasks);

#endif
