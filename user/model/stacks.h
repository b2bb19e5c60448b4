/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * stacks.h - the distinct stacks of profiles and their weights, for sinks that add up samples or
 * that refer to a stack by a number.
 *
 * Owns copies of all names, so it outlives the profiles. Memory grows with distinct stacks and not
 * with samples. Knows no format.
 */
#ifndef TACHBPF_STACKS_H
#define TACHBPF_STACKS_H

#include "base/util.h"
#include "model/sink.h"
#include "model/stack_frame.h"

struct stacks_config {
	enum stack_detail detail;
	bool by_thread;		/* a stack in two threads counts as two stacks */
	bool by_status;
};

/* Where a stack occurs: a process, or one of its threads. */
struct stack_group {
	uint32_t process;	/* index of the process, in order of stacks_begin() */
	uint64_t thread_id;	/* 0 unless by_thread */
};

struct stack_process {
	struct profile_meta meta;	/* its strings are owned by the stacks */
	char name[640];			/* "12 app @container", "12", "app" or ""; printable */
	uint64_t truncated;		/* weight of the stacks that were cut at the root */
};

/* One distinct stack. Labels are frame ids of stacks_tables(), innermost first. */
struct stack_view {
	uint32_t group;
	uint8_t status;		/* 0 unless by_status */
	uint32_t n;		/* 0: no Python frame is shown */
	const uint32_t *labels;
	uint64_t weight, events;
};

struct stacks;

/* Returns NULL with errno. Freed by stacks_free(). */
struct stacks *stacks_new(const struct stacks_config *config);
void stacks_free(struct stacks *s);

/* Those of the following functions that return int return 0 or -errno. */
int stacks_begin(struct stacks *s, const struct profile_meta *meta,
		 const struct profile_tables *tables);
/*
 * Begins a profile whose events are added to those of an earlier one: of this index, in order of
 * stacks_begin(), whose meta stays. Not with by_thread.
 */
void stacks_resume(struct stacks *s, uint32_t process, const struct profile_tables *tables);
/* Adds an event; *id is its stack's number (dense, in order of first occurrence). */
int stacks_add(struct stacks *s, const struct event *ev, uint32_t *id);
/* Copies the profile's facts about libraries, once complete: before stacks_end(). */
int stacks_libraries(struct stacks *s);
void stacks_end(struct stacks *s);
/* Removes everything, as after stacks_new(). */
int stacks_reset(struct stacks *s);

uint32_t stacks_cnt(const struct stacks *s);
/* Returns the stack with this number; valid until the next stacks_add(). */
struct stack_view stacks_get(const struct stacks *s, uint32_t id);

/*
 * Returns the approximate bytes of all stacks in a file: frame_bytes for each frame and, with
 * names, also its function and the last component of its file.
 */
uint64_t stacks_bytes(const struct stacks *s, bool names, uint32_t frame_bytes);

/*
 * Returns the tables that labels refer to. Fields of frames that the detail excludes are LINE_NONE,
 * COLUMN_NONE and OPCODE_NONE. An unknown line is 0, as in CPython's exports.
 */
const struct profile_tables *stacks_tables(const struct stacks *s);
/*
 * Returns the label's line; with DETAIL_FUNCTION the function's first line or, if that is unknown,
 * the lowest sampled one. 0: unknown.
 */
uint32_t stacks_line(const struct stacks *s, uint32_t label);
/* Returns the first line of the label's function; 0: unknown. */
uint32_t stacks_first_line(const struct stacks *s, uint32_t label);

/* Groups and processes, by index; valid until the next stacks_begin() or stacks_add(). */
uint32_t stacks_group_cnt(const struct stacks *s);
const struct stack_group *stacks_group(const struct stacks *s, uint32_t group);
uint32_t stacks_process_cnt(const struct stacks *s);
const struct stack_process *stacks_process(const struct stacks *s, uint32_t process);


/* Returns the last component of a path. */
struct string_ref path_base(struct string_ref path);

#endif
