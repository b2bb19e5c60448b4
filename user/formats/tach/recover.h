/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * recover.h - reads what is readable of an incomplete TACH file: of a recording that was killed,
 * with the journal next to it (docs/tach.md), and of files that were truncated or damaged later.
 *
 * Neither file is trusted: of the journal, only what its own checksums and those of the samples
 * confirm is used.
 */
#ifndef TACHBPF_RECOVER_H
#define TACHBPF_RECOVER_H

#include "formats/tach/tach_reader.h"
#include "model/event.h"

struct recovery;

enum recovery_source {
	RECOVERY_WHOLE,		/* no error was found, except perhaps in the samples */
	RECOVERY_JOURNAL,	/* not finished: the tables are from the journal */
	RECOVERY_DAMAGED,	/* the file's own header and tables, as far as they are readable */
};

/*
 * journal: its path; the file need not exist. Returns NULL with errno (ENOENT: a journal is needed
 * and does not exist), and a one-line reason in why. Free it by recover_free().
 */
struct recovery *recover_open(const char *path, const char *journal, char *why, size_t why_size);
void recover_free(struct recovery *r);

/* The source of the tables. */
enum recovery_source recover_source(const struct recovery *r);
/* Returns true if the file is still written: a writer has locked the journal or its directory. */
bool recover_is_live(const struct recovery *r);
/* The counts in it are meaningless. */
const struct tach_info *recover_info(const struct recovery *r);
/* Samples may have frame ids beyond them: see remap.h. */
const struct profile_tables *recover_tables(const struct recovery *r);

/*
 * Calls on_event for every sample up to the first damage. Returns what on_event returned, -ENOMEM,
 * or 0: then why says what ended the samples; "": nothing did.
 */
int recover_samples(struct recovery *r, int (*on_event)(void *ctx, const struct event *ev),
		    void *ctx, char *why, size_t why_size);

#endif
