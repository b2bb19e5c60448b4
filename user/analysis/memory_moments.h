/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory_moments.h - at which moments of a .mlyze file rows are looked at: when tachbpf looked
 * which pages were still there, or, in files without such checks, at regular times.
 */
#ifndef TACHBPF_MEMORY_MOMENTS_H
#define TACHBPF_MEMORY_MOMENTS_H

#include "formats/mlyze/mlyze_notes.h"

/* So many moments, if there are no checks. */
#define MEMORY_MOMENTS 61

/* Those from start_us to end_us, ascending, for the caller to free; NULL: out of memory. */
uint64_t *memory_moments(const struct mlyze_notes *notes, uint64_t start_us, uint64_t end_us,
			 size_t *cnt);

/*
 * What checks say of the time from start_us to end_us: the kernel's count of the process' memory,
 * resident and swapped, and of what its stacks hold.
 */
struct memory_grown {
	bool known;		/* there are two checks at least */
	double seconds;		/* from the first check to the last */
	int64_t resident;	/* bytes more at the last than at the first */
	int64_t held;
	uint64_t unchecked;	/* at the last */
};
struct memory_grown memory_grown(const struct mlyze_notes *notes, uint64_t start_us,
				 uint64_t end_us);

/*
 * How much of the growth stacks explain, in percent; < 0: the process has not grown by enough for
 * the question to make sense (64 KiB).
 */
double memory_explained(const struct memory_grown *g);

#endif
