/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * recover_steps.h - what a journal says about its file's samples, step by step. Part of recover.c,
 * which compares it with the file.
 */
#ifndef TACHBPF_RECOVER_STEPS_H
#define TACHBPF_RECOVER_STEPS_H

#include "base/util.h"
#include "formats/tach/tach_journal.h"

struct recover_step {
	uint64_t end;		/* offset in the file where the samples so far end */
	uint8_t checksum[TACH_CHECKSUM_BYTES];
	uint64_t entries_end;	/* offset in the journal up to which entries have names */
	uint64_t at, from;	/* of a join: struct tach_journal_join; otherwise 0 */
};

/*
 * Appends the steps (struct recover_step) of a journal: up to the first entry that is not intact,
 * and without those that a later join replaces. Steps are not checked. Returns 0 or -ENOMEM.
 */
int recover_steps(struct buf *steps, const uint8_t *journal, size_t size,
		  const struct tach_journal_head *head);

/*
 * The entry with names at *off, or the next one, before `end`; *off is then after it. NULL: there
 * is none. The journal is intact up to there.
 */
const uint8_t *recover_next_names(const uint8_t *journal, uint64_t *off, uint64_t end,
				  struct tach_journal_entry *e);

#endif
