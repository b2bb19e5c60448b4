/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * proc_table.h - the kernel's table of processes (map py_procs), as user space sees it.
 *
 * The kernel side removes who execs or exits; here is what it cannot see: that an
 * entry came when its process was already on its way out.
 */
#ifndef TACHBPF_PROC_TABLE_H
#define TACHBPF_PROC_TABLE_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"

struct bpf_map;

/* Put a process in, unless it is ending. 0, or -errno: the table is full. */
int proc_table_put(struct bpf_map *table, pid_t tgid, const struct py_proc *py);

void proc_table_remove(struct bpf_map *table, pid_t tgid);

/* The kernel's count of ticks in a process; 0: not there. */
uint64_t proc_table_ticks(struct bpf_map *table, pid_t tgid);

/* Remove who is gone. Looks at every entry. */
void proc_table_sweep(struct bpf_map *table);

#endif
