/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * aggregate.h - shared by all formats that add up samples by stack: the sink's calls, their order
 * and errors, and the stacks. A format consists of a row of settings and a function that writes
 * stacks.
 */
#ifndef TACHBPF_AGGREGATE_H
#define TACHBPF_AGGREGATE_H

#include "model/sink.h"
#include "model/stacks.h"

struct aggregate;

struct aggregate_format {
	const struct sink_ops *ops;
	enum stack_detail apart;	/* for LINES_APART; LINES_MERGED means DETAIL_FUNCTION */
	bool lines;			/* LINES_DEFAULT is LINES_APART */
	bool by_thread;			/* GROUP_DEFAULT is GROUP_THREAD */
	bool by_status;
	bool each_process;		/* write at every end(), not at close() */
	bool one_unit;			/* the format has one unit for all numbers */
	bool libraries;			/* writes the facts about libraries */
	bool spelled;			/* writes each stack with the names of its frames */
	uint32_t frame_bytes;		/* approximate bytes per frame of a stack; 0: only frames
					 * are written */
	/* Returns 0 or -errno. */
	int (*write)(struct aggregate *a);
};

struct aggregate {
	struct sink sink;
	const struct aggregate_format *format;
	struct sink_args args;
	struct stacks_config config;
	struct stacks *stacks;
	struct buf stats;	/* struct profile_stats for each process of the stacks */
	enum profile_unit unit;	/* of the first process */
	uint64_t bytes;		/* approximate bytes written for earlier processes */
	int err;
	bool active, begun;
};

/* The sink calls of a format that adds up samples; see sink.h. */
struct sink *aggregate_open(const struct aggregate_format *format, const struct sink_args *args);
int aggregate_begin(struct sink *s, const struct profile_meta *meta,
		    const struct profile_tables *tables);
int aggregate_event(struct sink *s, const struct event *ev);
int aggregate_end(struct sink *s, const struct profile_stats *stats);
int aggregate_close(struct sink *s);

/* Returns the statistics passed to end() for a process; process: its index in the stacks. */
const struct profile_stats *aggregate_stats(const struct aggregate *a, uint32_t process);

#define AGGREGATE_CALLS                                                                            \
	.begin = aggregate_begin, .event = aggregate_event, .end = aggregate_end,                  \
	.close = aggregate_close

#endif
