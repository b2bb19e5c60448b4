/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* read_cost.h - what read_cost.bpf.c and read_cost.c share. */
#ifndef TACHBPF_READ_COST_H
#define TACHBPF_READ_COST_H

#define READS 32		/* of each kind in a run */
#define RUNS_MAX 4096		/* that are noted */

enum read_kind {
	READ_WARM,		/* one cache line again and again */
	READ_COLD,		/* a line that nobody has read for long */
	READ_KINDS,
};

/* Where the next read of each kind is: each line holds the address of the next. And the times. */
struct read_state {
	unsigned long long next[READ_KINDS];
	unsigned int runs;
	unsigned int failed;	/* reads of memory that was not there */
	unsigned int ns[RUNS_MAX][READ_KINDS];	/* of READS reads */
};

#endif
