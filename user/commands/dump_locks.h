/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dump_locks.h - the locks that threads wait for, and deadlocks, in `tachbpf dump`. */
#ifndef TACHBPF_DUMP_LOCKS_H
#define TACHBPF_DUMP_LOCKS_H

#include "base/json.h"
#include "look/look.h"

/* Print ", RLock 0x7f..., which thread 7 holds", if it is known. */
void dump_text_lock(const struct look_thread *t);
/* Print a line for each deadlock of a process: which threads. */
void dump_text_circles(const struct look_process *p);
/* Print a paragraph for each deadlock of a process. */
void dump_text_deadlocks(const struct look_process *p);

/* Write the key "lock" of a thread, "deadlocks" of a process. */
void dump_json_lock(struct json *j, const struct look_thread *t);
void dump_json_deadlocks(struct json *j, const struct look_process *p);

#endif
