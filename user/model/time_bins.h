/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * time_bins.h - when the samples of many keys were taken, in bins of time.
 *
 * All bins are equally wide. Samples of one key in one bin become one entry; when there are too
 * many entries, or too many bins, bins become twice as wide. So nothing is left out, and memory
 * does not grow with samples. Knows neither threads nor stacks.
 */
#ifndef TACHBPF_TIME_BINS_H
#define TACHBPF_TIME_BINS_H

#include <stddef.h>
#include <stdint.h>

/* Entries beyond one for each key. */
#define TIME_BINS_EXTRA (32u << 10)
/* From the first bin that has samples to the last. */
#define TIME_BINS_MAX 2048
/* Later times count as this one, some 146,000 years. */
#define TIME_BINS_LAST_US (UINT64_MAX >> 2)
/* How wide bins are at first, at most: 1,000 s. */
#define TIME_BINS_WIDTH_US 1000000000

struct time_bins;

/*
 * The weight of a key's samples in the time from bin * width to (bin + 1) * width, bin being
 * time_bins_base() + from_base.
 */
struct time_entry {
	uint64_t weight;
	uint32_t key;
	int32_t from_base;	/* nearer to 0 than TIME_BINS_MAX */
};

/*
 * width_us: how wide bins are at first, at least 1; that of one sample, so that no bin is empty
 * only because it is narrower. NULL with errno. Freed by time_bins_free().
 */
struct time_bins *time_bins_new(uint64_t width_us);
void time_bins_free(struct time_bins *t);

/*
 * Add as many samples as weight says, step_us after each other, the first at time_us. Keys are
 * dense numbers from 0. 0; -ENOMEM.
 */
int time_bins_add(struct time_bins *t, uint32_t key, uint64_t time_us, uint64_t step_us,
		  uint64_t weight);

/*
 * Add everything in src, which was made for bins of the same width and whose key k becomes
 * key + k: no key that t has had. t is then as if src's samples had been added to it after its own,
 * if neither was given a weight of 0. src's bins become as wide as t's. 0; -ENOMEM.
 */
int time_bins_join(struct time_bins *t, struct time_bins *src, uint32_t key);

/*
 * Make bins so wide, if they are narrower and this is a width that they can have: for t which is to
 * be joined to one that has this width. The result is the same, and there are fewer entries before.
 */
void time_bins_widen(struct time_bins *t, uint64_t width_us);

/* How wide bins are now, in µs. */
uint64_t time_bins_width_us(const struct time_bins *t);
/* The number of a bin among those that have samples; it changes when bins become wider. */
uint64_t time_bins_base(const struct time_bins *t);
/*
 * The entries, valid until the next time_bins_add(). Those of one key are in the order of its
 * samples, so bins of samples that were added in order ascend.
 */
const struct time_entry *time_bins_entries(const struct time_bins *t, size_t *cnt);

#endif
