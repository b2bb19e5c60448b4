/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * event.h - the parts of a profile, whatever its source.
 *
 * Live capture and file readers produce struct event; sinks consume it. Nothing here depends on
 * libbpf, on a CPython layout or on a file format.
 */
#ifndef TACHBPF_EVENT_H
#define TACHBPF_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string_ref.h"
#include "bpf/frame_kind.h"

/* A stack in a profile has at most this many frames (TACH's limit). */
#define EVENT_MAX_FRAMES 256

#define LINE_NONE (-1)		/* synthetic frame or unknown line */
#define COLUMN_NONE (-1)
#define OPCODE_NONE 255

/*
 * The file of a frame that is neither Python code nor machine code of a known library
 * (native_frame.h), in memory as in every file format: the frame has a name ("<GC>" and similar)
 * but neither file nor line. Its kind tells what it is.
 */
#define SYNTHETIC_FILE "~"

/* One position in one function. Two frames are the same if all fields are equal. */
struct frame {
	uint32_t file;		/* string ids of the profile */
	uint32_t func;
	int32_t line;		/* from 1; LINE_NONE */
	int32_t end_line;	/* LINE_NONE if line is */
	int32_t column;		/* from 0, UTF-8 bytes; COLUMN_NONE */
	int32_t end_column;	/* COLUMN_NONE if column is */
	uint8_t opcode;		/* OPCODE_NONE */
	uint8_t kind;		/* enum frame_kind */
	int32_t first_line;	/* of the function, from 1; 0: unknown */
};
_Static_assert(sizeof(struct frame) == 32, "struct frame has room for its kind beside opcode");

/* The meaning of the ids in events and frames. Grows while a profile is being made. */
struct profile_tables {
	const struct frame *frames;
	const struct string_ref *strings;
	uint32_t frame_cnt, string_cnt;
	const uint32_t *libraries;	/* ids of strings with facts about libraries:
					 * native_library.h */
	uint32_t library_cnt;
};

/* Status bits: TACH's, see bpf/abi.h; and one for memory, which TACH cannot store. */
#define STATUS_HELD 128		/* the event's bytes are still held */

struct trace_context;

/*
 * One sample of one thread. For consumers that take runs, and only for them, it may stand for
 * several: this one is the last of `more` + 1 consecutive samples that differ only in their times.
 */
struct event {
	uint64_t time_us;	/* CLOCK_MONOTONIC; never decreases within a thread */
	uint64_t thread_id;	/* kernel tid in the host's pid namespace */
	uint32_t interp_id;
	uint32_t nframes;	/* ≤ EVENT_MAX_FRAMES; may be 0 */
	const uint32_t *frames;	/* frame ids, innermost first */
	uint64_t weight;	/* in the profile's unit; 1 for a sample of a tick */
	uint32_t tick_ns;	/* time that a live tick's sample stands for: its CPU's nominal
				 * period then, times the ticks that it stands for; 0: not from a
				 * tick, or the profile comes from a file */
	uint8_t status;
	uint32_t more;		/* of a run; otherwise 0 */
	uint32_t kept_1;	/* if taken: at least this many outermost frames + 1 are those of
				 * the thread's previous event; 0: unknown */
	const struct trace_context *trace;	/* valid as long as frames; NULL: unknown */
};

/* What not every consumer can take: kept_1, if no event is skipped; runs. */
enum event_takes { EVENT_KEPT = 1, EVENT_RUNS = 2 };

enum profile_mode {
	MODE_UNKNOWN = -1,
	MODE_WALL = 0,
	MODE_CPU = 1,
	MODE_GIL = 2,
	MODE_ALL = 3,
	MODE_EXCEPTION = 4,
	/* Not from TACH: a wall mode file whose accompanying JSON says that it is off-CPU. */
	MODE_OFFCPU = 7,
};

/* What was captured in addition to Python lines; the bit numbers are TACH's. */
enum profile_features {
	FEATURE_ALL_THREADS = 1,
	FEATURE_NATIVE = 2,
	FEATURE_GC = 4,
	FEATURE_OPCODES = 8,
	FEATURE_BLOCKING = 16,
};

/* What an event's weight counts. */
enum profile_unit {
	UNIT_SAMPLES = 0,	/* samples of a clock, interval_us apart */
	UNIT_BYTES,		/* bytes of memory */
	UNIT_NANOSECONDS,
};

/* Room for a process's comm, and for the label of its container (containers.h). */
#define PROC_COMM_MAX 64
#define CONTAINER_LABEL_BYTES 460

struct heap_census;
struct held_series;
struct profile_service;
struct thread_names;
struct type_series;

/* Known when a profile begins. */
struct profile_meta {
	uint8_t python_major, python_minor, python_micro;
	uint64_t start_us;	/* CLOCK_MONOTONIC */
	uint64_t interval_us;
	enum profile_mode mode;
	enum profile_unit unit;
	const char *event;	/* the name of the sampled event (-e), any bytes; NULL: none, so
				 * samples are of time, or unknown */
	bool held_apart;	/* of memory: STATUS_HELD marks bytes that are still held */
	bool features_known;
	uint32_t features;	/* FEATURE_* */
	uint32_t tgid;		/* 0: unknown */
	const char *comm;	/* NULL: unknown; any bytes */
	const char *program;	/* its script or module, for people: telemetry/command_label.h;
				 * NULL: unknown */
	const char *container;	/* its container's label (containers.h);
				 * NULL: none or unknown; any bytes */
	const char *image;	/* image of the container; NULL: none or unknown; any bytes */
	const struct profile_service *service;	/* profile_service.h; NULL: unknown */
	/*
	 * Of files with several values for a sample (pprof, OTLP): the name of the one that events
	 * weigh, and its unit there: "cpu", "nanoseconds"; NULL: none. Any bytes.
	 */
	const char *type, *type_unit;
	bool timed;		/* events have times, not only an order; false: unknown */
	bool of_container;	/* the profile has all processes of a container, whose label is
				 * comm */
	uint64_t start_utc_ns;	/* start_us as time of day; 0: unknown */
	const char *platform;	/* "Linux 6.1.0"; NULL: unknown; any bytes */
	const struct thread_names *thread_names;	/* NULL: none */
	const struct held_series *held;	/* of memory: NULL: unknown */
	const struct type_series *types;	/* of memory: NULL: unknown */
};

/* Known when a profile ends. */
struct profile_stats {
	bool known;
	double duration_s;
	double sample_rate;	/* samples per second */
	bool error_known, missed_known;
	double error_pct;	/* of the samples: unreadable or not written, 0..100 */
	double missed_pct;	/* of the due ticks: without a sample's record, 0..100 */
	bool lost_known;
	uint64_t lost_cnt;	/* samples that were taken but are not in the profile */
	uint64_t lost_regions;	/* regions that were marked but not kept */
};

/*
 * An event of a process's memory: an allocation, a free, a garbage collection, or a measurement of
 * its size, or of its objects by type.
 *
 * With sampled page faults an ALLOC stands for more bytes than its page has; the sum of all that
 * are not freed is what the process holds. Each stack of the process has a number.
 */

enum memory_change {
	MEMORY_ALLOC,		/* the process got memory */
	MEMORY_FREE,		/* an ALLOC's memory is gone; the ALLOC was passed on */
	MEMORY_COLLECTION,	/* CPython's garbage collector has run */
	MEMORY_CHECK,		/* the remaining blocks were checked; kernel's figures */
	MEMORY_CENSUS,		/* the objects were counted by type */
	MEMORY_BURST,		/* until the next one, ALLOCs are of one burst */
	MEMORY_SAMPLED,		/* at the end, if blocks were recorded in bursts: how */
	MEMORY_FATE,		/* what has become of what a stack holds, at the end */
};

/* MEMORY_COLLECTION. */
struct memory_collection {
	uint8_t generation;
	uint64_t runs;		/* number of collections of this generation since the last event */
	uint64_t collected, uncollectable;	/* objects, in all these runs */
	uint64_t duration_us;	/* 0: unknown */
};

/* MEMORY_CHECK: bytes at one time, and what the kernel counted then. */
struct memory_check {
	uint64_t rss_anon;	/* /proc/PID/status, RssAnon */
	uint64_t swapped;	/* VmSwap */
	uint64_t held;		/* of ALLOCs, when the kernel's figures were read: includes a
				 * page that was touched before but is not passed on yet */
	uint64_t unchecked;	/* of these, not checked: table full, pagemap denied */
};

/* MEMORY_SAMPLED: blocks were recorded in bursts. Bytes are those that the blocks stand for. */
struct memory_sampled {
	uint64_t bursts, watched_us;	/* their number, and their time together */
	uint64_t over_us;		/* from the first one's begin to the last one's end */
	uint64_t found;			/* bytes of blocks that were found freed between bursts */
	uint64_t looked_used;		/* bytes that looked in use ... */
	uint64_t again;			/* ... of these, taken for used again, and so for freed */
	uint64_t again_error;		/* ... one standard deviation of that */
	const char *allocator;		/* "glibc", "musl", "unknown" */
};

/*
 * MEMORY_FATE: bytes of what the stack holds, as far as its pages were looked at: still what was
 * made there at first; used by others since; free, but kept by the process' allocator.
 */
struct memory_fate {
	uint64_t pages;		/* number of pages that were looked at */
	uint64_t own, reused, unused;
};

struct memory_event {
	enum memory_change change;
	uint64_t time_us;	/* CLOCK_MONOTONIC; never decreases within a process */
	uint64_t addr;		/* ALLOC, FREE: identifies the block as long as it exists */
	uint64_t bytes;		/* ALLOC: bytes that it stands for, not 0; FREE: the same */
	uint32_t stack;		/* not COLLECTION, CHECK: its number, dense from 0 in the process */
	uint32_t nframes;	/* that stack; 1 to EVENT_MAX_FRAMES */
	const uint32_t *frames;	/* ids in process_tables(), innermost first; valid in the call. A
				 * name may become known later (process_retry_names()) */
	uint64_t thread_id;	/* ALLOC: kernel tid in the host's pid namespace */
	union {
		struct memory_collection collection;
		struct memory_check check;
		const struct heap_census *census;	/* heap/census.h; valid in the call */
		struct memory_sampled sampled;
		struct memory_fate fate;
	};
};

#endif
