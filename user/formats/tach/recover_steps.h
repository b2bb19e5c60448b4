/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * recover_steps.h - what a journal says of its file's samples, one step after another. Part of recover.c, which
 * compares it with the file.
 */
#ifndef TACHBPF_RECOVER_STEPS_H
#define TACHBPF_RECOVER_STEPS_H

#include "base/util.h"
#include "formats/tach/tach_journal.h"

struct recover_step {
	uint64_t end;		/* the samples so far end here, an offset in the file */
	uint8_t checksum[TACH_CHECKSUM_BYTES];
	uint64_t entries_end;	/* the entries up to here have their names, an offset in the journal */
	uint64_t at, from;	/* of a join: struct tach_journal_join; otherwise 0 */
};

/*
 * Append the steps (struct recover_step) of a journal: up to the first entry that is not intact, and without those
 * that a later join replaces. Steps are checked for nothing. 0 or -ENOMEM.
 */
int recover_steps(struct buf *steps, const uint8_t *journal, size_t size,
		  const struct tach_journal_head *head);

/*
 * The entry with names at *off, or the next one, in front of `end`; *off is then behind it. NULL: there is none.
 * The journal is intact up to there.
 */
const uint8_t *recover_next_names(const uint8_t *journal, uint64_t *off, uint64_t end,
				  struct tach_journal_entry *e);

#endif
