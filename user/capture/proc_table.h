/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * proc_table.h - the kernel's table of processes (map py_procs), as user space sees it.
 *
 * The kernel side removes a process that executes a program or exits. What it cannot see is
 * handled here: an entry that came when its process was already exiting.
 */
#ifndef TACHBPF_PROC_TABLE_H
#define TACHBPF_PROC_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"

struct bpf_map;

/* Put a process in, unless it is exiting. 0, or -errno: the table is full. */
int proc_table_put(struct bpf_map *table, pid_t tgid, const struct py_proc *py);

/* false: the process is not in the table. */
bool proc_table_get(struct bpf_map *table, pid_t tgid, struct py_proc *py);

void proc_table_remove(struct bpf_map *table, pid_t tgid);

/* Remove the processes that are gone. Looks at every entry. */
void proc_table_sweep(struct bpf_map *table);

#endif
