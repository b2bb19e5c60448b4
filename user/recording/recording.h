/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * recording.h - the files of a recording: one TACH file per process, and session.json next to them;
 * or one file that the user named, and FILE.json. A recording is an observer (resolve/observer.h),
 * which a capture calls.
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

struct profile_service;
struct recording;
struct remarks;

/* How memory was recorded, with --mode mem, for readers. */
struct recording_memory {
	bool exact;			/* --allocations */
	uint64_t every_bytes, min_block_bytes;
	uint64_t interval_us;		/* between two checks of all pages */
};

struct recording_args {
	const char *output;	/* NULL: a default name */
	const char *shown;	/* the file made of it, for summaries; NULL: output itself */
	enum place_kind place;	/* what output is */
	bool force;		/* replace an earlier recording there */
	bool compress;
	enum profile_layout layout;
	bool split_all;		/* each process has its own file, however short-lived */
	bool by_pid;		/* the user named each process: idle ones share no file */
	uint32_t rate_hz;
	const struct record_mode_def *mode;
	uint32_t features;	/* FEATURE_* */
	bool async;		/* --async: report what happened to the stacks of tasks */
	struct recording_memory memory;
	const char *event;	/* of a mode with events: its name; outlives the recording */
	uint64_t event_every;	/* ... one in this many is recorded; 0: rate_hz a second */
	const char *selection;	/* the user's options: "-a", "-p 12,13", "-- cmd"; copied */
	const char *trigger;	/* what triggered it (docs/flight-recorder.md), copied; NULL: the
				 * user started it */
	bool terse;		/* log only the first file with the same error */
};

/*
 * Creates the directory. A file that the user named is created when its process begins. Existing
 * files are refused, or with args->force set aside. NULL with errno; logs why.
 */
struct recording *recording_new(const struct recording_args *args);
void recording_free(struct recording *r);

/*
 * Removes what was created, and restores what was set aside: nothing was recorded. r may be NULL.
 */
void recording_discard(struct recording *r);

/* Returns the observer for a capture. Valid as long as the recording. */
struct observer *recording_observer(struct recording *r);

/* ---- for an observer that also does other things ---- */
/*
 * A recording may also be used by an observer that attaches its own data to processes, and may
 * begin and end while they are alive. That observer calls these functions instead of the observer's
 * begin(), event() and end(), which they otherwise match; start(), tick(), stop() and remark() are
 * called through recording_observer(). Only with PLACE_DIR.
 */
struct observed;	/* a process in a recording */

/*
 * Adds a process. What process_stats() had counted before is not part of this recording. NULL: no
 * memory. Freed by recording_end(), or with the recording.
 */
struct observed *recording_begin(struct recording *r, struct process *p);
/* Returns the command line of a live process for its row: in text, or the process' own. */
#define RECORDING_COMMAND_BYTES 4096
const char *recording_command(const struct process *p, char text[RECORDING_COMMAND_BYTES]);
/* As recording_begin(), for a process of which earlier events will be added, too. */
struct recording_joined {
	uint64_t begin_ns;		/* start of its events (CLOCK_MONOTONIC) */
	const char *command;		/* recording_command() when it was alive; copied */
	struct process_stats before;	/* its counters at that time */
	const struct losses_of_threads *lost_before;	/* as process_thread_losses(); copied */
};
struct observed *recording_begin_at(struct recording *r, struct process *p,
				    const struct recording_joined *at);
/* ev may differ from what p delivered: the recording counts the samples in it. */
int recording_event(struct recording *r, struct observed *o, const struct event *ev);
/* Sets the process' service, which may have changed since it began. Returns 0 or -ENOMEM. */
int recording_service(struct recording *r, struct observed *o, const struct profile_service *s);
/* end_ns 0: the process may still be alive. */
int recording_end(struct recording *r, struct observed *o, uint64_t end_ns);
/* Takes over remarks on live processes from the previous recording. */
void recording_keep_remarks(struct recording *to, const struct recording *from);
/* Takes over remarks on live processes. */
void recording_add_remarks(struct recording *r, const struct remarks *from);
/* Returns the time between two samples, the time of a sample of weight 1, in us. */
uint64_t recording_interval_us(const struct recording *r);
/* Returns about how many bytes the files have when finished, as of the last tick(). */
uint64_t recording_bytes(const struct recording *r);
/* --------------------------------------------------------------------- */

/*
 * The user's command runs in this process: it gets its own file, however short-lived it is; with
 * PLACE_COMMAND the one that the user named.
 */
void recording_set_command(struct recording *r, pid_t tgid);

/*
 * Finishes shared files, writes session.json and FILE.json, and removes replaced files; if no
 * Python was seen, acts as recording_discard(). To be called after all processes have ended. 0 or
 * -errno; logs why.
 */
int recording_finish(struct recording *r, const struct capture_counts *counts);

/* Print the summary as text, in two parts, and as JSON; after recording_finish(). */
/* What was recorded; of memory also how much of it is held. */
void recording_print_head(const struct recording *r, const struct capture_counts *counts,
			  FILE *out);
/* What is in the files and what is not. all: each count; else one line, and what matters. */
void recording_print_counts(const struct recording *r, const struct capture_counts *counts,
			    FILE *out, bool all);
void recording_print_json(const struct recording *r, const struct capture_counts *counts,
			  FILE *out);

/*
 * Paths from which a reader gets the whole recording: the files that the user named (several after
 * an exec), and the directory; each only if it was created.
 */
struct recording_paths {
	char **paths;		/* cnt of them */
	size_t cnt;
};
/* Fills *out; recording_paths_free() frees it, also after an error. 0 or -errno; logs nothing. */
int recording_paths(const struct recording *r, struct recording_paths *out);
void recording_paths_free(struct recording_paths *p);

/* Returns when sampling began, in ns since 1970. */
uint64_t recording_start_utc_ns(const struct recording *r);

/* A process that was recorded. After an exec there are several with the same tgid. */
struct recording_process {
	pid_t tgid;
	const struct identity *identity;
	uint64_t alive_ns;	/* process_start_ns() if it was alive at the end; 0: it had ended */
};
/* Calls each() for all of them, after recording_finish(). Valid until each() returns. */
void recording_each_process(const struct recording *r,
			    void (*each)(void *ctx, const struct recording_process *p), void *ctx);

/* Returns the number of rows: processes with their own file, live processes and shared files. */
size_t recording_process_cnt(const struct recording *r);

/* What was and was not recorded, for messages at the end. */
struct recording_result {
	size_t processes, refused;	/* Python processes recorded, and not supported */
	uint64_t samples, lost;		/* --mode mem: samples are allocations */
	uint64_t unidentified;		/* ticks of processes that ended before the inspection */
	uint64_t lost_processes;	/* processes whose profiles could not be written */
	double elapsed_s;		/* the recording's duration */
	double cpu_s;			/* CPU time of the processes; modes with ticks only */
	double idle_pct;		/* of the host's CPU time, likewise */
	bool command_seen;		/* the command itself was a Python process */
};
void recording_result(const struct recording *r, const struct capture_counts *counts,
		      struct recording_result *out);

#endif
