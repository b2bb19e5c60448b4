/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * gecko.h - shared by the parts of the Firefox Profiler format: gecko.c takes events, gecko_write.c
 * writes the file, gecko_tables.c the tables in it.
 */
#ifndef TACHBPF_GECKO_H
#define TACHBPF_GECKO_H

#include "base/pairs.h"
#include "formats/gc_stacks.h"
#include "model/native_library.h"
#include "model/sink.h"
#include "model/spool.h"
#include "model/stacks.h"
#include "base/writer.h"

struct intern;
struct u64map;

/* The states that markers show; names and categories are CPython's. */
enum gecko_marker {
	MARKER_HAS_GIL, MARKER_NO_GIL, MARKER_ON_CPU, MARKER_OFF_CPU, MARKER_PYTHON,
	MARKER_NATIVE, MARKER_GIL_WAIT, MARKER_GC, MARKER_EXCEPTION, MARKER_NO_EXCEPTION,
	MARKER_CNT
};

/*
 * A thread's nodes and their numbers; labels, functions and files are numbered when they are
 * written.
 */
struct gecko_thread {
	uint32_t process;
	uint64_t thread_id;
	bool main;
	bool seen;			/* it has had an event, so its states are known */
	struct pairs nodes;		/* its stacks as a tree: pairs of label and caller's node
					 * + 1 */
	struct spool_stream samples;	/* node + 1, time since the last sample, weight */
	struct spool_stream markers;	/* enum gecko_marker, start, end */
	uint64_t sample_cnt, marker_cnt;
	bool weighted;			/* some samples have other weights than 1 */
	int64_t time_us;		/* of the last sample */
	uint64_t open;			/* one bit for each marker that has begun, */
	int64_t since_us[MARKER_CNT];	/* and when it began */
	uint32_t stack, depth;		/* the last stack; depth 0: none */
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
	struct gc_stacks gc;
	struct u64map *by_tid;		/* struct gecko_thread, of the current profile */
	struct gecko_thread *last;
	uint64_t bytes;			/* about as many as samples and markers take in the file */
	uint64_t event_cnt;
	int64_t base_us, first_us, last_us;	/* time zero; times of the current
						 * profile's first and last event */
	bool based, timed;
};

static inline struct gecko_thread *gecko_thread_at(const struct gecko *g, uint32_t i)
{
	return ((struct gecko_thread **)(void *)g->threads.data)[i];
}

static inline uint32_t gecko_thread_cnt(const struct gecko *g)
{
	return (uint32_t)(g->threads.len / sizeof(struct gecko_thread *));
}

/* Writes the whole file. Returns 0 or -errno. */
int gecko_write(struct gecko *g);

/* A thread's tables. Numbers are in order of first use. */
struct gecko_tables {
	struct gecko *g;
	struct gecko_thread *th;
	const struct profile_tables *t;		/* the tables that labels refer to */
	struct intern *strings;			/* shared by all threads */
	struct intern *frames;			/* labels of the frames: strings of u32 */
	struct intern *funcs;			/* functions as frames with file and
						 * func */
	struct intern *resources;		/* files: strings of u32 */
	struct buf func_lines;			/* i32 for each function */
	struct native_index libraries;		/* numbered as the file's "libs" */
	struct writer *w;
};

/*
 * Numbers everything in x->th's stacks. Returns 0 or -ENOMEM; call gecko_tables_end() in both
 * cases.
 */
int gecko_tables_start(struct gecko_tables *x);
/* Frees the tables. */
void gecko_tables_end(struct gecko_tables *x);
/* Writes the tables as members of the thread's object. Returns 0 or -errno. */
int gecko_put_tables(struct gecko_tables *x);

/* Write a key after a comma; a column of equal values; "length" and the closing brace. */
void gecko_put_key(struct writer *w, const char *key);
void gecko_put_same(struct writer *w, const char *key, const char *value, uint64_t cnt);
void gecko_put_length(struct writer *w, uint64_t cnt);
/* Finds or adds a string and writes its number. Returns 0 or -ENOMEM. */
int gecko_put_string(struct gecko_tables *x, struct string_ref s);

#endif
