/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * block_life.h - how long the blocks of each stack live, if allocator calls are seen in bursts
 * only; from that, how many of the blocks that look in use are in use still, not again.
 *
 * A block is watched while a burst is on, from its allocation. Its free is seen then, or it lives
 * on and is watched no longer. That is what a life table needs: S(t), the share that lives longer
 * than t. Of a block of age a that was watched for u of it, and looks in use, its own first use
 * goes on with the probability S(a) / S(u), if a free between bursts is never noticed; and looking
 * notices some: `used` of `looked` says how many freed blocks look in use nevertheless.
 *
 * Nobody was watched for as long as the older ones live. Beyond that the hazard, frees per block
 * and time, goes on as it changed last: where it stays the same, all are freed in the end; where it
 * falls by more than half as the age doubles, some stay.
 */
#ifndef TACHBPF_BLOCK_LIFE_H
#define TACHBPF_BLOCK_LIFE_H

#include <stdbool.h>
#include <stdint.h>

/* Ages are in ticks of this many ns; bin i has those from 2^(i-1) on. */
#define BLOCK_TICK_NS 10000ull
#define BLOCK_LIFE_BINS 40

/* Zero-initialise. */
struct block_life {
	uint32_t freed[BLOCK_LIFE_BINS];	/* blocks, by the time that they were watched */
	uint32_t left[BLOCK_LIFE_BINS];		/* ... of those that lived on */
	uint64_t ticks[BLOCK_LIFE_BINS];	/* ... what all these had of their bins */
	uint64_t freed_cnt;
	uint32_t looked, used;	/* freed blocks that were looked at; of these, looked in use */
	uint32_t listed;	/* the caller's */
	/* After block_life_close(): */
	double hazards[BLOCK_LIFE_BINS];	/* per tick */
	uint32_t known;		/* bins that enough blocks were watched in */
	double owed;		/* bytes to be taken off: block_life_is_over() */
	double again;		/* the caller's: bytes used again, in sum */
	double doubtful;	/* ... bytes that may be used again, too; 0 again after the close */
};

/* A block was freed, or is no longer watched, after this time of being watched. */
void block_life_freed(struct block_life *l, uint64_t ticks);
void block_life_left(struct block_life *l, uint64_t ticks);
/* Takes back block_life_left(): the block is watched on. */
void block_life_goes_on(struct block_life *l, uint64_t ticks);

/* Makes the table of what has been counted. */
void block_life_close(struct block_life *l);

/*
 * The probability that a block which looks in use is in its first use. age: in ticks; watched: of
 * these. at_most: if nothing was freed at ages that nobody was watched at. After
 * block_life_close().
 */
double block_life_first_use(const struct block_life *l, uint64_t age, uint64_t watched,
			    bool at_most);

/*
 * Decides for one block after the other which of them count as freed, so that the sum of their
 * bytes is right to one block. Returns true if this one does. first_use: its probability.
 */
bool block_life_is_over(struct block_life *l, uint64_t bytes, double first_use);

#endif
