// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * time_bins.c - see time_bins.h. Entries are in the order in which they were begun. A key's last
 * entry is remembered, and so is the bin of the last sample: usually a sample costs one addition.
 */
#include "model/time_bins.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/util.h"

#define NONE UINT32_MAX
#define NO_BIN INT32_MIN

struct time_bins {
	struct buf entries;	/* struct time_entry */
	struct buf last;	/* uint32_t by key: its last entry, or NONE */
	uint64_t width_us;
	/* Times of the first and last sample, or others in their bins. */
	uint64_t first_us, last_us;
	uint64_t base;			/* the first sample's bin, to which entries are relative */
	uint64_t bin_us;		/* when the last sample's bin begins */
	int32_t bin;			/* its number relative to base, or NO_BIN */
};

static struct time_entry *entries_of(const struct time_bins *t)
{
	return (struct time_entry *)(void *)t->entries.data;
}

static uint32_t *last_of(const struct time_bins *t)
{
	return (uint32_t *)(void *)t->last.data;
}

struct time_bins *time_bins_new(uint64_t width_us)
{
	struct time_bins *t = calloc(1, sizeof(*t));

	if (t) {
		t->width_us = width_us < TIME_BINS_WIDTH_US ? width_us : TIME_BINS_WIDTH_US;
		t->first_us = UINT64_MAX;
	}
	return t;
}

void time_bins_free(struct time_bins *t)
{
	if (!t)
		return;
	buf_free(&t->entries);
	buf_free(&t->last);
	free(t);
}

/* Adds to the key's last entry, or begins a new one, for which there is room. */
static size_t put_entry(struct time_bins *t, size_t cnt, const struct time_entry *e)
{
	struct time_entry *entries = entries_of(t);
	uint32_t *last = &last_of(t)[e->key];

	if (*last != NONE && entries[*last].from_base == e->from_base) {
		entries[*last].weight = add_capped(entries[*last].weight, e->weight);
		return cnt;
	}
	entries[cnt] = *e;
	*last = (uint32_t)cnt;
	return cnt + 1;
}

/* Makes bins 2^times as wide, in place: an entry never moves up. */
static void widen_bins(struct time_bins *t, unsigned int times)
{
	size_t cnt = t->entries.len / sizeof(struct time_entry), keys, i, n = 0;
	uint64_t base = t->base >> times;

	keys = t->last.len / sizeof(uint32_t);
	for (i = 0; i < keys; i++)
		last_of(t)[i] = NONE;
	for (i = 0; i < cnt; i++) {
		struct time_entry e = entries_of(t)[i];
		uint64_t bin = t->base + (uint64_t)(int64_t)e.from_base;

		e.from_base = (int32_t)((bin >> times) - base);
		n = put_entry(t, n, &e);
	}
	t->width_us <<= times;
	t->base = base;
	t->bin = NO_BIN;
	t->entries.len = n * sizeof(struct time_entry);
}

/* A width of 2^62 µs, which cannot overflow, is enough for all times. */
static void fit_span(struct time_bins *t, uint64_t from_us, uint64_t to_us)
{
	if (from_us < t->first_us)
		t->first_us = from_us;
	if (to_us > t->last_us)
		t->last_us = to_us;
	while (t->last_us / t->width_us - t->first_us / t->width_us >= TIME_BINS_MAX)
		widen_bins(t, 1);
	if (!t->entries.len)
		t->base = from_us / t->width_us;
}

/* Returns the number, relative to base, of the bin of a time that fit_span() has seen. */
static int32_t from_base(const struct time_bins *t, uint64_t time_us)
{
	return (int32_t)(time_us / t->width_us - t->base);
}

static int add_key(struct time_bins *t, uint32_t key)
{
	const uint32_t none = NONE;

	while (key >= t->last.len / sizeof(none))
		if (buf_add(&t->last, &none, sizeof(none)))
			return -ENOMEM;
	return 0;
}

static int add_entry(struct time_bins *t, const struct time_entry *e)
{
	size_t cnt = t->entries.len / sizeof(*e);

	if (buf_reserve(&t->entries, sizeof(*e)))
		return -ENOMEM;
	t->entries.len = put_entry(t, cnt, e) * sizeof(*e);
	return 0;
}

/* Each key has at least one entry, so the existing entries fit at some width. */
static void fit_entries(struct time_bins *t)
{
	size_t keys = t->last.len / sizeof(uint32_t);

	while (t->entries.len / sizeof(struct time_entry) > TIME_BINS_EXTRA + keys &&
	       t->last_us / t->width_us != t->first_us / t->width_us)
		widen_bins(t, 1);
}

/* Adds a sample to its key's last entry, if that and the sample are in the last sample's bin. */
static inline bool add_again(struct time_bins *t, uint32_t key, uint64_t time_us)
{
	struct time_entry *e;

	if (time_us - t->bin_us >= t->width_us || key >= t->last.len / sizeof(uint32_t) ||
	    last_of(t)[key] == NONE)
		return false;
	e = &entries_of(t)[last_of(t)[key]];
	if (e->from_base != t->bin)
		return false;
	e->weight = add_capped(e->weight, 1);
	return true;
}

/* Not inline: few samples come here, and the others need not save registers. */
static __attribute__((noinline)) int add_samples(struct time_bins *t, uint32_t key,
						 uint64_t time_us, uint64_t step_us,
						 uint64_t weight)
{
	uint64_t end_us = add_capped(time_us, mul_capped(step_us, weight ? weight - 1 : 0));
	int err = add_key(t, key);

	if (err)
		return err;
	if (time_us > TIME_BINS_LAST_US)
		time_us = TIME_BINS_LAST_US;
	if (!step_us || end_us > TIME_BINS_LAST_US)
		end_us = time_us;
	fit_span(t, time_us, end_us);
	while (!err && weight) {
		struct time_entry e = { weight, key, from_base(t, time_us) };
		uint64_t left_us = t->width_us - time_us % t->width_us, fit;

		fit = end_us == time_us ? weight : (left_us + step_us - 1) / step_us;
		e.weight = fit < weight ? fit : weight;
		err = add_entry(t, &e);
		weight -= e.weight;
		time_us += weight ? e.weight * step_us : 0;
	}
	fit_entries(t);
	t->bin = from_base(t, time_us);
	t->bin_us = time_us / t->width_us * t->width_us;
	return err;
}

int time_bins_add(struct time_bins *t, uint32_t key, uint64_t time_us, uint64_t step_us,
		  uint64_t weight)
{
	if (weight == 1 && add_again(t, key, time_us))
		return 0;
	return add_samples(t, key, time_us, step_us, weight);
}

/* Returns how often the width of t's bins must be doubled to reach this width. */
static unsigned int doublings_to(const struct time_bins *t, uint64_t width_us)
{
	unsigned int times = 0;

	while (t->width_us << times < width_us)
		times++;
	return times;
}

/* Appends to t's entries, whose bins have the same width; there is room. */
static void append_entries(struct time_bins *t, const struct time_bins *src, uint32_t key)
{
	size_t cnt = src->entries.len / sizeof(struct time_entry), i;
	uint32_t first = (uint32_t)(t->entries.len / sizeof(struct time_entry));
	struct time_entry *to = entries_of(t) + first;

	for (i = 0; i < cnt; i++) {
		to[i] = entries_of(src)[i];
		to[i].key += key;
		to[i].from_base += (int32_t)(src->base - t->base);
		last_of(t)[to[i].key] = first + (uint32_t)i;
	}
	t->entries.len += cnt * sizeof(*to);
}

/*
 * The final width of bins does not depend on the order of samples: each sample adds at least as
 * many entries as keys, and only extends the time from the first to the last.
 */
int time_bins_join(struct time_bins *t, struct time_bins *src, uint32_t key)
{
	size_t keys = src->last.len / sizeof(uint32_t);

	if (!keys)
		return 0;
	if (buf_reserve(&t->entries, src->entries.len) || add_key(t, key + (uint32_t)keys - 1))
		return -ENOMEM;
	if (t->width_us < src->width_us)
		widen_bins(t, doublings_to(t, src->width_us));
	fit_span(t, src->first_us, src->last_us);
	if (src->width_us < t->width_us)
		widen_bins(src, doublings_to(src, t->width_us));
	append_entries(t, src, key);
	fit_entries(t);
	return 0;
}

void time_bins_widen(struct time_bins *t, uint64_t width_us)
{
	unsigned int times = width_us <= TIME_BINS_LAST_US ? doublings_to(t, width_us) : 0;

	if (times && t->width_us << times == width_us)
		widen_bins(t, times);
}

uint64_t time_bins_width_us(const struct time_bins *t)
{
	return t->width_us;
}

uint64_t time_bins_base(const struct time_bins *t)
{
	return t->base;
}

const struct time_entry *time_bins_entries(const struct time_bins *t, size_t *cnt)
{
	*cnt = t->entries.len / sizeof(struct time_entry);
	return entries_of(t);
}
