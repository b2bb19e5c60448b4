/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_mappings.h - which processes have which files mapped: when that is read again, and the
 * lists of mappings in the native memory.
 */
#ifndef TACHBPF_NATIVE_MAPPINGS_H
#define TACHBPF_NATIVE_MAPPINGS_H

#include "native/native_state.h"

/*
 * Mappings are read again after REREAD_NS at the earliest, and REREAD_TIMES the time that it took:
 * a new process maps its libraries within some 50 ms, and another one has 65,530 mappings. Each
 * reading that shows nothing new doubles that, up to REREAD_MAX_NS.
 */
#define REREAD_NS (20 * NS_PER_MS)
#define REREAD_TIMES 32
#define REREAD_MAX_NS (30 * NS_PER_S)
#define READS_A_SECOND 200u

struct process *process_find(const struct native *n, pid_t tgid);
/* 0 or -ENOMEM. parent: 0, or whose list it has; without one its mappings are read. */
int process_begin(struct native *n, pid_t tgid, uint64_t start_ns, uint32_t uid, pid_t parent);
void process_end(struct native *n, pid_t tgid);
void processes_free(struct native *n);

/* Its mappings may have changed: read them at the next time that is due. */
void process_stale(struct native *n, struct process *p);
/* Ask the opener for the mappings that are due. */
void mappings_ask(struct native *n);
/* The opener has told mappings: one message of several; m->file is the tgid. */
void mappings_take(struct native *n, const struct elf_message *m, const void *data);
/* What the opener was asked will not be answered. */
void mappings_lost(struct native *n);

/* A place where the file is mapped now. Returns false if there is none. */
bool mappings_place(const struct native *n, const struct file *f, struct elf_place *out);
/* In all lists: what was of one file is of the other one. */
void mappings_replace(struct native *n, struct file *old, struct file *f);
/* The mapping of a process that has this address; NULL: none. */
const struct mapping *mappings_at(const struct process *p, uint64_t addr);

#endif
