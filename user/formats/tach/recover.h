/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * recover.h - reads what can be read of a TACH file that is not whole: a capture
 * that was killed, with the journal beside it (docs/tach.md), and files that
 * were cut or damaged later.
 *
 * Neither file is trusted: of the journal counts only what its own checksums and
 * the samples' confirm.
 */
#ifndef TACHBPF_RECOVER_H
#define TACHBPF_RECOVER_H

#include "formats/tach/tach_reader.h"
#include "model/event.h"

struct recovery;

enum recovery_source {
	RECOVERY_WHOLE,		/* nothing seems wrong but perhaps the samples */
	RECOVERY_JOURNAL,	/* not finished: tables from the journal */
	RECOVERY_DAMAGED,	/* the file's own header and tables, as far as they go */
};

/*
 * journal: its path; it need not exist. NULL with errno (ENOENT: a journal is
 * needed and is not there) and a one-line reason in why.
 */
struct recovery *recover_open(const char *path, const char *journal, char *why, size_t why_size);
void recover_free(struct recovery *r);

enum recovery_source recover_source(const struct recovery *r);
/* Is the journal locked by who writes it? */
bool recover_is_live(const struct recovery *r);
/* Counts mean nothing here. */
const struct tach_info *recover_info(const struct recovery *r);
/* Frames of samples may lie beyond them: see remap.h. */
const struct profile_tables *recover_tables(const struct recovery *r);

/*
 * Call on_event for every sample up to the first damage. What on_event returned,
 * -ENOMEM, or 0: why then tells what ended the samples, "" if nothing did.
 */
int recover_samples(struct recovery *r, int (*on_event)(void *ctx, const struct event *ev),
		    void *ctx, char *why, size_t why_size);

#endif
