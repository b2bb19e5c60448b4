/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mlyze_notes.h - all marks (mlyze_marks.h) of a .mlyze file that tachbpf recorded. Of other files
 * only the end is known.
 */
#ifndef TACHBPF_MLYZE_NOTES_H
#define TACHBPF_MLYZE_NOTES_H

#include "base/util.h"
#include "formats/mlyze/mlyze.h"
#include "formats/mlyze/mlyze_fates.h"
#include "formats/mlyze/mlyze_types.h"

/* Limits, because files are hostile. If there are more checks, every second one is left out. */
#define MLYZE_CHECKS_MAX (1u << 18)
#define MLYZE_LOSSES_MAX 64
#define MLYZE_GENERATIONS 4
#define MLYZE_BURSTS_MAX (1u << 20)	/* later bursts count as the last one */

/* Bytes, as in struct memory_check. */
struct mlyze_check {
	uint64_t time_us, rss_anon, swapped, held, unchecked;
};

struct mlyze_loss {
	char cause[48];
	uint64_t cnt;
};

/* How blocks were recorded in bursts: struct memory_sampled. bursts 0: they were not. */
struct mlyze_sampled {
	uint64_t bursts, watched_us, over_us, found, used, again, again_error;
	char allocator[16];	/* "": not known: the recording was cut */
};

struct mlyze_notes {
	bool recorded;		/* by tachbpf; if not, the rest is empty */
	bool exact;		/* every block of the allocator, not a sample of page faults, nor of
				 * blocks (sampled.bursts) */
	uint64_t every_bytes, min_bytes, interval_us;
	uint32_t pid;		/* 0: unknown */
	uint8_t python_major, python_minor, python_micro;	/* 0: unknown */
	char *comm, *container, *command;	/* NULL: unknown; any bytes */
	struct thread_names *names;	/* by tid; NULL: none */
	uint64_t *tids;		/* by the number of a thread in ALLOCs, 0: unknown; NULL: none */
	struct buf checks;	/* struct mlyze_check, by time */
	struct buf bursts;	/* uint64_t, the times of their begins */
	struct mlyze_sampled sampled;
	struct mlyze_types types;	/* censuses of its objects */
	struct buf fates;	/* struct mlyze_fate */
	struct mlyze_loss losses[MLYZE_LOSSES_MAX];
	size_t loss_cnt;
	uint64_t runs[MLYZE_GENERATIONS];	/* collections; older generations count as oldest */
	uint64_t uncollectable, collecting_us;	/* objects; time of all collections */
	uint64_t end_us;	/* of the last event; for every file */
	bool ended, exited;	/* the recording was complete; the process ended, too */
};

/* Reads all marks. Returns 0 or -ENOMEM. Free it by mlyze_notes_free(), even after an error. */
int mlyze_notes_read(const struct mlyze_file *f, struct mlyze_notes *notes);
void mlyze_notes_free(struct mlyze_notes *notes);

/* The checks, by time. */
const struct mlyze_check *mlyze_notes_checks(const struct mlyze_notes *notes, size_t *cnt);
/* When the bursts began, by time; none if not sampled.bursts. */
const uint64_t *mlyze_notes_bursts(const struct mlyze_notes *notes, size_t *cnt);
/* What has become of what stacks hold at the end, in any order. */
const struct mlyze_fate *mlyze_notes_fates(const struct mlyze_notes *notes, size_t *cnt);
/* The kernel's tid of a thread, by its number in ALLOCs; the number itself if it is unknown. */
uint64_t mlyze_notes_tid(const struct mlyze_notes *notes, uint16_t number);

#endif
