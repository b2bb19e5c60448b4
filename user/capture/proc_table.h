/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * proc_table.h - the map py_procs, for user space.
 *
 * The BPF side removes the entry of a process that executes a program or exits. It cannot remove an
 * entry that user space writes after the process began to exit: these functions do.
 */
#ifndef TACHBPF_PROC_TABLE_H
#define TACHBPF_PROC_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"

struct bpf_map;

/* Writes a process's entry, unless the process is exiting. Returns 0; -errno: the map is full. */
int proc_table_put(struct bpf_map *table, pid_t tgid, const struct py_proc *py);

/* Reads a process's entry. Returns false if there is none. */
bool proc_table_get(struct bpf_map *table, pid_t tgid, struct py_proc *py);

void proc_table_remove(struct bpf_map *table, pid_t tgid);

/*
 * Looks for an entry of an excluded process (PY_PROC_UNSEEN) and removes it: the process's next
 * tick asks user space again. Looks at a few hundred entries, and begins where the last call ended:
 * *after, first 0. Returns false if there was none among these.
 */
bool proc_table_remove_unseen(struct bpf_map *table, uint32_t *after);

/*
 * Removes all entries of excluded processes (PY_PROC_UNSEEN), including those that children of such
 * processes get meanwhile. Reads every entry.
 */
void proc_table_remove_all_unseen(struct bpf_map *table);

/* Removes the entries of all processes that have ended. Reads every entry. */
void proc_table_sweep(struct bpf_map *table);

#endif
