/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * recording.h - the files of a recording: one TACH file per process, and
 * session.json beside them.
 */
#ifndef TACHBPF_RECORDING_H
#define TACHBPF_RECORDING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "model/event.h"
#include "model/sink.h"
#include "recording/capture_counts.h"
#include "resolve/process.h"
#include "resolve/record_mode.h"

struct recording;

struct recording_args {
	const char *output;	/* NULL: a default name */
	bool single_file;	/* one process is recorded, output is its file */
	bool compress;
	enum tach_layout layout;
	bool split_all;		/* a file for each process, however short it lived */
	uint32_t rate_hz;
	const struct record_mode_def *mode;
	uint32_t features;	/* FEATURE_* */
	const char *selection;	/* how the user chose: "-a", "-p 12,13", "-- cmd"; copied */
};

/* Creates the directory; a single file is created with its process. NULL with errno; logs why. */
struct recording *recording_new(const struct recording_args *args);
void recording_free(struct recording *r);

/* Nothing came of it: leave no empty directory behind. */
void recording_discard(struct recording *r);

/* Sampling begins now: time zero of all profiles, which have no sample yet. */
void recording_start(struct recording *r);

/* Time zero of every profile, CLOCK_MONOTONIC; and what the profiles have in common. */
void recording_meta(const struct recording *r, struct profile_meta *meta);

/*
 * A process was found; its file is made when it has something to hold, but a single
 * file now: that it cannot be is said at once. 0 or -errno; logs why.
 */
int recording_add(struct recording *r, struct process *p);

/* This process is what was asked for: it has a file of its own, however short it lives. */
void recording_set_command(struct recording *r, pid_t tgid);

/*
 * Before the process' first sample: give it its file, or if it is young hold its
 * samples until it is known how long it lives. 0 or -errno; logs why.
 */
int recording_open_process(struct recording *r, struct process *p);

/* Now and then: put into files what is buffered and held. 0 or -errno; logs why. */
int recording_flush_process(struct recording *r, struct process *p);
int recording_flush(struct recording *r);

/*
 * The process ended (when, CLOCK_MONOTONIC; 0: now) or the recording does: finish its
 * file and note its figures. The process is not freed. 0 or -errno; logs why.
 */
int recording_end_process(struct recording *r, struct process *p, uint64_t end_ns);

/* A Python that cannot be walked: noted once per process. true: news. */
bool recording_refuse(struct recording *r, pid_t tgid, const char *comm, const char *why);

/*
 * What the whole recording's rates are: it ends now. Before the processes that are
 * still there are ended.
 */
void recording_set_quality(struct recording *r, double sample_rate, double missed_pct);

/* Everything has ended: write session.json (not with a single file). 0 or -errno; logs why. */
int recording_finish(struct recording *r, const struct capture_counts *counts);

/* For humans and for machines; after recording_finish(). */
void recording_print(const struct recording *r, const struct capture_counts *counts, FILE *out);
void recording_print_json(const struct recording *r, const struct capture_counts *counts,
			  FILE *out);

/* Samples in files so far. */
uint64_t recording_sample_cnt(const struct recording *r);
const char *recording_path(const struct recording *r);
size_t recording_process_cnt(const struct recording *r);

#endif
