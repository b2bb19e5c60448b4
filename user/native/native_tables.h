/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_tables.h - tables in the native memory: their numbers, copying them there in parts, and
 * which of them go when there is no room.
 */
#ifndef TACHBPF_NATIVE_TABLES_H
#define TACHBPF_NATIVE_TABLES_H

#include "base/time.h"
#include "native/native_state.h"

/* A table that was used within this time does not go while its file is mapped. */
#define TABLE_IDLE_NS (10 * NS_PER_S)
/* A file whose table found no room, or was built in vain, is tried again after this time. */
#define TABLE_AGAIN_NS (10 * NS_PER_S)

/* Put the tables without rows (TABLE_NO_TABLE ...), once. 0 or -errno: try again. */
int tables_begin(struct native *n);

/*
 * Give a file a number, whose table has no rows yet. There may be none left: then it has none, and
 * its addresses have no table.
 */
void table_number(struct native *n, struct file *f);

/*
 * Take a file's table, in a memfd that nobody can change, which is ours then. 0: table_copy() will
 * find it; -EBADMSG: it is no such memfd, or no table in it; other -errno.
 */
int table_take(struct native *n, struct file *f, int memfd);

/* Copy tables of QUEUE_COPY until then (now_ns()). */
void tables_copy(struct native *n, uint64_t until);

/* Make room: the table that was used least recently goes. Returns false if all are in use. */
bool table_evict(struct native *n);
/* Its file is another one: it goes, and so does its number. */
void table_drop(struct native *n, struct file *f);

#endif
