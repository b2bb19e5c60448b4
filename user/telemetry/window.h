/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * window.h - the samples of one window of time, aggregated by service, sample type and stack.
 *
 * A service is a number of the caller's, from 0; it keeps its number from window to window. A
 * series is a service and a sample type. All tables have limits (struct window_limits), and an
 * owner may use as much of each as is left then: half if it is alone, and never the room of all
 * others. A sample that does not fit is added to the stack <other> of its series, and counted by
 * cause; so the totals of a series are always exact. Sums saturate at UINT64_MAX.
 *
 * Used from one thread. It calls nothing that waits. A child after fork() may read its copy.
 */
#ifndef TACHBPF_WINDOW_H
#define TACHBPF_WINDOW_H

#include "telemetry/window_names.h"

/* Sample types. */
enum window_kind {
	WINDOW_CPU,		/* time on CPU */
	WINDOW_OFF_CPU,		/* time off CPU */
	WINDOW_GIL_WAIT,	/* time of waiting for the GIL */
	WINDOW_EXCEPTION,	/* time in which an exception was handled or propagated */
	WINDOW_ALLOC_SPACE,	/* bytes of memory touched for the first time */
	WINDOW_INUSE_SPACE,	/* bytes of it still held at the window's end */
	WINDOW_HEAP_OBJECTS,	/* Python objects, by their type, which is a stack of one frame */
	WINDOW_HEAP_SPACE,	/* their bytes */
	WINDOW_KIND_CNT
};

/* A sample type's words in messages. */
struct window_kind_names {
	const char *type, *unit;
	bool samples;	/* the number of samples is sent, too: "samples", "count" */
	/*
	 * The type of the period, in this unit; NULL: none. Grafana Pyroscope names a profile of
	 * OTLP after it, so the types of one period are shown together.
	 */
	const char *period;
};
extern const struct window_kind_names window_kinds[WINDOW_KIND_CNT];

/* Why samples were added to <other>, or to service 0. */
enum window_other {
	WINDOW_OTHER_STACKS,	/* too many stacks, or bytes of them, in total or of the owner */
	WINDOW_OTHER_SAMPLES,	/* too many pairs of stack and series, in total or of the owner */
	WINDOW_OTHER_FRAMES,	/* too many frames, in total or of the owner */
	WINDOW_OTHER_NAMES,	/* too many bytes of names, in total or of the owner */
	WINDOW_OTHER_MEMORY,	/* no memory */
	WINDOW_OTHER_EVENT,	/* an invalid event: more than EVENT_MAX_FRAMES frames */
	/* The service's number is too high. The stack is kept, in service 0. */
	WINDOW_OTHER_SERVICES,
	WINDOW_OTHER_CNT
};

struct window_limits {
	uint32_t services;		/* at most 65,536 */
	uint32_t stacks, samples;	/* at most 2^30 */
	uint32_t stack_bytes;		/* 1 to 3 for each frame of each stack */
	uint32_t frames;		/* at most 2^22 */
	uint32_t name_bytes;
};
/* 100,000 stacks of 40 frames take 12 MiB; if all limits are reached, 30. */
extern const struct window_limits window_limits_default;

struct window;

/*
 * The window begins at begin_ns and ends at end_ns (CLOCK_REALTIME, aligned by the caller). Returns
 * NULL with errno on failure. Free it by window_free().
 */
struct window *window_new(const struct window_limits *limits, uint64_t begin_ns, uint64_t end_ns);
void window_free(struct window *w);

/*
 * Empties the window. Its memory is kept for the next samples, except for tables that are more than
 * four times as large as the last two windows needed.
 */
void window_reset(struct window *w, uint64_t begin_ns, uint64_t end_ns);
/* Hides these parts of names from now on. Call it after window_reset() and before window_add(). */
void window_hide(struct window *w, const struct window_privacy *privacy);
/*
 * No event is added until window_reset(): gives back what only adding needs, a seventh of a large
 * window. end_ns: its end, which is another one if it is cut short.
 */
void window_close(struct window *w, uint64_t end_ns);

/* It will end then; events may still be added. */
void window_set_end(struct window *w, uint64_t end_ns);

/*
 * The map of a process whose events will be added, with the process's tables, which must outlive it
 * (process_tables()). 8 bytes for each frame that the process has had. Returns NULL with errno on
 * failure. Free it by window_map_free(), before or after the window.
 */
struct window_map *window_map_new(const struct profile_tables *tables);
void window_map_free(struct window_map *map);

/*
 * Where and how an event is added. Its value in the series' unit is weight * mul / div. For example
 * a tick's sample at 19 Hz in one of ten windows: mul 526315789, div 1; the same as an exception:
 * mul 10, div 1. The remainder of a division is added to the series' next event.
 */
struct window_place {
	uint32_t service;
	uint32_t owner;		/* who has a share of the tables; below window_limits.services */
	enum window_kind kind;
	uint64_t mul, div;	/* div 0 is 1 */
	uint64_t samples;	/* number of samples in the event (process_samples_in()) */
	/* The number of a link for the encoder (struct otlp_link), + 1; 0: none. */
	uint32_t link;
};

/* Adds an event of the map's process. An event without frames has the stack <no frames>. */
void window_add(struct window *w, struct window_map *map, const struct event *ev,
		const struct window_place *at);

/*
 * Adds a value of something that has a name instead of a stack, such as a type of objects. name:
 * any bytes, NUL-terminated.
 */
void window_add_named(struct window *w, const char *name, uint64_t value,
		      const struct window_place *at);

/* --- reading a window; all is valid until the next call that changes it ------------------- */

#define WINDOW_NONE UINT32_MAX

/* The value of a series at one stack with one link. */
struct window_sample {
	uint64_t value;		/* in the unit of the sample type */
	uint64_t samples;
	uint32_t stack, link;
	uint32_t series;	/* service * WINDOW_KIND_CNT + kind */
	uint32_t next;		/* the series' next one; WINDOW_NONE: this is the last */
};

struct window_series {
	uint64_t value, samples;		/* in total, with <other>; in unit and samples */
	uint64_t other_value, other_samples;	/* at the stack <other> */
	uint64_t left;				/* remainder of divisions */
	uint32_t first, last;		/* numbers of struct window_sample, or WINDOW_NONE */
};

uint64_t window_begin_ns(const struct window *w);
uint64_t window_end_ns(const struct window *w);
/* All services have lower numbers than this. */
uint32_t window_service_cnt(const struct window *w);
const struct window_series *window_series(const struct window *w, uint32_t service,
					  enum window_kind kind);
const struct window_sample *window_samples(const struct window *w, uint32_t *cnt);
uint32_t window_stack_cnt(const struct window *w);
/* A stack's frames (ids in window_names()), innermost first. Returns how many, at least one. */
uint32_t window_stack(const struct window *w, uint32_t stack, uint32_t ids[EVENT_MAX_FRAMES]);
const struct window_names *window_names(const struct window *w);
/* Samples that did not fit, since window_new(). */
uint64_t window_others(const struct window *w, enum window_other cause);
/* Bytes of the window's tables, including names but not maps. */
size_t window_bytes(const struct window *w);

/* The name of the stack for what did not fit. */
#define WINDOW_OTHER_NAME "<other>"

#endif
