/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory_file.h - the Memlyze file of one process while it is recorded, with --mode mem: its
 * events, and our marks (mlyze_marks.h).
 *
 * It starts with the first event that is neither a check nor a census; a process without one has no
 * file. Times are times of day.
 */
#ifndef TACHBPF_MEMORY_FILE_H
#define TACHBPF_MEMORY_FILE_H

#include "base/u64map.h"
#include "model/event.h"
#include "recording/census_marks.h"
#include "resolve/process.h"

struct mlyze_stream;
struct recording;
struct row;

struct memory_file {
	struct recording *recording;	/* outlives the file */
	struct row *row;		/* its row in session.json; gets the file's name */
	struct process *process;
	struct mlyze_stream *stream;	/* NULL: nothing is written yet */
	int dirfd;			/* its directory; -1: the recording's */
	int lock_fd;			/* shows that it is being written; -1: the directory's lock
					 * does */
	struct u64map threads;		/* tid -> struct memory_thread */
	uint32_t thread_cnt;
	struct memory_event first;	/* a check from before the file began */
	bool has_first;
	struct census_marks census;
	uint64_t put, written;		/* ALLOCs added to the stream; flushed */
	uint64_t bytes;			/* counted in recording.bytes */
	int err;			/* the first error; nothing is written after it */
};

/* Initialises *f; no file is created. */
void memory_file_init(struct memory_file *f, struct recording *r, struct row *row,
		      struct process *p);

/* Creates the file now. 0 or -errno; logs why. */
int memory_file_create(struct memory_file *f);

/* Write an event; write buffered data. 0 or -errno; after an error always that -errno. */
int memory_file_event(struct memory_file *f, const struct memory_event *ev);
int memory_file_flush(struct memory_file *f);

/*
 * Writes the end, with losses (row->stats), and joins everything into one file. A large one is only
 * noted: memory_files_join() does it when no records are waiting. exited: the process has ended. 0,
 * or the first -errno if it ends the recording (recording_judge_error()); logs why.
 */
int memory_file_end(struct memory_file *f, bool exited);

/* Stops writing: `tachbpf recover` can finish it. */
void memory_file_abandon(struct memory_file *f);

/* Joins the large files. 0 or the first -errno; logs why. */
int memory_files_join(struct recording *r);

#endif
