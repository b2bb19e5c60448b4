/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * estimate.h - sums over all units of a heap, for many types at once, from a random sample of the
 * units: stratified by kinds of units, each unit a cluster of objects.
 *
 * Estimates are unbiased. Errors are half-widths of 95 % intervals: from the differences between
 * units, and for types that were seen in few units not less than that number allows to say.
 */
#ifndef TACHBPF_HEAP_ESTIMATE_H
#define TACHBPF_HEAP_ESTIMATE_H

#include "heap/units.h"

struct estimate;

struct estimate_sum {
	double objects, bytes, owned;	/* owned: a part of bytes */
};
struct estimate_figure {
	double objects, objects_error, bytes, bytes_error, owned;
};

/*
 * rows: number of sums. cnt: units of each stratum, each of which stands for `scale` ones, see
 * heap_units. NULL: out of memory.
 */
struct estimate *estimate_new(uint32_t rows, const uint32_t cnt[HEAP_STRATA], double scale);
void estimate_free(struct estimate *e);

/* The next sampled unit: estimate_add() adds to it, estimate_end() ends it; or it is dropped. */
void estimate_begin(struct estimate *e);
void estimate_add(struct estimate *e, uint32_t row, struct estimate_sum sum);
/* 0; -ENOMEM: the unit does not count. */
int estimate_end(struct estimate *e, uint32_t stratum);

/* Add what is known for sure, beside the sample. */
void estimate_certain(struct estimate *e, uint32_t row, struct estimate_sum sum);

/* Number of units so far, of a stratum, and of all. */
uint32_t estimate_units(const struct estimate *e, uint32_t stratum);
uint64_t estimate_all_units(const struct estimate *e);

void estimate_figure(const struct estimate *e, uint32_t row, struct estimate_figure *out);

/*
 * How much a stratum's units differ: the standard deviation of their bytes, over all rows. Further
 * units should be taken in proportion to it and to their number.
 */
double estimate_spread(const struct estimate *e, uint32_t stratum);

#endif
