/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_state.h - struct capture, for the files of this room only.
 *
 * A file calls only later ones of this list: capture.c, capture_set_filter.c, capture_wait.c,
 * capture_records.c, capture_find.c, capture_inspect.c, capture_filter.c, capture_losses.c, capture_native.c,
 * capture_heap.c, capture_memory.c, capture_event.c, capture_tasks.c, capture_async.c,
 * lifecycle.c.
 */
#ifndef TACHBPF_CAPTURE_STATE_H
#define TACHBPF_CAPTURE_STATE_H

#include "base/util.h"
#include "capture/capture.h"
#include "capture/counters.h"
#include "capture/lifecycle.h"
#include "capture/native_maps.h"
#include "recording/capture_counts.h"

/* An executable whose interpreter exe_cache_seen() has: see say_seen(). */
struct exe_seen {
	uint64_t dev, ino;
	const struct cpython_image *image;	/* only compared */
	uint16_t self_below;
	uint64_t time_ns;		/* when */
};
#define EXES_SEEN 64

struct capture {
	struct capture_args args;
	const struct record_mode_def *mode;
	struct tachbpf_bpf *skel;
	struct ring_buffer *ring;
	struct sampler *sampler;
	struct event_sampler *faults;	/* NULL: page faults are no events */
	struct capture_event *event;	/* of -e; NULL: there is none */
	struct discovery *discovery;
	struct exe_cache *exes;
	struct exe_seen exes_seen[EXES_SEEN];	/* at a place by its inode */
	struct proc_filter_eval *filter_eval;	/* NULL: there are no conditions, and never will be */
	uint64_t filter_changed_ns;	/* records from before this time are judged again; 0: none,
					 * UINT64_MAX: all, while the conditions change */
	struct buf found;		/* capture_find.c's: pid_t of the processes of the host ... */
	size_t found_at;		/* ... and how many of them were inspected */
	struct lifecycle life;		/* the processes; its err ends the capture */
	struct map_set native_maps;	/* with --native */
	struct capture_heap *heap;	/* of --allocations; NULL: there are none */
	struct capture_memory *memory;	/* NULL: without --mode mem */
	uint64_t async_next_ns;		/* --async: when a process is to be looked at (CLOCK_MONOTONIC) */
	uint32_t async_begun;		/* ... life.begun_cnt at the last look */
	struct capture_tasks *tasks;	/* capture_tasks.c's; NULL: none yet */
	struct counters counters;	/* as of the last read_counters() */
	uint64_t no_event;		/* as in struct capture_counts; the same */
	struct loss_reader *losses;	/* NULL: there are no BPF programs, in a test */
	void *loss_tables;		/* what it reads */
	size_t loss_tables_bytes;
	double startup_cpu_s;		/* as in struct capture_counts, also the next line */
	uint64_t orphans, unidentified, received, files_stuck;
	uint64_t take_until_ns;		/* when to stop taking records; UINT64_MAX: never */
	uint32_t taken;			/* records taken so far */
	uint64_t taken_ns;		/* records from before this time were taken or lost */
	bool some_new;			/* ... of which one said that something is new */
	uint64_t new_ns;		/* when that was so last; 0: never */
	uint32_t housekeeps;		/* calls of capture_housekeep() */
	capture_chosen_fn chosen;	/* as in capture_thin(); NULL: there is no burst */
	void *chosen_ctx;
	bool scan_due;			/* a process was found whose threads may be off-CPU */
	uint64_t scanned_ns;		/* begin of the last off-CPU scan; 0: none yet */
	struct u64map held_since;	/* tid -> raw_offcpu_scan.left_ns; only with scan_only */
	struct offcpu_scan_counts scan;
};

#endif
