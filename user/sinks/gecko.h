/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * gecko.h - between the two halves of the Firefox Profiler format: gecko.c takes
 * events, gecko_write.c makes the file of what came of them.
 */
#ifndef TACHBPF_GECKO_H
#define TACHBPF_GECKO_H

#include "pairs.h"
#include "sink.h"
#include "spool.h"
#include "stacks.h"
#include "writer.h"

struct u64map;

/* Time in which something was so; names and categories are CPython's. */
enum gecko_marker {
	MARKER_HAS_GIL, MARKER_NO_GIL, MARKER_ON_CPU, MARKER_OFF_CPU, MARKER_PYTHON,
	MARKER_NATIVE, MARKER_GIL_WAIT, MARKER_GC, MARKER_EXCEPTION, MARKER_NO_EXCEPTION,
	MARKER_CNT
};

/* A thread's numbers for nodes; labels, functions and files become numbers when written. */
struct gecko_thread {
	uint32_t process;
	uint64_t thread_id;
	bool main;
	bool seen;			/* an event came: states are known */
	struct pairs nodes;		/* its stacks as a tree: label, the caller's node + 1 */
	struct spool_stream samples;	/* node + 1, time since the last one, weight */
	struct spool_stream markers;	/* enum gecko_marker, start and end */
	uint64_t sample_cnt, marker_cnt;
	bool weighted;			/* not every sample weighs 1 */
	int64_t time_us;		/* of the last sample */
	uint64_t open;			/* bit: this marker has begun, */
	int64_t since_us[MARKER_CNT];	/* then */
	uint32_t stack, depth;		/* the last stack; depth 0: none yet */
	uint32_t path[EVENT_MAX_FRAMES];	/* its nodes, from the root */
};

struct gecko {
	struct sink sink;
	struct sink_args args;
	int err;
	bool active, begun;
	struct stacks *stacks;
	struct spool *spool;
	struct buf threads;		/* struct gecko_thread *, of all processes */
	struct buf gc;			/* u8 by stack: GC_* in gecko.c */
	struct u64map *by_tid;		/* struct gecko_thread, of the profile being read */
	struct gecko_thread *last;
	uint64_t event_cnt;
	int64_t base_us, first_us, last_us;	/* time zero; the profile's first and last event */
	bool based, timed;
};

struct gecko_thread *gecko_thread_at(const struct gecko *g, uint32_t i);
uint32_t gecko_thread_cnt(const struct gecko *g);

/* The whole file. 0 or -errno. */
int gecko_write(struct gecko *g);

#endif
