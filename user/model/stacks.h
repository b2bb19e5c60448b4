/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * stacks.h - the distinct stacks of profiles and what each of them weighs, for
 * sinks that add samples up or refer to a stack by a number.
 *
 * Owns copies of every name that is used, so that it outlives the profiles it
 * was fed with. Memory grows with what is distinct, never with samples. Knows
 * nothing of any format.
 */
#ifndef TACHBPF_STACKS_H
#define TACHBPF_STACKS_H

#include "base/util.h"
#include "model/sink.h"
#include "model/stack_frame.h"

struct stacks_config {
	enum stack_detail detail;
	bool by_thread;		/* a stack of two threads is two stacks */
	bool by_status;
};

/* Where a stack was seen: a process, or one of its threads. */
struct stack_group {
	uint32_t process;	/* index, in order of stacks_begin() */
	uint64_t thread_id;	/* 0 unless by_thread */
};

struct stack_process {
	struct profile_meta meta;	/* its strings belong to the stacks */
	char name[640];			/* "12 app @container", "12", "app" or ""; printable */
	uint64_t truncated;		/* weight of the stacks whose rest is not known */
};

/* One distinct stack. Labels are frame ids of stacks_tables(), innermost first. */
struct stack_view {
	uint32_t group;
	uint8_t status;		/* 0 unless by_status */
	uint32_t n;		/* 0: no Python frame to show */
	const uint32_t *labels;
	uint64_t weight, events;
};

struct stacks;

/* NULL with errno. */
struct stacks *stacks_new(const struct stacks_config *config);
void stacks_free(struct stacks *s);

/* 0 or -errno, likewise below. */
int stacks_begin(struct stacks *s, const struct profile_meta *meta,
		 const struct profile_tables *tables);
/* Count an event; its stack's number in *id (numbers are dense, in order of first sight). */
int stacks_add(struct stacks *s, const struct event *ev, uint32_t *id);
void stacks_end(struct stacks *s);
/* Forget everything, as new. */
int stacks_reset(struct stacks *s);

uint32_t stacks_cnt(const struct stacks *s);
/* Valid until the next stacks_add(). */
struct stack_view stacks_get(const struct stacks *s, uint32_t id);

/*
 * What labels mean: frames whose fields beyond the detail are LINE_NONE,
 * COLUMN_NONE and OPCODE_NONE. An unknown line is 0, as CPython's exports have it.
 */
const struct profile_tables *stacks_tables(const struct stacks *s);
/* The label's line, with DETAIL_FUNCTION the lowest that was sampled; 0: not known. */
uint32_t stacks_line(const struct stacks *s, uint32_t label);

uint32_t stacks_group_cnt(const struct stacks *s);
const struct stack_group *stacks_group(const struct stacks *s, uint32_t group);
uint32_t stacks_process_cnt(const struct stacks *s);
const struct stack_process *stacks_process(const struct stacks *s, uint32_t process);

/* A frame that is not Python code: "<GC>" and the like. */
bool stacks_synthetic(const struct profile_tables *t, const struct frame *f);

/* The last component of a path. */
struct string_ref path_base(struct string_ref path);

#endif
