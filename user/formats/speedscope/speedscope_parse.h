/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * speedscope_parse.h - between the parts of the speedscope reader: the document, its samples and
 * its events. No other file includes it.
 */
#ifndef TACHBPF_SPEEDSCOPE_PARSE_H
#define TACHBPF_SPEEDSCOPE_PARSE_H

#include "base/json_pull.h"
#include "model/reader.h"

struct intern;
struct reason;

#define SPEEDSCOPE_UNIT_CNT 6

/* Factor from a unit's values to our whole numbers. */
struct unit {
	const char *name;
	enum profile_unit unit;
	double factor;
};

extern const struct unit speedscope_units[SPEEDSCOPE_UNIT_CNT];

/* One of the file's profiles. */
struct thread {
	struct json_pull samples, weights;	/* positions of the arrays; evented: its events
						 * are in samples */
	bool has_samples, has_weights, has_events, has_type, evented;
	const struct unit *unit;
	struct string_ref name;		/* string in names */
	double start, end;		/* startValue, endValue, in the file's unit */
	bool has_end;
	uint64_t start_us;		/* relative to the thread that starts first */
	uint64_t thread_id;
	uint32_t group;
	uint64_t event_cnt, weight_sum, truncated_cnt;
	uint64_t elapsed;	/* weight_sum plus pauses */
	size_t off;
};

/* What becomes one profile: a process with one unit. */
struct group {
	uint32_t tgid;
	enum profile_unit unit;
	struct reader_info info;
};

struct speedscope_reader {
	struct reader reader;
	const struct input *in;
	struct intern *names;
	struct buf frame_of;		/* uint32_t: frame id of each of shared.frames */
	struct buf threads, groups;
	struct string_ref file_name;
	uint32_t current;
	struct buf key, text, ids;	/* buffers for what is being read */
	const struct reason *why;
};

static inline struct thread *thread_at(const struct speedscope_reader *s, size_t i)
{
	return (struct thread *)(void *)s->threads.data + i;
}

static inline size_t thread_cnt(const struct speedscope_reader *s)
{
	return s->threads.len / sizeof(struct thread);
}

/* Parses everything but the samples into s. Returns 0, or -errno with a reason in s->why. */
int speedscope_parse(struct speedscope_reader *s);

/* Sets the message: what j expected and where. Returns -EBADMSG or -ENOMEM. */
int speedscope_bad_json(const struct reason *why, const struct json_pull *j);

/* Finds the frame id of an index into shared.frames, which is the next value. */
bool speedscope_read_index(const struct speedscope_reader *s, struct json_pull *j, uint32_t *frame);

/* Read the next element of samples, as frame ids in s->ids; of weights. */
bool speedscope_read_stack(struct speedscope_reader *s, struct json_pull *j);
bool speedscope_read_weight(struct json_pull *j, const struct unit *unit, uint64_t *weight);

/*
 * Evented: reads the events until time passes; s->ids is the stack meanwhile, and *weight that
 * time. *at is the time so far, in our unit since startValue; before the first call it is 0 and
 * s->ids empty. Returns 1; 0: the events have ended; -1: see j->err.
 */
int speedscope_read_events(struct speedscope_reader *s, const struct thread *th,
			   struct json_pull *j, uint64_t *at, uint64_t *weight);

#endif
