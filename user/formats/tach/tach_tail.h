/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tach_tail.h - encodes what follows the samples in a TACH file: both tables, TACHSTAT, the footer.
 * Part of the writer; knows no file and no samples.
 */
#ifndef TACHBPF_TACH_TAIL_H
#define TACHBPF_TACH_TAIL_H

#include <stddef.h>

#include "base/util.h"
#include "model/event.h"
#include "model/sink.h"

/* Append the strings and the frames, from number `from` on. Return 0 or -ENOMEM. */
int tach_tail_strings(struct buf *b, const struct profile_tables *tables, uint32_t from);
int tach_tail_frames(struct buf *b, enum profile_layout layout, const struct profile_tables *tables,
		     uint32_t from);

/*
 * Appends the first lines of the functions of frames, from number `from` on, in characters
 * (TACH_FIRST_LINES); nothing if none of them is known. Returns 0 or -ENOMEM.
 */
int tach_tail_first_lines(struct buf *b, const struct profile_tables *tables, uint32_t from);

/*
 * Appends the whole tail to b. The footer's file size and checksum stay 0: the caller fills them
 * in. *frames_at: offset of the frame table in b, in bytes. Returns 0 or -ENOMEM.
 */
int tach_tail_build(struct buf *b, enum profile_layout layout, const struct profile_tables *tables,
		    const struct profile_stats *stats, size_t *frames_at);

#endif
