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
 * Also collects when samples were taken and at which opcodes, for the page of one recording: before
 * the first flamegraph_begin(). The page has times if all processes give them by one clock. Returns
 * 0 or -ENOMEM.
 */
int flamegraph_collect_more(struct flamegraph *f);

/*
 * For every process: begin, event..., end, as for a sink. This and the following functions return 0
 * or -errno.
 */
int flamegraph_begin(struct flamegraph *f, const struct profile_meta *meta,
		     const struct profile_tables *tables);
int flamegraph_event(struct flamegraph *f, const struct event *ev);
int flamegraph_end(struct flamegraph *f, const struct profile_stats *stats);

/*
 * Adds everything that part has collected, as if part's processes had come after f's own. Another
 * thread may have collected part before. Both must collect the same: flamegraph_collect_more() for
 * both or for neither. part is used up, and its owner frees it. Returns 0 or -ENOMEM; 1: part does
 * not fit, and nothing was changed: f must collect its processes again.
 */
int flamegraph_join(struct flamegraph *f, struct flamegraph *part);

/* Writes what was collected as one page to fd. title may be NULL. */
int flamegraph_write(int fd, const struct flamegraph *f, const char *title);

/* Writes one page that compares two collections, with a title for each. */
int flamegraph_diff(int fd, const struct flamegraph *before, const char *before_title,
		    const struct flamegraph *after, const char *after_title);

#endif
