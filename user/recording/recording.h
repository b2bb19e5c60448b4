/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * recording.h - the files of a recording: one TACH file per process, and session.json beside
 * them. A recording is an observer (resolve/observer.h), which a capture calls.
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
	const char *output;	/* the directory; NULL: a default name */
	bool single_file;	/* only one process is recorded, and output is its file */
	bool compress;
	enum profile_layout layout;
	bool split_all;		/* each process has its own file, however short it lived */
	uint32_t rate_hz;
	const struct record_mode_def *mode;
	uint32_t features;	/* FEATURE_* */
	const char *selection;	/* the user's options: "-a", "-p 12,13", "-- cmd"; copied */
};

/*
 * Create the directory. A single file is created when its process begins. NULL with errno; logs
 * why.
 */
struct recording *recording_new(const struct recording_args *args);
void recording_free(struct recording *r);

/* Remove the directory if it is new and empty. To be called if nothing was recorded. */
void recording_discard(struct recording *r);

/* Returns the observer for a capture. Valid as long as the recording. */
struct observer *recording_observer(struct recording *r);

/* The user's command runs in this process: it gets its own file, however short it lives. */
void recording_set_command(struct recording *r, pid_t tgid);

/*
 * Finish shared files, and write session.json unless there is a single file. To be called after
 * all processes have ended. 0 or -errno; logs why.
 */
int recording_finish(struct recording *r, const struct capture_counts *counts);

/* Print the summary as text and as JSON; after recording_finish(). */
void recording_print(const struct recording *r, const struct capture_counts *counts, FILE *out);
void recording_print_json(const struct recording *r, const struct capture_counts *counts,
			  FILE *out);

/* The directory or the file that is recorded into. */
const char *recording_path(const struct recording *r);

/* The number of rows: processes with a file of their own, live processes and shared files. */
size_t recording_process_cnt(const struct recording *r);

#endif
