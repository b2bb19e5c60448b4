/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dump_show.h - what `tachbpf dump` prints: text (dump_text.c), or JSON (dump_json.c). */
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
 * With --blocked: leave out the threads that have not been blocked for nearly all of watch_ms. kept:
 * room for all of p's threads. *p gets them.
 */
void dump_keep_blocked(struct look_process *p, uint32_t watch_ms, struct look_thread *kept);

/* Write the document's begin, one process, its end. docs/dump.md describes the keys. */
void dump_json_begin(struct json *j);
void dump_json(struct json *j, const struct look_process *p, bool locals);
void dump_json_end(struct json *j, size_t failed);

#endif
