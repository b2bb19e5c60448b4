/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tach_journal.h - the journal next to a TACH file that is being written: what is needed to read
 * the file of a recording that was killed. docs/tach.md describes it; recover.c reads it.
 *
 * Entries are only appended, one after every append to the file, and an entry has only what is new
 * in the tables. A journal that cannot be written is no error: the next entry, at the same offset,
 * will include what the failed one had.
 */
#ifndef TACHBPF_TACH_JOURNAL_H
#define TACHBPF_TACH_JOURNAL_H

#include <stdint.h>
#include <xxhash.h>

#include "formats/tach/tach_format.h"
#include "model/event.h"
#include "model/sink.h"

/* The journal of a file NAME is ".NAME.journal" in the same directory; see docs/tach.md. */
#define TACH_JOURNAL_SUFFIX ".journal"

#define TACH_JOURNAL_MAGIC "TACHJRNL"
#define TACH_JOURNAL_VERSION 3	/* 1: its entries have no first lines; 2: nothing is joined */
#define TACH_JOURNAL_ENTRY_MAGIC 0x544e454au	/* "JENT" on little-endian machines */
#define TACH_JOURNAL_JOIN_MAGIC 0x494f4a4au	/* "JJOI": it is a struct tach_journal_join */

/* The beginning of the journal. All numbers are in the writer's byte order. */
struct tach_journal_head {
	char magic[8];
	uint32_t version;
	uint32_t layout;			/* enum profile_layout */
	uint8_t header[TACH_HEADER_BYTES];	/* the file's header; its counts and offsets are
						 * not valid */
	uint64_t id;				/* random: identifies the journal */
	uint64_t check;				/* XXH3-64 of the fields above */
};
_Static_assert(sizeof(struct tach_journal_head) == 96, "docs/tach.md says so");

/*
 * The beginning of an entry. New strings and new frames follow, encoded as in the tables, the first
 * lines of the frames' functions (TACH_FIRST_LINES) without a head, or nothing, and then a u64:
 * XXH3-64 of the whole entry, seeded with the journal's id.
 */
struct tach_journal_entry {
	uint32_t magic;
	uint32_t thread_cnt;			/* number of threads in the file so far */
	uint64_t end;				/* offset of the end of the samples in the file */
	uint64_t sample_cnt;
	uint8_t checksum[TACH_CHECKSUM_BYTES];	/* XXH3-128 of the samples as stored in the file */
	uint32_t string_cnt, frame_cnt;		/* number of new ones in this entry */
	uint32_t strings_len, frames_len;	/* their lengths in bytes */
};
_Static_assert(sizeof(struct tach_journal_entry) == 56, "docs/tach.md says so");

/*
 * The samples from `at` on, described by several entries before this one, were compressed again,
 * and are shorter now. They were written at `from`, after the old ones, and then to `at`; a writer
 * that was killed while doing that has left them at `from`. As in an entry, a u64 follows.
 */
struct tach_journal_join {
	uint32_t magic;
	uint32_t zero;
	uint64_t at, from;			/* offsets in the file; at + len <= from */
	uint64_t len;
	uint8_t checksum[TACH_CHECKSUM_BYTES];	/* as in an entry: up to at + len */
};
_Static_assert(sizeof(struct tach_journal_join) == 48, "docs/tach.md says so");

struct tach_journal;

/* The caller owns fd. Returns NULL if memory runs out. Free it by tach_journal_free(). */
struct tach_journal *tach_journal_new(int fd, enum profile_layout layout);
void tach_journal_free(struct tach_journal *j);
/* It was closed and opened again; -1: it cannot be, and nothing more is written. */
void tach_journal_set_fd(struct tach_journal *j, int fd);

/* Writes the beginning. tables: what entries take strings and frames from; kept. */
void tach_journal_begin(struct tach_journal *j, const uint8_t header[TACH_HEADER_BYTES],
			const struct profile_tables *tables);
/*
 * Reserves room for the next entry. tables_len: bytes of all strings and frames so far, encoded.
 * Returns 0; -ENOSPC or -EDQUOT: disk full. A file system that cannot reserve is no error.
 */
int tach_journal_reserve(struct tach_journal *j, uint64_t tables_len);
/*
 * Appends an entry with what is new in the tables. end: offset of the end of the samples in the
 * file; samples: the checksum's state there. Errors are ignored: see above.
 */
void tach_journal_add(struct tach_journal *j, uint64_t end, uint64_t sample_cnt,
		      uint32_t thread_cnt, const XXH3_state_t *samples);

/*
 * Appends that len bytes at `from` replace the samples from `at` on; samples: the checksum's state
 * then. Returns 0; -errno: the journal has nothing about it. Call it before the file is changed so.
 */
int tach_journal_join(struct tach_journal *j, uint64_t at, uint64_t from, uint64_t len,
		      const XXH3_state_t *samples);
/* The file could not be changed, and is as it was: withdraws the last tach_journal_join(). */
void tach_journal_take_back(struct tach_journal *j);

#endif
