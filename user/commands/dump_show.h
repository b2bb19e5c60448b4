/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * dump_show.h - what `tachbpf dump` prints, as text or JSON: a process (dump_process.c), its locks
 * (dump_locks.c) and its tasks (dump_tasks.c).
 */
#ifndef TACHBPF_DUMP_SHOW_H
#define TACHBPF_DUMP_SHOW_H

#include "base/json.h"
#include "look/look.h"

/*
 * Print one process on stdout. first: no other was printed before. locals: its variables were asked
 * for.
 */
void dump_text(const struct look_process *p, bool first, bool locals);

/*
 * With --blocked: leave out the threads that have not been blocked for nearly all of watch_ms.
 * kept: room for all of p's threads. *p gets them.
 */
void dump_keep_blocked(struct look_process *p, uint32_t watch_ms, struct look_thread *kept);

/* Write the document's begin, one process, its end. docs/dump.md describes the keys. */
void dump_json_begin(struct json *j);
void dump_json(struct json *j, const struct look_process *p, bool locals);
void dump_json_end(struct json *j, size_t failed);

/* ---- for each other: words of the text ---- */

/* Print text from a target, at most 1 KiB: what is no printable UTF-8 is escaped. */
void dump_text_escaped(const char *text, size_t len);
/* Print a thread's tid and its name: 7 "reader". */
void dump_text_thread(const struct look_process *p, const struct look_thread *t);

/* ---- locks and deadlocks ---- */

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
/* Write a line of source; null: it has none. */
void dump_json_line(struct json *j, const char *key, int32_t line);

/* ---- tasks ---- */

/* The tree of tasks, as `python -m asyncio pstree` shows it, or why there is none. */
void dump_tasks_text(const struct look_process *p);

/* The keys tasks and tasks_complete. */
void dump_tasks_json(struct json *j, const struct look_process *p);

#endif
