/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_mappings.h - which files each process has mapped: when to read that again, and the lists
 * of mappings in the native memory.
 */
#ifndef TACHBPF_NATIVE_MAPPINGS_H
#define TACHBPF_NATIVE_MAPPINGS_H

#include "native/native_state.h"

/*
 * Mappings are read again after REREAD_NS at the earliest, and after REREAD_TIMES the time that
 * reading took: a new process maps its libraries within some 50 ms, and another one has 65,530
 * mappings. Each reading without news doubles that, up to REREAD_MAX_NS.
 */
#define REREAD_NS (4 * NS_PER_MS)
#define REREAD_TIMES 32
/* In this time from its begin a process may have more: */
#define YOUNG_NS (NS_PER_S / 2)
#define REREAD_TIMES_YOUNG 4
#define REREAD_MAX_NS (30 * NS_PER_S)
#define READS_A_SECOND 200u

struct process *process_find(const struct native *n, pid_t tgid);
/* parent: shares its list; 0: none, so its mappings are read. Returns 0 or -ENOMEM. */
int process_begin(struct native *n, pid_t tgid, uint64_t start_ns, uint32_t uid, pid_t parent);
void process_end(struct native *n, pid_t tgid);
void processes_free(struct native *n);

/* The mappings may have changed: they are read again when that is due. */
void process_stale(struct native *n, struct process *p);
/* All that wait are read now. */
void mappings_hurry(struct native *n);
/* Requests the mappings that are due from the opener. */
void mappings_ask(struct native *n);
/* Takes one of the opener's messages with mappings; m->file is the tgid. */
void mappings_take(struct native *n, const struct elf_message *m, const void *data);
/* The opener will not answer its requests. */
void mappings_lost(struct native *n);

/*
 * Finds a place where the file is mapped now, in the next process after this one, so that each has
 * its turn; 0: in any. Returns false if no other process has it.
 */
bool mappings_place(const struct native *n, const struct file *f, pid_t after,
		    struct elf_place *out);
/* Replaces the file by another in all lists. */
void mappings_replace(struct native *n, struct file *old, struct file *f);
/* Returns the process's mapping at this address, or NULL. */
const struct mapping *mappings_at(const struct process *p, uint64_t addr);

/*
 * Writes the list if it differs from the native memory; *wrote tells whether it did. Returns 0, or
 * -EAGAIN or another -errno with nothing changed.
 */
int list_write(struct native *n, struct list *l, bool *wrote);

#endif
