/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory_moments.h - the moments of a .mlyze file at which rows are compared: the times when
 * tachbpf checked which pages still existed or, in files without such checks, regular times.
 */
#ifndef TACHBPF_MEMORY_MOMENTS_H
#define TACHBPF_MEMORY_MOMENTS_H

#include "formats/mlyze/mlyze_notes.h"

/* The number of moments without checks. */
#define MEMORY_MOMENTS 61

/* Returns those from start_us to end_us, ascending, which the caller frees; NULL: out of memory. */
uint64_t *memory_moments(const struct mlyze_notes *notes, uint64_t start_us, uint64_t end_us,
			 size_t *cnt);

/*
 * Growth between the checks from start_us to end_us: the kernel's count of the process's memory,
 * resident and swapped, and the memory that its stacks hold.
 */
struct memory_grown {
	bool known;		/* there are at least two checks */
	double seconds;		/* from the first check to the last */
	int64_t resident;	/* bytes more at the last than at the first */
	int64_t held;
	uint64_t unchecked;	/* at the last */
};
struct memory_grown memory_grown(const struct mlyze_notes *notes, uint64_t start_us,
				 uint64_t end_us);

/*
 * Returns the percentage of the growth that stacks explain; < 0: the process has grown too little
 * for a meaningful answer (64 KiB).
 */
double memory_explained(const struct memory_grown *g);

#endif
