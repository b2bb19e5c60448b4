/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * flamegraph.h - profiles collected for an HTML flame graph, of one recording
 * or of two that are compared.
 */
#ifndef TACHBPF_FLAMEGRAPH_H
#define TACHBPF_FLAMEGRAPH_H

#include "model/event.h"

struct flamegraph;

/* NULL with errno. */
struct flamegraph *flamegraph_new(void);
void flamegraph_free(struct flamegraph *f);

/* For every process: begin, event..., end, as a sink has it. 0 or -errno, likewise below. */
int flamegraph_begin(struct flamegraph *f, const struct profile_meta *meta,
		     const struct profile_tables *tables);
int flamegraph_event(struct flamegraph *f, const struct event *ev);
int flamegraph_end(struct flamegraph *f, const struct profile_stats *stats);

/* What was collected as one page. title may be NULL. */
int flamegraph_write(int fd, const struct flamegraph *f, const char *title);

/* One page that compares what was collected; the titles tell the two apart. */
int flamegraph_diff(int fd, const struct flamegraph *before, const char *before_title,
		    const struct flamegraph *after, const char *after_title);

#endif
