/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * recording.h - the files of a recording: one TACH file per process, and session.json beside
 * them; or one file that the user has named, and FILE.json. A recording is an observer: a
 * capture fills it.
 */
#ifndef TACHBPF_RECORDING_H
#define TACHBPF_RECORDING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "model/sink.h"
#include "recording/capture_counts.h"
#include "recording/replaced.h"
#include "resolve/observer.h"
#include "resolve/record_mode.h"

struct recording;

struct recording_args {
	const char *output;	/* NULL: a default name */
	enum place_kind place;	/* what output is */
	bool force;		/* an earlier recording there is replaced */
	bool compress;
	enum profile_layout layout;
	bool split_all;		/* a file for each process, however short it lived */
	uint32_t rate_hz;
	const struct record_mode_def *mode;
	uint32_t features;	/* FEATURE_* */
	const char *selection;	/* how the user chose: "-a", "-p 12,13", "-- cmd"; copied */
};

/*
 * Creates the directory; a file that the user has named is created with its process. What is in
 * the way is refused, or with args->force set aside. NULL with errno; logs why.
 */
struct recording *recording_new(const struct recording_args *args);
void recording_free(struct recording *r);

/* It could not begin: leave nothing behind, and put back what was set aside. May be NULL. */
void recording_discard(struct recording *r);

/* What a capture calls. Lives as long as the recording. */
struct observer *recording_observer(struct recording *r);

/*
 * This process is what was asked for: it has a file of its own, however short it lives; with
 * PLACE_COMMAND the one that the user has named.
 */
void recording_set_command(struct recording *r, pid_t tgid);

/*
 * Everything has ended: write session.json and FILE.json, and remove what was replaced. If no
 * Python was seen, as recording_discard(). 0 or -errno; logs why.
 */
int recording_finish(struct recording *r, const struct capture_counts *counts);

/* For humans and for machines; after recording_finish(). */
void recording_print(const struct recording *r, const struct capture_counts *counts, FILE *out);
void recording_print_json(const struct recording *r, const struct capture_counts *counts,
			  FILE *out);

/* Processes that have begun so far. */
size_t recording_process_cnt(const struct recording *r);

/* What was recorded, and what was not: for messages at the end. */
struct recording_result {
	size_t processes, refused;	/* Pythons that were recorded, and that cannot be */
	uint64_t samples, lost;
	bool command_seen;		/* the command itself was a Python */
};
void recording_result(const struct recording *r, const struct capture_counts *counts,
		      struct recording_result *out);

#endif
