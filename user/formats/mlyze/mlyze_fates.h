/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mlyze_fates.h - what has become of the memory that each stack holds, in a .mlyze file that
 * tachbpf recorded: bytes of the pages that were looked at. Only for mlyze_notes.
 */
#ifndef TACHBPF_MLYZE_FATES_H
#define TACHBPF_MLYZE_FATES_H

#include "base/util.h"
#include "formats/mlyze/mlyze_marks.h"

/* Limit, because files are hostile; further ones are left out. */
#define MLYZE_FATES_MAX (1u << 18)

/* As in struct memory_fate, each at most INT64_MAX. */
struct mlyze_fate {
	uint64_t stack;		/* its id in the file */
	uint64_t pages, own, reused, unused;
};

/* Take a mark with this word into list (struct mlyze_fate). 0 or -ENOMEM. */
int mlyze_fate_take(struct buf *list, const struct mlyze_mark *m);

#endif
