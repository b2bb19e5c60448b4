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
struct tach_info;
struct tach_reader;

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

extern const struct reader_ops reader_tach, reader_collapsed, reader_speedscope, reader_gperftools,
	reader_mlyze;

/* By name; NULL: no such format. The i-th; NULL behind the last. */
const struct reader_ops *reader_find(const char *name);
const struct reader_ops *reader_at(size_t i);

/*
 * Open a file as args says (NULL: as what it looks like). NULL with errno; a
 * one-line reason without the path, which may quote the file, in why.
 */
struct reader *reader_open(const char *path, const struct reader_args *args, char *why,
			   size_t why_size);
void reader_free(struct reader *r);

/* The first profile is selected to begin with. i < reader_profile_cnt(), which is ≥ 1. */
uint32_t reader_profile_cnt(const struct reader *r);
void reader_select(struct reader *r, uint32_t i);

const char *reader_format(const struct reader *r);
const struct reader_info *reader_info(const struct reader *r);
const struct profile_tables *reader_tables(const struct reader *r);
/* What only TACH files have; NULL: the file is none. */
const struct tach_info *reader_tach_info(const struct reader *r);
struct tach_reader *reader_as_tach(struct reader *r);
void reader_describe(const struct reader *r, struct describe *d);

/*
 * Call on_event for every event in the file's order; times never go back within
 * a thread. It may stop the run by a non-zero return, which is passed on. The
 * event is valid during the call. -EBADMSG with a reason in why when the file
 * is damaged: what came before has been delivered.
 */
int reader_run(struct reader *r, reader_event_fn on_event, void *ctx, char *why, size_t why_size);

/* "samples", "bytes", "nanoseconds" */
const char *reader_unit_name(enum profile_unit unit);

#endif
