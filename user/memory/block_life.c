// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* block_life.c - see block_life.h. A bin's hazard is frees by the time that blocks were in it. */
#include "memory/block_life.h"

#include <math.h>

/* Fewer blocks say nothing about a bin. */
#define WATCHED_LEAST 16
/* Of blocks that are freed and looked at, so many more are taken to look in use. */
#define REUSED_PRIOR 4

static unsigned int bin_of(uint64_t ticks)
{
	unsigned int bin = ticks ? 64 - (unsigned int)__builtin_clzll(ticks) : 0;

	return bin < BLOCK_LIFE_BINS ? bin : BLOCK_LIFE_BINS - 1;
}

static double begin_of(unsigned int bin)
{
	return bin ? (double)(1ull << (bin - 1)) : 0;
}

static double width_of(unsigned int bin)
{
	return begin_of(bin + 1) - begin_of(bin);
}

static void count_block(struct block_life *l, uint32_t *cnt, uint64_t ticks)
{
	unsigned int bin = bin_of(ticks);

	cnt[bin] += cnt[bin] != UINT32_MAX;
	/* A free in the first tick happened somewhere in it. */
	l->ticks[bin] += ticks ? ticks - (uint64_t)begin_of(bin) : 1;
}

void block_life_freed(struct block_life *l, uint64_t ticks)
{
	count_block(l, l->freed, ticks);
	l->freed_cnt++;
}

void block_life_left(struct block_life *l, uint64_t ticks)
{
	count_block(l, l->left, ticks);
}

void block_life_goes_on(struct block_life *l, uint64_t ticks)
{
	unsigned int bin = bin_of(ticks);

	l->left[bin] -= l->left[bin] != 0;
	l->ticks[bin] -= ticks ? ticks - (uint64_t)begin_of(bin) : 1;
}

void block_life_close(struct block_life *l)
{
	double beyond = 0, time;
	int i;

	l->known = 0;
	l->doubtful = 0;
	for (i = BLOCK_LIFE_BINS - 1; i >= 0; i--) {
		time = (double)l->ticks[i] + beyond * width_of((unsigned int)i);
		l->hazards[i] = time > 0 ? l->freed[i] / time : 0;
		if (time > 0 && l->hazards[i] * width_of((unsigned int)i) > 50)
			l->hazards[i] = 50 / width_of((unsigned int)i);
		beyond += (double)l->freed[i] + l->left[i];
		if (!l->known && beyond >= WATCHED_LEAST)
			l->known = (uint32_t)i + 1;
	}
}

/* The hazard of a bin in which too few were watched. */
static double hazard_beyond(const struct block_life *l, unsigned int bin)
{
	double last = l->known ? l->hazards[l->known - 1] : 0;
	double before = l->known > 1 ? l->hazards[l->known - 2] : 0, change;

	if (last <= 0)
		return 0;
	change = before > last ? last / before : 1;
	return last * pow(change, bin - (l->known - 1));
}

/* Minus the logarithm of S(t). */
static double cumulated(const struct block_life *l, uint64_t ticks, bool at_most)
{
	double sum = 0, hazard, part;
	unsigned int i, last = bin_of(ticks);

	for (i = 0; i <= last; i++) {
		hazard = i < l->known ? l->hazards[i] : at_most ? 0 : hazard_beyond(l, i);
		part = i < last ? width_of(i) : (double)ticks - begin_of(i);
		sum += hazard * part;
	}
	return sum;
}

/* The share of freed blocks that look in use; 1 until some were looked at. */
static double reused_share(const struct block_life *l)
{
	return ((double)l->used + REUSED_PRIOR) / ((double)l->looked + REUSED_PRIOR);
}

double block_life_first_use(const struct block_life *l, uint64_t age, uint64_t watched,
			    bool at_most)
{
	double reused = reused_share(l), lives;

	if (age <= watched)
		return 1;
	lives = exp(cumulated(l, watched, at_most) - cumulated(l, age, at_most));
	return lives / (lives + (1 - lives) * reused);
}

bool block_life_is_over(struct block_life *l, uint64_t bytes, double first_use)
{
	l->owed += (double)bytes * (1 - first_use);
	if (l->owed * 2 < (double)bytes)
		return false;
	l->owed -= (double)bytes;
	return true;
}
