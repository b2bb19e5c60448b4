/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * block_life.h - how long the blocks of each stack live, if allocator calls are seen in bursts
 * only; from that, how many of the blocks that look in use are in use still, not again.
 *
 * A block is watched while a burst is on, from its allocation. Its free is seen then, or it lives
 * on and is watched no longer. That is what a life table needs: S(t), the share that lives longer
 * than t. Of a block of age a that was watched for u of it, and looks in use, its own first use
 * goes on with the probability S(a) / S(u), if a free between bursts is never noticed; and looking
 * notices some: `reused` says how many freed blocks look in use nevertheless.
 *
 * Ages beyond what was watched count as the longest watched: what is turned over more slowly than
 * that counts as held.
 */
#ifndef TACHBPF_BLOCK_LIFE_H
#define TACHBPF_BLOCK_LIFE_H

#include <stdint.h>

/* Ages are in ticks of this many ns; a bin has ages from 2^(i-1) on. */
#define BLOCK_TICK_NS 10000ull
#define BLOCK_LIFE_BINS 33

struct block_life {
	uint32_t freed[BLOCK_LIFE_BINS];	/* blocks, by the time that they were watched */
	uint32_t left[BLOCK_LIFE_BINS];		/* ... of those that lived on */
	uint64_t freed_cnt;
	double survival[BLOCK_LIFE_BINS + 1];	/* S at each bin's begin; block_life_close() */
	double owed;				/* bytes to be taken off: block_life_is_over() */
	double again;				/* the caller's: bytes that are used again */
};

/* A block was freed, or is no longer watched, after this time of being watched. */
void block_life_freed(struct block_life *l, uint64_t ticks);
void block_life_left(struct block_life *l, uint64_t ticks);

/* No more blocks come: makes the table. */
void block_life_close(struct block_life *l);
/* S(t), interpolated between the bins' begins. After block_life_close(). */
double block_life_survival(const struct block_life *l, uint64_t ticks);

/*
 * The probability that a block which looks in use is in its first use. age: in the same ticks;
 * watched: of these. reused: the share of freed blocks that look in use.
 */
double block_life_first_use(const struct block_life *l, uint64_t age, uint64_t watched,
			    double reused);

/*
 * Decides for one block after the other which of them count as freed, so that the sum of their
 * bytes is right to one block. Returns true if this one does. first_use: its probability.
 */
int block_life_is_over(struct block_life *l, uint64_t bytes, double first_use);

#endif
