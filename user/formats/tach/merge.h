/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * merge.h - joins the samples of several profiles of one process into one stream, in which every
 * thread's samples are ordered by time.
 *
 * The profiles are read twice: first to count, then side by side, so that memory only holds what
 * one profile is ahead of the others.
 */
#ifndef TACHBPF_MERGE_H
#define TACHBPF_MERGE_H

#include "formats/tach/tach_reader.h"
#include "model/event.h"
#include "model/intern.h"
#include "model/sample_filter.h"

struct merge;

/* in: the tables for the result. NULL with errno on failure. Free it by merge_free(). */
struct merge *merge_new(const struct sample_filter_options *filter, struct intern *in);
void merge_free(struct merge *m);

/*
 * Adds and counts a profile; r must outlive the merge. Returns 0 or -errno; -EBADMSG with a reason
 * in why: its samples are damaged, and only those before the damage count.
 */
int merge_add(struct merge *m, struct tach_reader *r, char *why, size_t why_size);

/*
 * The common properties of all profiles, after the last merge_add(). *warn: what differs, or NULL.
 */
void merge_meta(const struct merge *m, struct profile_meta *meta, const char **warn);
/* Sums and averages of all profiles' statistics. */
void merge_stats(const struct merge *m, struct profile_stats *stats);

/*
 * Returns 0, what on_event() returned, or -ENOMEM; -E2BIG: too much would have to be kept in
 * memory.
 */
int merge_samples(struct merge *m, int (*on_event)(void *ctx, const struct event *ev), void *ctx);

#endif
