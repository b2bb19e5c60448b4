/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * spool_draft.h - what there is of requests that are not finished yet, in a file of the spool's
 * directory, so that an agent that is killed loses little, and the next one knows how much.
 *
 * A draft is a file "<16 hexadecimal digits>.draft". A new one is complete before the one before it
 * goes, so whatever kills us leaves one that is whole: the newest. Nothing is forced to the disk,
 * and most drafts never reach it, because the next one comes earlier. How many samples a draft
 * would have now is in a mapped file ("open"): a word in memory, which outlives us as well.
 *
 * Of all functions only spool_draft_write() and spool_draft_left() use the disk.
 */
#ifndef TACHBPF_SPOOL_DRAFT_H
#define TACHBPF_SPOOL_DRAFT_H

#include <stdint.h>

#include "base/util.h"

#define SPOOL_DRAFT_BYTES_MAX (64u << 20)

struct spool_meter;

/* Zero-initialised: closed. */
struct spool_draft {
	int dir;			/* the caller's */
	uint64_t number, left;		/* of the draft; of the last agent's; 0: none */
	uint64_t last;			/* the last number that was used */
	struct spool_meter *meter;	/* NULL: there is none */
	uint64_t killed_samples;	/* that the last agent had, and its draft does not have */
};

/* dir: the locked directory, which stays open. Drafts that are not the newest are removed. */
void spool_draft_open(struct spool_draft *d, int dir);
/* Leaves the draft where it is. */
void spool_draft_close(struct spool_draft *d);

/*
 * Appends the draft that the last agent has left to *out; it stays until the next write. Nothing if
 * there is none. Returns 0 or -errno.
 */
int spool_draft_left(struct spool_draft *d, struct buf *out);
/* Writes a draft with so many samples. len 0: there is none from now on. Returns 0 or -errno. */
int spool_draft_write(struct spool_draft *d, const void *data, size_t len, uint64_t samples);
/* Says how many samples a draft would have now. */
void spool_draft_meter(struct spool_draft *d, uint64_t samples);

#endif
