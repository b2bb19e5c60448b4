/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * dump_show.h - the output of `tachbpf dump` as text or JSON: a process (dump_process.c), its locks
 * (dump_locks.c) and its tasks (dump_tasks.c).
 */
#ifndef TACHBPF_DUMP_SHOW_H
#define TACHBPF_DUMP_SHOW_H

#include "base/json.h"
#include "look/look.h"

/* Prints one process on stdout. first: it is the first. locals: its variables were requested. */
void dump_text(const struct look_process *p, bool first, bool locals);

/*
 * With --blocked: leaves out the threads that have not been blocked for nearly all of watch_ms.
 * kept: room for all of p's threads, given to *p.
 */
void dump_keep_blocked(struct look_process *p, uint32_t watch_ms, struct look_thread *kept);

/* Write the document's start, one process, its end. docs/dump.md describes the keys. */
void dump_json_begin(struct json *j);
void dump_json(struct json *j, const struct look_process *p, bool locals);
void dump_json_end(struct json *j, size_t failed);

/* ---- shared by the dump files: parts of the text ---- */

/* Prints text from a target, at most 1 KiB: everything except printable UTF-8 is escaped. */
void dump_text_escaped(const char *text, size_t len);
/* Prints a thread's tid and its name: 7 "reader". */
void dump_text_thread(const struct look_process *p, const struct look_thread *t);

/* Prints a line with a frame: its function, file and line. */
void dump_text_frame(const struct profile_tables *tables, uint32_t id);

/* ---- locks and deadlocks ---- */

/* Prints ", RLock 0x7f..., which thread 7 holds", if it is known. */
void dump_text_lock(const struct look_thread *t);
/*
 * Prints what task number i waits for, if that is known: ", waits for asyncio.Lock 0x7f..., which
 * task reader holds", ", waits for Queue self.jobs".
 */
void dump_text_task_lock(const struct look_tasks *t, uint32_t i);
/* Prints a line for each deadlock of a process with its threads or tasks. */
void dump_text_circles(const struct look_process *p);
/* Prints a paragraph for each deadlock of a process' threads, or of its tasks. */
void dump_text_deadlocks(const struct look_process *p, bool tasks);

/* Writes the key "lock" of a thread or task. lock NULL: none; holder: a tid or id, 0: unknown. */
void dump_json_lock(struct json *j, const struct look_lock *lock, uint64_t holder, bool timed);
/* Writes the key "waits_for" of a task. */
void dump_json_waits_for(struct json *j, const struct task *t);
/* Writes the key "deadlocks", or "task_deadlocks", of a process. */
void dump_json_deadlocks(struct json *j, const struct look_process *p, bool tasks);
/* Writes a line of source; null: it has none. */
void dump_json_line(struct json *j, const char *key, int32_t line);

/* ---- tasks ---- */

/* Prints the tree of tasks, like `python -m asyncio pstree`, or why there is none. */
void dump_tasks_text(const struct look_process *p);

/* Writes the keys tasks, tasks_complete, trio_tasks and trio_tasks_complete. */
void dump_tasks_json(struct json *j, const struct look_process *p);

/* ---- event loops (dump_loops.c) ---- */

/*
 * Prints ", has blocked its event loop for 4.2 s" if a callback has run for so long. loop: NULL:
 * nothing.
 */
void dump_text_loop(const struct loop_state *loop);
/* Writes the key loops: null, or an object for each. */
void dump_json_loops(struct json *j, const struct look_process *p);

/* ---- greenlets ---- */

/* Prints them, those that are alike as one. */
void dump_greenlets_text(const struct look_process *p);

/* Writes the keys greenlets and greenlets_complete. */
void dump_greenlets_json(struct json *j, const struct look_process *p);

#endif
