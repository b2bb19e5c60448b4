/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * flamegraph.h - collects profiles for an HTML flame graph of one recording, or of two that are
 * compared.
 */
#ifndef TACHBPF_FLAMEGRAPH_H
#define TACHBPF_FLAMEGRAPH_H

#include "model/event.h"

struct flamegraph;

/* NULL with errno on failure. Free it by flamegraph_free(). */
struct flamegraph *flamegraph_new(void);
void flamegraph_free(struct flamegraph *f);

/*
 * For every process: begin, event..., end, as for a sink. This and the following functions return 0
 * or -errno.
 */
int flamegraph_begin(struct flamegraph *f, const struct profile_meta *meta,
		     const struct profile_tables *tables);
int flamegraph_event(struct flamegraph *f, const struct event *ev);
int flamegraph_end(struct flamegraph *f, const struct profile_stats *stats);

/* Writes one page that compares two collections, with a title for each. */
int flamegraph_diff(int fd, const struct flamegraph *before, const char *before_title,
		    const struct flamegraph *after, const char *after_title);

#endif
