/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * flamegraph_times.h - when the samples of a flame graph's groups were taken: the part `times` of
 * docs/format-flamegraph.md.
 *
 * All processes must have times by one clock; else the page has none.
 */
#ifndef TACHBPF_FLAMEGRAPH_TIMES_H
#define TACHBPF_FLAMEGRAPH_TIMES_H

#include "formats/html/html_page.h"

struct flamegraph_times;

/* NULL with errno on failure. Free it by flamegraph_times_free(). */
struct flamegraph_times *flamegraph_times_new(void);
void flamegraph_times_free(struct flamegraph_times *t);

/* The following samples are those of another process. Returns 0 or -ENOMEM. */
int flamegraph_times_begin(struct flamegraph_times *t, const struct profile_meta *meta);
/* Adds an event to a share of the call tree. Returns 0 or -ENOMEM. */
int flamegraph_times_add(struct flamegraph_times *t, uint32_t share, const struct event *ev);

/*
 * Returns true if flamegraph_times_join() can add src to t as if src's processes had come after t's
 * own.
 */
bool flamegraph_times_fit(const struct flamegraph_times *t, const struct flamegraph_times *src);
/* Adds everything in src; its share i is share + i. src is used up. Returns 0 or -ENOMEM. */
int flamegraph_times_join(struct flamegraph_times *t, struct flamegraph_times *src,
			  uint32_t share);

/* The width of bins in µs; 0: there are none. */
uint64_t flamegraph_times_width_us(const struct flamegraph_times *t);
/* The one that t will be joined to has bins of this width: time_bins_widen(). */
void flamegraph_times_widen(struct flamegraph_times *t, uint64_t width_us);

/* Returns true if times count from 1970 (UTC), false if from the boot of the machine. */
bool flamegraph_times_utc(const struct flamegraph_times *t);
/*
 * Writes the times of the shares, whose numbers are in the order of the page's groups. t may be
 * NULL: there are none.
 */
void flamegraph_times_put(struct html_data *d, const struct flamegraph_times *t,
			  const uint32_t *shares, uint32_t share_cnt);

#endif
