// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * block_life.c - see block_life.h. The actuarial method: who leaves in a bin was in half of it; within
 * a bin, equally many are freed at each time.
 */
#include "memory/block_life.h"

static unsigned int bin_of(uint64_t ticks)
{
	unsigned int bin = ticks ? 64 - (unsigned int)__builtin_clzll(ticks) : 0;

	return bin < BLOCK_LIFE_BINS ? bin : BLOCK_LIFE_BINS - 1;
}

static double begin_of(unsigned int bin)
{
	return bin ? (double)(1ull << (bin - 1)) : 0;
}

static void count_block(uint32_t *cnt)
{
	*cnt += *cnt != UINT32_MAX;
}

void block_life_freed(struct block_life *l, uint64_t ticks)
{
	count_block(&l->freed[bin_of(ticks)]);
	l->freed_cnt++;
}

void block_life_left(struct block_life *l, uint64_t ticks)
{
	count_block(&l->left[bin_of(ticks)]);
}

void block_life_close(struct block_life *l)
{
	double at_risk = 0, died;
	unsigned int i;

	for (i = 0; i < BLOCK_LIFE_BINS; i++)
		at_risk += (double)l->freed[i] + l->left[i];
	l->survival[0] = 1;
	for (i = 0; i < BLOCK_LIFE_BINS; i++) {
		died = at_risk - l->left[i] / 2.0;
		died = died > 0 ? l->freed[i] / died : 0;
		l->survival[i + 1] = l->survival[i] * (died < 1 ? 1 - died : 0);
		at_risk -= (double)l->freed[i] + l->left[i];
	}
}

double block_life_survival(const struct block_life *l, uint64_t ticks)
{
	unsigned int bin = bin_of(ticks);
	double from = begin_of(bin), part = ((double)ticks - from) / (begin_of(bin + 1) - from);
	double first = l->survival[bin], last = l->survival[bin + 1];

	if (part > 1)	/* the last bin */
		part = 1;
	return first + (last - first) * part;
}

double block_life_first_use(const struct block_life *l, uint64_t age, uint64_t watched,
			    double reused)
{
	double then = block_life_survival(l, watched), now = block_life_survival(l, age), lives;

	if (age <= watched || then <= 0)
		return 1;
	lives = now / then;
	if (lives >= 1)
		return 1;
	return lives + (1 - lives) * reused > 0 ? lives / (lives + (1 - lives) * reused) : 1;
}

int block_life_is_over(struct block_life *l, uint64_t bytes, double first_use)
{
	l->owed += (double)bytes * (1 - first_use);
	if (l->owed * 2 < (double)bytes)
		return 0;
	l->owed -= (double)bytes;
	return 1;
}
