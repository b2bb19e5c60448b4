/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reader.h - one interface to everything that can be read as a profile.
 *
 * A file has one or several profiles (of several processes, or with different units). One of them
 * is selected at a time; its info and events are what the other calls return. The tables are
 * complete when a reader is open. Every file is hostile; what a reader delivers is safe for sinks.
 */
#ifndef TACHBPF_READER_H
#define TACHBPF_READER_H

#include "model/event.h"

struct describe;
struct input;
struct reader;

/* Which of several values in a file becomes the weight of an event. */
enum reader_value {
	VALUE_DEFAULT,		/* the file's own value; for memory: bytes live at the end */
	VALUE_LIVE,		/* bytes allocated and not freed when the file ends */
	VALUE_ALLOCATED,	/* bytes allocated, freed or not */
	VALUE_PEAK,		/* bytes live when they were most */
	VALUE_SAMPLES,		/* time as samples, one for each interval */
	VALUE_BOTH,		/* bytes allocated; those that are live have STATUS_HELD. Files that
				 * have no allocations: their default */
};

struct reader_args {
	const char *format;	/* --input-format NAME; NULL: found by the file's content */
	enum reader_value value;
	/*
	 * Of memory: what is live just before this moment, instead of at the file's end; what comes
	 * later is left out. In µs since the file's start or, if absolute, in its own clock.
	 */
	bool until_given, until_absolute;
	uint64_t until_us;
};

/* Limit of reader_info.weight_sum: larger sums mean nothing, and could overflow. */
#define WEIGHT_SUM_MAX ((uint64_t)INT64_MAX)

/* About the selected profile. */
struct reader_info {
	struct profile_meta meta;	/* tgid and comm only if the file says so */
	struct profile_stats stats;
	bool timed;			/* events have true times, not only an order */
	uint64_t event_cnt;
	uint64_t weight_sum;		/* of all events, in meta.unit */
	uint64_t truncated_cnt;		/* stacks deeper than EVENT_MAX_FRAMES */
	uint64_t file_size;
	struct string_ref name;		/* the profile's name in the file; any bytes; len 0: none */
};

typedef int (*reader_event_fn)(void *ctx, const struct event *ev);

struct reader_ops {
	const char *name;	/* --input-format NAME */
	const char *help;	/* one line */
	/* Do the bytes look like this format? Only one format may say yes. */
	bool (*probe)(const struct input *in);
	/* NULL with errno and a reason in why. in stays valid until free(). */
	struct reader *(*open)(const struct input *in, const struct reader_args *args, char *why,
			       size_t why_size);
	/* Make the i-th profile the one. NULL: there is one only. */
	void (*select)(struct reader *r, uint32_t i);
	int (*run)(struct reader *r, reader_event_fn on_event, void *ctx, char *why,
		   size_t why_size);
	/* What else the file says about itself. Optional. */
	void (*describe)(const struct reader *r, struct describe *d);
	void (*free)(struct reader *r);
};

/* Every reader embeds this first. */
struct reader {
	const struct reader_ops *ops;
	struct reader_info info;
	const struct profile_tables *tables;
	uint32_t profile_cnt;
	struct input *input;		/* set by readers.c */
	enum reader_value value;	/* set by readers.c */
	bool resample;			/* set by readers.c: time is delivered as samples */
	unsigned int takes;		/* set by readers.c: enum event_takes */
};

#endif
