/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * flamegraph_times.h - when the samples of a flame graph's groups were taken: the part `times`
 * of docs/format-flamegraph.md.
 *
 * All processes must have times by one clock; else the page has none.
 */
#ifndef TACHBPF_FLAMEGRAPH_TIMES_H
#define TACHBPF_FLAMEGRAPH_TIMES_H

#include "formats/html/html_page.h"

struct flamegraph_times;

/* NULL with errno. Freed by flamegraph_times_free(). */
struct flamegraph_times *flamegraph_times_new(void);
void flamegraph_times_free(struct flamegraph_times *t);

/* The following samples are those of another process. 0 or -ENOMEM. */
int flamegraph_times_begin(struct flamegraph_times *t, const struct profile_meta *meta);
/* Add an event to a share of the call tree. 0 or -ENOMEM. */
int flamegraph_times_add(struct flamegraph_times *t, uint32_t share, const struct event *ev);

/*
 * Can flamegraph_times_join() add src to t, so that t is as if src's processes had come after its
 * own?
 */
bool flamegraph_times_fit(const struct flamegraph_times *t, const struct flamegraph_times *src);
/* Add everything in src; its share i is share + i. src is used up. 0 or -ENOMEM. */
int flamegraph_times_join(struct flamegraph_times *t, struct flamegraph_times *src,
			  uint32_t share);

/* How wide bins are, in µs; 0: there are none. */
uint64_t flamegraph_times_width_us(const struct flamegraph_times *t);
/* The one that t will be joined to has bins so wide: time_bins_widen(). */
void flamegraph_times_widen(struct flamegraph_times *t, uint64_t width_us);

/* Do times count from 1970 (UTC)? Else from the boot of the machine. */
bool flamegraph_times_utc(const struct flamegraph_times *t);
/*
 * Write the times of the shares, whose numbers are in the order of the page's groups. t may be
 * NULL: there are none.
 */
void flamegraph_times_put(struct html_data *d, const struct flamegraph_times *t,
			  const uint32_t *shares, uint32_t share_cnt);

#endif
