/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * time_bins.h - when the samples of many keys were taken, in bins of time.
 *
 * All bins have the same width. Samples of one key in one bin become one entry; when there are too
 * many entries, or too many bins, bins become twice as wide. So nothing is left out, and memory
 * does not grow with samples. Knows neither threads nor stacks.
 */
#ifndef TACHBPF_TIME_BINS_H
#define TACHBPF_TIME_BINS_H

#include <stddef.h>
#include <stdint.h>

/* Entries in addition to one for each key. */
#define TIME_BINS_EXTRA (32u << 10)
/* From the first bin that has samples to the last. */
#define TIME_BINS_MAX 2048
/* Later times are treated as this one, some 146,000 years. */
#define TIME_BINS_LAST_US (UINT64_MAX >> 2)
/* Maximum initial width of bins: 1,000 s. */
#define TIME_BINS_WIDTH_US 1000000000

struct time_bins;

/*
 * The weight of a key's samples in the time from bin * width to (bin + 1) * width, bin being
 * time_bins_base() + from_base.
 */
struct time_entry {
	uint64_t weight;
	uint32_t key;
	int32_t from_base;	/* absolute value below TIME_BINS_MAX */
};

/*
 * width_us: initial width of bins, at least 1; the width of one sample, so that no bin is empty
 * only because it is narrower. Returns NULL with errno. Freed by time_bins_free().
 */
struct time_bins *time_bins_new(uint64_t width_us);
void time_bins_free(struct time_bins *t);

/*
 * Adds `weight` samples, step_us apart, the first at time_us. Keys are dense numbers from 0.
 * Returns 0; -ENOMEM.
 */
int time_bins_add(struct time_bins *t, uint32_t key, uint64_t time_us, uint64_t step_us,
		  uint64_t weight);

/*
 * Adds everything in src, which was made for bins of the same width and whose key k becomes key +
 * k: a key that is new in t. t is then as if src's samples had been added to it after its own,
 * unless either was given a weight of 0. src's bins become as wide as t's. Returns 0; -ENOMEM.
 */
int time_bins_join(struct time_bins *t, struct time_bins *src, uint32_t key);

/*
 * Widens bins to this width, if they are narrower and can have it: for a t that is to be joined to
 * one with this width. The result is the same, with fewer entries before.
 */
void time_bins_widen(struct time_bins *t, uint64_t width_us);

/* Returns the current width of bins, in µs. */
uint64_t time_bins_width_us(const struct time_bins *t);
/* Returns the number of a bin among those that have samples; it changes when bins become wider. */
uint64_t time_bins_base(const struct time_bins *t);
/*
 * Returns the entries, valid until the next time_bins_add(). Those of one key are in the order of
 * its samples, so bins of samples that were added in order ascend.
 */
const struct time_entry *time_bins_entries(const struct time_bins *t, size_t *cnt);

#endif
