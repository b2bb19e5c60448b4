/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * recording.h - the files of a recording: one TACH file per process, and session.json beside
 * them; or one file that the user named, and FILE.json. A recording is an observer
 * (resolve/observer.h), which a capture calls.
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
#include "resolve/process.h"
#include "resolve/record_mode.h"

struct recording;
struct remarks;

/* With --mode mem, what a reader should know of how it was recorded. */
struct recording_memory {
	bool exact;			/* --allocations */
	uint64_t every_bytes, min_block_bytes;
	uint64_t interval_us;		/* between two looks at all pages */
};

struct recording_args {
	const char *output;	/* NULL: a default name */
	enum place_kind place;	/* what output is */
	bool force;		/* replace an earlier recording there */
	bool compress;
	enum profile_layout layout;
	bool split_all;		/* each process has its own file, however short it lived */
	bool by_pid;		/* the user has named each process: the idle share no file */
	uint32_t rate_hz;
	const struct record_mode_def *mode;
	uint32_t features;	/* FEATURE_* */
	bool async;		/* --async: say what became of the stacks of tasks */
	struct recording_memory memory;
	const char *event;	/* of a mode with events: its name; outlives the recording */
	uint64_t event_every;	/* ... of which one of so many is recorded; 0: rate_hz a second */
	const char *selection;	/* the user's options: "-a", "-p 12,13", "-- cmd"; copied */
	const char *trigger;	/* what made it be written (docs/flight-recorder.md); NULL: the user
				 * has asked for it from the beginning. Copied */
	bool terse;		/* of files with the same error, only the first is logged */
};

/*
 * Create the directory. A file that the user named is created when its process begins. What is
 * in the way is refused, or with args->force set aside. NULL with errno; logs why.
 */
struct recording *recording_new(const struct recording_args *args);
void recording_free(struct recording *r);

/* Remove what was created, and put back what was set aside: nothing was recorded. r may be NULL. */
void recording_discard(struct recording *r);

/* Returns the observer for a capture. Valid as long as the recording. */
struct observer *recording_observer(struct recording *r);

/* ---- for an observer that writes recordings beside other things ---- */
/*
 * A recording may also be used by an observer that has attached data of its own to processes, and
 * begin and end while they live. That observer calls these functions instead of the observer's
 * begin(), event() and end(), which they are otherwise like; start(), tick(), stop() and remark()
 * are called through recording_observer(). Only with PLACE_DIR.
 */
struct observed;	/* a process in a recording */

/*
 * What process_stats() had counted before does not count in this recording. NULL: no memory.
 * Freed by recording_end(), or with the recording.
 */
struct observed *recording_begin(struct recording *r, struct process *p);
/* The command line of a process that lives, as a row has it: in text, or the process' own. */
#define RECORDING_COMMAND_BYTES 4096
const char *recording_command(const struct process *p, char text[RECORDING_COMMAND_BYTES]);
/*
 * As recording_begin(), of a process of which the recording has more than what comes from now
 * on.
 */
struct recording_joined {
	uint64_t begin_ns;		/* from when on (CLOCK_MONOTONIC) */
	const char *command;		/* recording_command() when it lived; copied */
	struct process_stats before;	/* what it had counted by then */
	const struct losses_of_threads *lost_before;	/* as process_thread_losses(); copied */
};
struct observed *recording_begin_at(struct recording *r, struct process *p,
				    const struct recording_joined *at);
/* ev may differ from what p delivered: the samples in it are what the recording counts. */
int recording_event(struct recording *r, struct observed *o, const struct event *ev);
/* end_ns 0: the process may still live. */
int recording_end(struct recording *r, struct observed *o, uint64_t end_ns);
/* Of a recording that follows another one: take over remarks on processes that still live. */
void recording_keep_remarks(struct recording *to, const struct recording *from);
/* Take over remarks, of processes that still live. */
void recording_add_remarks(struct recording *r, const struct remarks *from);
/* The time between two samples, which is one of weight 1, in us. */
uint64_t recording_interval_us(const struct recording *r);
/* About how many bytes the files have, with what a finished file adds; as of the last tick(). */
uint64_t recording_bytes(const struct recording *r);
/* --------------------------------------------------------------------- */

/*
 * The user's command runs in this process: it gets its own file, however short it lives; with
 * PLACE_COMMAND the one that the user named.
 */
void recording_set_command(struct recording *r, pid_t tgid);

/*
 * Finish shared files, write session.json and FILE.json, and remove what was replaced; if no
 * Python was seen, do as recording_discard(). To be called after all processes have ended. 0 or
 * -errno; logs why.
 */
int recording_finish(struct recording *r, const struct capture_counts *counts);

/* Print the summary as text and as JSON; after recording_finish(). */
void recording_print(const struct recording *r, const struct capture_counts *counts, FILE *out);
void recording_print_json(const struct recording *r, const struct capture_counts *counts,
			  FILE *out);

/*
 * Paths from which a reader has all of a recording: the files that the user named (several after
 * an exec), and the directory; each only if it was created.
 */
struct recording_paths {
	char **paths;		/* cnt of them */
	size_t cnt;
};
/* Fill *out; recording_paths_free() frees it, also after an error. 0 or -errno; logs nothing. */
int recording_paths(const struct recording *r, struct recording_paths *out);
void recording_paths_free(struct recording_paths *p);

/* The number of rows: processes with a file of their own, live processes and shared files. */
size_t recording_process_cnt(const struct recording *r);

/* What was recorded, and what was not: for messages at the end. */
struct recording_result {
	size_t processes, refused;	/* Pythons that were recorded, and that cannot be */
	uint64_t samples, lost;		/* --mode mem: samples are allocations */
	uint64_t lost_processes;	/* their profiles could not be written */
	bool command_seen;		/* the command itself was a Python */
};
void recording_result(const struct recording *r, const struct capture_counts *counts,
		      struct recording_result *out);

#endif
