/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tach_journal.h - the journal beside a TACH file that is being written: what a
 * killed capture lacks to be read. docs/tach.md describes it; recover.c reads it.
 *
 * Only appended to, one entry after every append to the file, and an entry costs
 * what is new in the tables. A journal that cannot be written is no error: the
 * next entry, which takes its place, says what that one would have said.
 */
#ifndef TACHBPF_TACH_JOURNAL_H
#define TACHBPF_TACH_JOURNAL_H

#include <stdint.h>
#include <xxhash.h>

#include "formats/tach/tach_format.h"
#include "model/event.h"
#include "model/sink.h"

/* ".NAME.journal" stands beside NAME while it is being written; see docs/tach.md. */
#define TACH_JOURNAL_SUFFIX ".journal"

#define TACH_JOURNAL_MAGIC "TACHJRNL"
#define TACH_JOURNAL_VERSION 1
#define TACH_JOURNAL_ENTRY_MAGIC 0x544e454au	/* "JENT" on little-endian machines */

/* How the journal begins. All numbers in the writer's byte order. */
struct tach_journal_head {
	char magic[8];
	uint32_t version;
	uint32_t layout;			/* enum tach_layout */
	uint8_t header[TACH_HEADER_BYTES];	/* the file's; counts and offsets do not count */
	uint64_t id;				/* random: tells journals apart */
	uint64_t check;				/* XXH3-64 of the above */
};
_Static_assert(sizeof(struct tach_journal_head) == 96, "docs/tach.md says so");

/*
 * Before every entry's new strings and new frames, encoded as in the tables.
 * Behind them: u64 XXH3-64, seeded with the journal's id, of the whole entry.
 */
struct tach_journal_entry {
	uint32_t magic;
	uint32_t thread_cnt;			/* in the file so far, likewise below */
	uint64_t end;				/* where the samples end, from the file's start */
	uint64_t sample_cnt;
	uint8_t checksum[TACH_CHECKSUM_BYTES];	/* XXH3-128 of the samples as they are in the file */
	uint32_t string_cnt, frame_cnt;		/* new ones, in this entry */
	uint32_t strings_len, frames_len;	/* their bytes */
};
_Static_assert(sizeof(struct tach_journal_entry) == 56, "docs/tach.md says so");

struct tach_journal;

/* fd is the caller's. NULL: out of memory. */
struct tach_journal *tach_journal_new(int fd, enum tach_layout layout);
void tach_journal_free(struct tach_journal *j);

void tach_journal_begin(struct tach_journal *j, const uint8_t header[TACH_HEADER_BYTES],
			const struct profile_tables *tables);
void tach_journal_add(struct tach_journal *j, uint64_t end, uint64_t sample_cnt,
		      uint32_t thread_cnt, const XXH3_state_t *samples);

#endif
