/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * trace.h - a profile as a timeline: what the two formats of traces, Perfetto's protobuf and
 * Chrome's JSON, have in common.
 *
 * trace.c makes slices of events: trace_lanes.c compares the stack of a sample with the thread's
 * last one, and what is no longer there ends, what is new begins. perfetto.c and chrome.c write
 * what they are told at once: nothing is kept but what is open, so memory does not grow with
 * samples. All times are CLOCK_MONOTONIC in ns.
 */
#ifndef TACHBPF_TRACE_H
#define TACHBPF_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "base/util.h"
#include "base/writer.h"
#include "formats/gc_stacks.h"
#include "model/region.h"
#include "model/sink.h"
#include "model/stacks.h"

/* Later times, some 146 years, are this one: twice it fits 63 bits as nanoseconds. */
#define TRACE_US_MAX (INT64_MAX / 1000 / 2)

static inline uint64_t trace_ns(uint64_t time_us)
{
	return (time_us < TRACE_US_MAX ? time_us : TRACE_US_MAX) * NS_PER_US;
}

/* What is at a place of a lane: a function (text NULL), or a text about one. */
struct trace_name {
	uint32_t label;			/* the function: of stacks_tables() */
	const char *text;		/* printable; valid as long as the trace */
};
#define TRACE_NO_LABEL UINT32_MAX

/* A row of the timeline. */
enum trace_lane_kind {
	LANE_PROCESS, LANE_THREAD, LANE_STATE, LANE_TASK, LANE_REGIONS, LANE_COUNTER,
};

struct trace_slice {
	uint64_t begin_ns, end_ns;	/* the end is known of regions only */
	struct trace_name name;
};

struct trace_lane {
	enum trace_lane_kind kind;
	uint64_t id;			/* from 1, unique in the file */
	uint64_t parent;		/* id of the lane to which it belongs; 0: none */
	int64_t pid, tid;		/* of its thread; made up for another lane */
	char *name;			/* printable */
	const char *what;		/* name without that of parent; in it */
	struct trace_slice *open;	/* outermost first */
	size_t cnt, cap;
};

struct trace_fact {
	const char *name;
	const char *text;		/* printable; NULL: the number */
	uint64_t number;
	bool is_json;			/* text is JSON: a number, true, false or null */
};

struct trace;

/* How a format writes it. The functions report errors in the trace's writer. */
struct trace_ops {
	const struct sink_ops *sink;
	void (*head)(struct trace *t);
	void (*lane)(struct trace *t, const struct trace_lane *lane);
	/* The lane's innermost slice begins, ends. */
	void (*begin)(struct trace *t, const struct trace_lane *lane);
	void (*end)(struct trace *t, const struct trace_lane *lane, uint64_t at_ns);
	/* A region begins: the lane's innermost slice, whose end is known. end() follows, too. */
	void (*region)(struct trace *t, const struct trace_lane *lane,
		       const struct trace_fact *facts, size_t cnt);
	/* weight: of the sample of an event. */
	void (*instant)(struct trace *t, const struct trace_lane *lane, uint64_t at_ns,
			const struct trace_name *name, uint64_t weight);
	void (*facts)(struct trace *t, const struct trace_lane *lane, uint64_t at_ns,
		      const char *name, const struct trace_fact *facts, size_t cnt);
	void (*counter)(struct trace *t, const struct trace_lane *lane, uint64_t at_ns,
			uint64_t value);
	void (*tail)(struct trace *t);
	void (*free)(struct trace *t);
};

struct trace_process;

struct trace {
	struct sink sink;		/* first */
	struct sink_args args;
	const struct trace_ops *ops;
	void *own;			/* the format's */
	struct writer *w;
	struct stacks *stacks;
	struct gc_stacks gc;
	struct trace_process *process;	/* of the current profile; NULL: none */
	uint32_t process_cnt;
	uint64_t lane_cnt;
	uint64_t bytes;			/* about as many as were written */
	bool begun;
	int err;
};

/* Opens a sink of a format. own: freed by ops->free(). Returns NULL with errno. */
struct sink *trace_open(const struct sink_args *args, const struct trace_ops *ops, void *own);
int trace_begin(struct sink *s, const struct profile_meta *meta,
		const struct profile_tables *tables);
int trace_event(struct sink *s, const struct event *ev);
int trace_region(struct sink *s, const struct profile_region *region);
int trace_end(struct sink *s, const struct profile_stats *stats);
int trace_close(struct sink *s);

/* Keeps the first error: 0 or -errno. */
void trace_fail(struct trace *t, int err);

/* ---- trace_lanes.c ---- */

/* About as many bytes as a slice has in a file. */
#define TRACE_SLICE_BYTES 60
/* Above every pid of Linux (PID_MAX_LIMIT), below 2^31: numbers of what has none of its own. */
#define TRACE_MADE_UP_PID (1 << 23)
#define TRACE_MADE_UP_TID (1ll << 30)

/* Sets up a lane and writes it. name (printable) is copied. Returns 0 or -ENOMEM. */
int trace_lane_start(struct trace *t, struct trace_lane *lane, const char *name);
/*
 * The same for a lane below that of a thread. what: of a task its name; others' comes after the
 * thread's name, where a format has no lanes below others.
 */
int trace_lane_below(struct trace *t, struct trace_lane *lane, enum trace_lane_kind kind,
		     const struct trace_lane *thread, const char *what);
/*
 * From now on the lane shows these, outermost first: what it has of them already, goes on. Returns
 * 0 or -errno.
 */
int trace_lane_show(struct trace *t, struct trace_lane *lane, uint64_t now_ns,
		    const struct trace_name *names, size_t cnt);
void trace_lane_free(struct trace_lane *lane);

/* Return a function's name and file ("": it has none), printable, to be freed; NULL: no memory. */
char *trace_function(const struct trace *t, uint32_t label);
char *trace_file(const struct trace *t, uint32_t label);

/* ---- trace_regions.c: the regions of a thread ---- */

/* Zero-initialise; freed by trace_regions_free(). */
struct trace_regions {
	struct trace_lane *lanes;	/* one, and more for regions that overlap without nesting */
	size_t cnt, cap;
};

/*
 * Shows a region of this thread, in the order of sink_ops.region(). Returns 0 or -errno; -E2BIG: it
 * is left out, because too many overlap.
 */
int trace_regions_add(struct trace *t, struct trace_regions *r, const struct trace_lane *thread,
		      const struct profile_region *region);
/* Ends those that are open. */
void trace_regions_end(struct trace *t, struct trace_regions *r);
void trace_regions_free(struct trace_regions *r);

/* ---- trace_process.c: the lanes of a process ---- */

/* Starts a process. NULL with errno. */
struct trace_process *trace_process_new(struct trace *t, const struct profile_meta *meta);
/* Shows a region, before the first event. Returns 0 or -errno. */
int trace_process_region(struct trace *t, const struct profile_region *region);
/* Shows an event; id: its stack. Returns 0 or -errno. */
int trace_process_event(struct trace *t, const struct event *ev, uint32_t id);
/* Everything ends; writes the counter and what was lost. Returns 0 or -errno. */
int trace_process_end(struct trace *t, const struct profile_stats *stats);
void trace_process_free(struct trace_process *p);

#endif
