/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * profile_file.h - one profile while it is written: its sink, its file and the file's journal.
 *
 * `tachbpf recover` reads the journal of a recording that was killed.
 */
#ifndef TACHBPF_PROFILE_FILE_H
#define TACHBPF_PROFILE_FILE_H

#include <sys/stat.h>
#include <sys/types.h>

#include "model/sink.h"

struct cpython_image;
struct recording;
struct row;

struct profile_file {
	struct recording *recording;	/* outlives the profile */
	struct row *row;		/* its row in session.json; gets the file's name */
	struct sink *sink;		/* NULL: nothing is written yet */
	struct profile_meta meta;	/* the sink has a pointer to it */
	int fd, journal_fd;		/* -1: none, or closed for now */
	bool made, has_journal;		/* the file, the journal exists */
	struct stat was, journal_was;	/* fstat() of them, to recognise them */
	struct profile_file *newer, *older;	/* in the list of open profiles */
	bool listed;
	uint64_t bytes;			/* of these files, counted in recording.bytes */
	int err;			/* the first error; nothing is written after it */
};

/*
 * Initialises *f; no file is created. comm must live as long as the profile. tgid 0: the profile is
 * of several processes.
 */
void profile_file_init(struct profile_file *f, struct recording *r, struct row *row,
		       const struct cpython_image *image, pid_t tgid, const char *comm);

/* Begins the profile in this sink, which *f owns from then on. 0 or -errno. */
int profile_file_begin(struct profile_file *f, struct sink *sink,
		       const struct profile_tables *tables);

/*
 * Creates the file and its journal, and begins the profile there. 0, or -errno with no file and no
 * sink; logs why, except for -EMFILE of a file that the user has not named.
 */
int profile_file_create(struct profile_file *f, const struct profile_tables *tables);

/* Write an event; write buffered data. 0 or -errno; after an error always that -errno. */
int profile_file_event(struct profile_file *f, const struct event *ev);
int profile_file_flush(struct profile_file *f);

/*
 * Writes buffered data and the profile's end; closes files. After an error the row counts what a
 * reader finds in the file; the rest is lost. 0, or the first -errno if it ends the recording
 * (recording_judge_error()); logs why. The sink is a TACH file's, or there is none.
 */
int profile_file_end(struct profile_file *f);

/* Closes all files without writing more: `tachbpf recover` can finish them. */
void profile_file_abandon(struct profile_file *f);

#endif
