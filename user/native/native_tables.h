/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_tables.h - tables in the native memory: their numbers, copying them in parts, and evicting
 * them when there is no room.
 */
#ifndef TACHBPF_NATIVE_TABLES_H
#define TACHBPF_NATIVE_TABLES_H

#include "base/time.h"
#include "native/native_state.h"

/* A table used within this time is not evicted while its file is mapped. */
#define TABLE_IDLE_NS (10 * NS_PER_S)
/* A file whose table found no room, or was not usable, is retried after this time. */
#define TABLE_AGAIN_NS (10 * NS_PER_S)

/* Writes the tables without rows (TABLE_NO_TABLE ...), once. Returns 0, or -errno to try again. */
int tables_begin(struct native *n);

/*
 * Gives a file a number; its table has no rows yet. If none are left, the file has no number, and
 * its addresses have no table.
 */
void table_number(struct native *n, struct file *f);

/*
 * Takes a file's table in an immutable memfd, which it owns from then on. Returns 0: table_copy()
 * will find it; -EBADMSG: no such memfd, or no table in it; another -errno.
 */
int table_take(struct native *n, struct file *f, int memfd);

/* Copies the tables of QUEUE_COPY until this time (now_ns()). */
void tables_copy(struct native *n, uint64_t until);

/* Evicts the least recently used table. Returns false if all are in use. */
bool table_evict(struct native *n);
/* The file is another one now: its table and number are given up. */
void table_drop(struct native *n, struct file *f);

#endif
