/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tach_room.h - keeps room for the tail of a TACH file that is being written. */
#ifndef TACHBPF_TACH_ROOM_H
#define TACHBPF_TACH_ROOM_H

#include <stdint.h>

struct tach_file;

/*
 * Counts what is new in the tables: the tail and the journal will have it. Returns 0 or -ENOMEM.
 */
int tach_room_count(struct tach_file *f);
/*
 * Makes sure that there is room for this many bytes of samples at off, the tail, and the samples'
 * entry in the journal, with the tables as they were counted. Returns 0 or -errno.
 */
int tach_room_reserve(struct tach_file *f, uint64_t off, uint64_t len);

#endif
