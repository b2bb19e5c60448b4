/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* read_cost.h - what read_cost.bpf.c and read_cost.c share. */
#ifndef TACHBPF_READ_COST_H
#define TACHBPF_READ_COST_H

#define READS 32		/* of each kind in a run */
#define RUNS_MAX 4096		/* that are noted; a power of two */

#define READ_LARGEST 2048	/* bytes that one read takes */

/* Objects like frames and code objects of 3.8: what a walk reads of each, and their distance. */
#define OBJECT_BYTES 88
#define OBJECT_APART 576
#define OBJECTS 256

enum read_kind {
	READ_WARM,		/* one cache line again and again */
	READ_COLD,		/* a line that nobody has read for long */
	/* So many bytes again and again, which the program looks at: */
	READ_WARM_8,
	READ_WARM_64,
	READ_WARM_128,
	READ_WARM_352,
	READ_WARM_2048,
	READ_OBJECTS,		/* the next of 256 objects in random order, OBJECT_BYTES of it */
	READ_OBJECTS_WORD,	/* only its first word */
	READ_OBJECTS_AHEAD,	/* first a word of it, then OBJECT_BYTES: counted as one read */
	READ_NONE,		/* no reads but steps: what a program does besides */
	READ_KINDS,
};

/* Where the next read of each kind is: each line holds the address of the next. And the times. */
struct read_state {
	unsigned long long next[READ_KINDS];
	unsigned int runs;
	unsigned int failed;	/* reads of memory that was not there */
	unsigned int ns[RUNS_MAX][READ_KINDS];	/* of READS reads */
	unsigned char bytes[READ_LARGEST];	/* what was read last */
};

#endif
