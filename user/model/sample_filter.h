/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sample_filter.h - which samples of which profiles a command looks at: the stage
 * between a reader and whoever consumes its events.
 *
 * All conditions must hold. Memory grows with the tables, not with the samples.
 */
#ifndef TACHBPF_SAMPLE_FILTER_H
#define TACHBPF_SAMPLE_FILTER_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/event.h"

/* A moment: since the profile's start, or of CLOCK_MONOTONIC. */
struct sample_filter_time {
	bool given, absolute;
	uint64_t us;
};

struct sample_filter_options {
	uint64_t *threads;		/* thread_cnt; none: all */
	size_t thread_cnt;
	const char **processes;		/* process ids, or comm globs; process_cnt; none: all */
	size_t process_cnt;
	uint8_t status_set;		/* bits that must be set */
	uint8_t status_clear;		/* bits that must not be */
	struct sample_filter_time from, to;	/* to is the first moment that does not count */
	regex_t *focus;			/* a frame must match; NULL: none given */
	regex_t *ignore;		/* no frame may */
};
void sample_filter_options_free(struct sample_filter_options *o);

/* Does it let everything through? */
bool sample_filter_is_empty(const struct sample_filter_options *o);

/* Does it choose by time? */
bool sample_filter_has_time(const struct sample_filter_options *o);

/* tgid 0, comm NULL: not known, which no condition accepts. */
bool sample_filter_wants_process(const struct sample_filter_options *o, uint32_t tgid,
				 const char *comm);

struct sample_filter;

/* Is one of the processes whose frames are in the tables wanted? See process_frame.h. */
bool sample_filter_wants_tables(const struct sample_filter_options *o,
				const struct profile_tables *tables);

/* For one profile; meta and tables outlive it. NULL with errno. */
struct sample_filter *sample_filter_new(const struct sample_filter_options *o,
					const struct profile_meta *meta,
					const struct profile_tables *tables,
					int (*on_event)(void *ctx, const struct event *ev),
					void *ctx);
void sample_filter_free(struct sample_filter *f);
/* The profile is of several processes: their frames decide which samples are wanted. */
void sample_filter_by_process_frames(struct sample_filter *f);

/* Hand the event on if it passes. ctx is the filter. 0, or what on_event() returned. */
int sample_filter_event(void *ctx, const struct event *ev);

#endif
