/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reader.h - everything that can be read as a profile, behind one interface.
 *
 * A file holds one or several profiles (processes; what counts different
 * things), and one of them at a time is selected: its info and events are what
 * the other calls are about. Tables are complete when a reader is open. Every
 * file is hostile; what a reader hands out is safe for sinks.
 */
#ifndef TACHBPF_READER_H
#define TACHBPF_READER_H

#include "model/event.h"

struct describe;
struct input;
struct reader;

/* What of a file is read as weights, where there is a choice. */
enum reader_value {
	VALUE_DEFAULT,		/* what the file counts; of memory: what is live at the end */
	VALUE_LIVE,		/* bytes allocated and not freed when the file ends */
	VALUE_ALLOCATED,	/* bytes allocated, freed or not */
	VALUE_PEAK,		/* bytes live when most were */
	VALUE_SAMPLES,		/* time as samples, one every interval */
};

struct reader_args {
	const char *format;	/* --input-format NAME; NULL: by what the file holds */
	enum reader_value value;
};

/* Of the selected profile. */
struct reader_info {
	struct profile_meta meta;	/* tgid and comm only if the file says so */
	struct profile_stats stats;
	bool timed;			/* events' times mean something, not only their order */
	uint64_t event_cnt;
	uint64_t weight_sum;		/* of all events, in meta.unit */
	uint64_t truncated_cnt;		/* stacks deeper than EVENT_MAX_FRAMES */
	uint64_t file_size;
	struct string_ref name;		/* what the file calls it; hostile; len 0: nothing */
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
	struct input *input;		/* readers.c's */
	enum reader_value value;	/* likewise */
	bool resample;			/* likewise: time is delivered as samples */
};

#endif
