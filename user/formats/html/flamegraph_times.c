// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* flamegraph_times.c - see flamegraph_times.h. Chooses the clock; model/time_bins.h counts. */
#include "formats/html/flamegraph_times.h"

#include <errno.h>
#include <stdlib.h>

#include "model/time_bins.h"

/* With fewer bins, because they had to become so wide, there is nothing to choose: no times. */
#define BINS_MIN 8

enum clock { CLOCK_NONE_YET, CLOCK_OF_BOOT, CLOCK_UTC, CLOCK_UNKNOWN };

struct flamegraph_times {
	struct time_bins *bins;		/* NULL: there are no samples, or they have no times */
	enum clock clock;
	uint64_t offset_us;		/* from the process's times to the page's */
	uint64_t interval_us;
	uint64_t narrowest_us;		/* width of the bins at first */
	bool nothing;			/* there was an event of weight 0 */
};

struct flamegraph_times *flamegraph_times_new(void)
{
	return calloc(1, sizeof(struct flamegraph_times));
}

void flamegraph_times_free(struct flamegraph_times *t)
{
	if (!t)
		return;
	time_bins_free(t->bins);
	free(t);
}

/* A file without times of samples begins at 0: formats/thread_clocks.h. */
static enum clock clock_of(const struct profile_meta *meta)
{
	if (meta->unit != UNIT_SAMPLES || !meta->interval_us || !meta->start_us)
		return CLOCK_UNKNOWN;
	return meta->start_utc_ns ? CLOCK_UTC : CLOCK_OF_BOOT;
}

static void set_unknown(struct flamegraph_times *t)
{
	t->clock = CLOCK_UNKNOWN;
	time_bins_free(t->bins);
	t->bins = NULL;
}

int flamegraph_times_begin(struct flamegraph_times *t, const struct profile_meta *meta)
{
	enum clock clock = clock_of(meta);

	t->interval_us = meta->interval_us;
	t->offset_us = clock == CLOCK_UTC ? meta->start_utc_ns / 1000 - meta->start_us : 0;
	if (clock == CLOCK_UNKNOWN || (t->clock != CLOCK_NONE_YET && t->clock != clock)) {
		set_unknown(t);
	} else if (t->clock == CLOCK_NONE_YET) {
		t->bins = time_bins_new(meta->interval_us);
		if (!t->bins)
			return -ENOMEM;
		t->narrowest_us = time_bins_width_us(t->bins);
		t->clock = clock;
	}
	return 0;
}

int flamegraph_times_add(struct flamegraph_times *t, uint32_t share, const struct event *ev)
{
	if (!t->bins)
		return 0;
	if (!ev->weight) {
		t->nothing = true;
		return 0;
	}
	return time_bins_add(t->bins, share, ev->time_us + t->offset_us, t->interval_us,
			     ev->weight);
}

bool flamegraph_times_fit(const struct flamegraph_times *t, const struct flamegraph_times *src)
{
	if (!t->bins || !src->bins || t->clock != src->clock)
		return true;
	return t->narrowest_us == src->narrowest_us && !t->nothing && !src->nothing;
}

int flamegraph_times_join(struct flamegraph_times *t, struct flamegraph_times *src,
			  uint32_t share)
{
	struct flamegraph_times none = *t;

	if (src->clock == CLOCK_NONE_YET)
		return 0;
	if (t->clock == CLOCK_NONE_YET && !share) {
		*t = *src;
		*src = none;
		return 0;
	}
	if (t->clock == src->clock && t->bins)
		return time_bins_join(t->bins, src->bins, share);
	set_unknown(t);
	return 0;
}

uint64_t flamegraph_times_width_us(const struct flamegraph_times *t)
{
	return t->bins ? time_bins_width_us(t->bins) : 0;
}

void flamegraph_times_widen(struct flamegraph_times *t, uint64_t width_us)
{
	if (t->bins)
		time_bins_widen(t->bins, width_us);
}

/* The first and the last bin that have samples. */
static void find_span(const struct time_bins *bins, uint64_t *first, uint64_t *last)
{
	int32_t lowest = INT32_MAX, highest = INT32_MIN;
	const struct time_entry *entries;
	size_t cnt, i;

	entries = time_bins_entries(bins, &cnt);
	for (i = 0; i < cnt; i++) {
		lowest = entries[i].from_base < lowest ? entries[i].from_base : lowest;
		highest = entries[i].from_base > highest ? entries[i].from_base : highest;
	}
	*first = cnt ? time_bins_base(bins) + (uint64_t)(int64_t)lowest : 0;
	*last = cnt ? time_bins_base(bins) + (uint64_t)(int64_t)highest : 0;
}

static bool are_useful(const struct flamegraph_times *t)
{
	uint64_t first, last;

	if (!t || !t->bins)
		return false;
	find_span(t->bins, &first, &last);
	return last - first + 1 >= BINS_MIN || time_bins_width_us(t->bins) == t->narrowest_us;
}

bool flamegraph_times_utc(const struct flamegraph_times *t)
{
	return are_useful(t) && t->clock == CLOCK_UTC;
}

/* The entries by key: those of key k are order[first[k]] to order[first[k + 1] - 1]. */
struct by_key {
	uint32_t *first, *order;
};

static void free_by_key(struct by_key *b)
{
	free(b->first);
	free(b->order);
}

static bool sort_by_key(struct by_key *b, const struct time_entry *entries, size_t cnt,
			uint32_t key_cnt)
{
	size_t i;

	b->first = calloc((size_t)key_cnt + 2, sizeof(*b->first));
	b->order = calloc(cnt + 1, sizeof(*b->order));
	if (!b->first || !b->order) {
		free_by_key(b);
		return false;
	}
	for (i = 0; i < cnt; i++)
		b->first[entries[i].key + 2]++;
	for (i = 2; i < (size_t)key_cnt + 2; i++)
		b->first[i] += b->first[i - 1];
	for (i = 0; i < cnt; i++)
		b->order[b->first[entries[i].key + 1]++] = (uint32_t)i;
	return true;
}

static void put_columns(struct html_data *d, const struct by_key *b,
			const struct time_entry *entries, int32_t first_bin,
			const uint32_t *shares, uint32_t share_cnt)
{
	uint32_t i, k;

	for (i = 0; i < share_cnt; i++)
		html_varint(d, b->first[shares[i] + 1] - b->first[shares[i]]);
	for (i = 0; i < share_cnt; i++) {
		int32_t last = first_bin;

		for (k = b->first[shares[i]]; k < b->first[shares[i] + 1]; k++) {
			html_svarint(d, entries[b->order[k]].from_base - last);
			last = entries[b->order[k]].from_base;
		}
	}
	/* The last weight of a group is the remainder of the group's. */
	for (i = 0; i < share_cnt; i++)
		for (k = b->first[shares[i]]; k + 1 < b->first[shares[i] + 1]; k++)
			html_varint(d, entries[b->order[k]].weight);
}

void flamegraph_times_put(struct html_data *d, const struct flamegraph_times *t,
			  const uint32_t *shares, uint32_t share_cnt)
{
	struct by_key b = { 0 };
	const struct time_entry *entries;
	uint64_t first_bin, last_bin;
	size_t cnt;

	if (!are_useful(t)) {
		html_varint(d, 0);
		return;
	}
	entries = time_bins_entries(t->bins, &cnt);
	find_span(t->bins, &first_bin, &last_bin);
	if (!sort_by_key(&b, entries, cnt, share_cnt)) {
		d->err = -ENOMEM;
		return;
	}
	html_varint(d, time_bins_width_us(t->bins));
	html_varint(d, first_bin);
	html_varint(d, cnt);
	put_columns(d, &b, entries, (int32_t)(first_bin - time_bins_base(t->bins)), shares,
		    share_cnt);
	free_by_key(&b);
}
