/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * reader.h - one interface to everything that can be read as a profile.
 *
 * A file has one or several profiles (of several processes, or with different units). One of them
 * is selected at a time; the other calls return its info and events. The tables are complete when a
 * reader is open. Every file is hostile; the output of a reader is safe for sinks.
 */
#ifndef TACHBPF_READER_H
#define TACHBPF_READER_H

#include "model/event.h"

struct describe;
struct input;
struct reader;

/* The value in a file that becomes the weight of an event. */
enum reader_value {
	VALUE_DEFAULT,		/* the file's own value; for memory: bytes live at the end */
	VALUE_LIVE,		/* bytes allocated and not freed when the file ends */
	VALUE_ALLOCATED,	/* bytes allocated, freed or not */
	VALUE_PEAK,		/* bytes live at the peak */
	VALUE_SAMPLES,		/* time as samples, one for each interval */
	VALUE_BOTH,		/* bytes allocated; those that are live have STATUS_HELD. For
				 * files without allocations: their default */
};

struct reader_args {
	const char *format;	/* --input-format NAME; NULL: detected from the file's content */
	enum reader_value value;
	/* For files with several values for a sample: the type that counts; NULL: as value says. */
	const char *type;
	/*
	 * For memory: bytes live just before this moment, instead of at the file's end; later
	 * events are ignored. In µs since the file's start or, if absolute, in its own clock.
	 */
	bool until_given, until_absolute;
	uint64_t until_us;
};

/* Limit of reader_info.weight_sum: larger sums are meaningless, and could overflow. */
#define WEIGHT_SUM_MAX ((uint64_t)INT64_MAX)

/* The selected profile. */
struct reader_info {
	struct profile_meta meta;	/* tgid and comm only if the file has them */
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
	/* Returns true if the bytes look like this format. At most one format may do so. */
	bool (*probe)(const struct input *in);
	/* probe() also accepts files of other tools, such as any JSON: foreign.h names them. */
	bool vague;
	bool typed;	/* samples may have several values: reader_args.type */
	/* Returns NULL with errno and a reason in why. in stays valid until free(). */
	struct reader *(*open)(const struct input *in, const struct reader_args *args, char *why,
			       size_t why_size);
	/* Selects the i-th profile. NULL: there is only one. */
	void (*select)(struct reader *r, uint32_t i);
	int (*run)(struct reader *r, reader_event_fn on_event, void *ctx, char *why,
		   size_t why_size);
	/* Adds what else the file says about itself. Optional. */
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
