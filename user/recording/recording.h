/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * recording.h - the files of a recording: one TACH file per process, and
 * session.json beside them. A recording is an observer: a capture fills it.
 */
#ifndef TACHBPF_RECORDING_H
#define TACHBPF_RECORDING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "model/sink.h"
#include "recording/capture_counts.h"
#include "resolve/observer.h"
#include "resolve/record_mode.h"

struct recording;

struct recording_args {
	const char *output;	/* NULL: a default name */
	bool single_file;	/* one process is recorded, output is its file */
	bool compress;
	enum profile_layout layout;
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

/* What a capture calls. Lives as long as the recording. */
struct observer *recording_observer(struct recording *r);

/* This process is what was asked for: it has a file of its own, however short it lives. */
void recording_set_command(struct recording *r, pid_t tgid);

/* Everything has ended: write session.json (not with a single file). 0 or -errno; logs why. */
int recording_finish(struct recording *r, const struct capture_counts *counts);

/* For humans and for machines; after recording_finish(). */
void recording_print(const struct recording *r, const struct capture_counts *counts, FILE *out);
void recording_print_json(const struct recording *r, const struct capture_counts *counts,
			  FILE *out);

/* The directory or the file that is recorded into. */
const char *recording_path(const struct recording *r);

/* Processes that have begun so far. */
size_t recording_process_cnt(const struct recording *r);

#endif
