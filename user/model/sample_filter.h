/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sample_filter.h - selects the samples of profiles that a command uses: the stage between a reader
 * and the consumer of its events.
 *
 * All conditions must match. Memory grows with the tables, not with the samples.
 */
#ifndef TACHBPF_SAMPLE_FILTER_H
#define TACHBPF_SAMPLE_FILTER_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/event.h"

struct named_service;
struct profile_region;
struct service_map;

/* A time: relative to the profile's start, or of CLOCK_MONOTONIC. */
struct sample_filter_time {
	bool given, absolute;
	uint64_t us;
};

struct sample_filter_options {
	uint64_t *threads;		/* thread_cnt of them; none: all threads */
	size_t thread_cnt;
	const char **processes;		/* pids or comm globs, process_cnt
					 * of them; none: all processes */
	size_t process_cnt;
	const char **services;		/* globs (named_service_matches()), service_cnt of them;
					 * none: all services */
	size_t service_cnt;
	uint8_t status_set;		/* bits that must be 1 */
	uint8_t status_clear;		/* bits that must be 0 */
	struct sample_filter_time from, to;	/* to: the first time that is not included */
	regex_t *focus;			/* a frame must match; NULL: no condition */
	regex_t *ignore;		/* no frame may match; NULL: no condition */
};
void sample_filter_options_free(struct sample_filter_options *o);

/* Returns true if there are no conditions. */
bool sample_filter_is_empty(const struct sample_filter_options *o);

/* Returns true if there is a condition on time. */
bool sample_filter_has_time(const struct sample_filter_options *o);

/* Returns true if a process matches. tgid 0, comm NULL: unknown, which matches no condition. */
bool sample_filter_wants_process(const struct sample_filter_options *o, uint32_t tgid,
				 const char *comm);

/* Returns true if a service matches. NULL: unknown, which matches no condition. */
bool sample_filter_wants_service(const struct sample_filter_options *o,
				 const struct named_service *service);

/*
 * Returns true if a part of the region is of a selected thread and time, and cuts it to that; meta:
 * of its profile. Other conditions are about samples.
 */
bool sample_filter_cut_region(const struct sample_filter_options *o,
			      const struct profile_meta *meta, struct profile_region *region);

struct sample_filter;

/*
 * Returns true if the tables have the process frame of a selected process. See process_frame.h.
 * services: of these processes; NULL: unknown.
 */
bool sample_filter_wants_tables(const struct sample_filter_options *o,
				const struct profile_tables *tables,
				const struct service_map *services);

/* NULL with errno. Freed by sample_filter_free(). */
struct sample_filter *sample_filter_new(void);
void sample_filter_free(struct sample_filter *f);
/*
 * The following events are of this profile; o, meta and tables must stay valid. Drops the state of
 * the previous profile in constant time.
 */
void sample_filter_begin(struct sample_filter *f, const struct sample_filter_options *o,
			 const struct profile_meta *meta, const struct profile_tables *tables,
			 int (*on_event)(void *ctx, const struct event *ev), void *ctx);
/*
 * The profile has several processes: samples are selected by their process frames. services: as
 * above; it stays valid.
 */
void sample_filter_by_process_frames(struct sample_filter *f, const struct service_map *services);

/*
 * Passes the event on if it meets the conditions. ctx is the filter. Returns 0, or the result of
 * on_event().
 */
int sample_filter_event(void *ctx, const struct event *ev);

#endif
