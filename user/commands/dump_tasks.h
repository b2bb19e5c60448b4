/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dump_tasks.h - asyncio's tasks in what `tachbpf dump` prints. */
#ifndef TACHBPF_DUMP_TASKS_H
#define TACHBPF_DUMP_TASKS_H

#include "base/json.h"
#include "look/look.h"

/* The tree of tasks, as `python -m asyncio pstree` shows it, or why there is none. */
void dump_tasks_text(const struct look_process *p);

/* The keys tasks and tasks_complete. */
void dump_tasks_json(struct json *j, const struct look_process *p);

#endif
